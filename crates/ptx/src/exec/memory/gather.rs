//! Words of shared memory, one for each lane of a full warp.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "loads rows into wide registers of a processor that has them")
)]

use super::pattern::Shape;
use crate::lanes::{LANES, Words};

/// Reads a word for each lane; `None` where the address of any lane, running or not, is misaligned or out of
/// bounds.
#[inline(always)]
pub(super) fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
    let mut row = [0; LANES];
    for (into, from) in row.as_chunks_mut::<16>().0.iter_mut().zip(addresses.as_chunks::<16>().0) {
        let start = from[0].wrapping_add(offset);
        match Shape::of_half(from) {
            Shape::Uniform => *into = [word(shared, start)?; 16],
            Shape::Contiguous => {
                let bytes = shared.get(start as usize..)?.first_chunk::<64>().filter(|_| start.is_multiple_of(4))?;
                for (word, four) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *word = u32::from_le_bytes(*four);
                }
            }
            Shape::Scattered => {
                for (into, address) in into.iter_mut().zip(from) {
                    *into = word(shared, address.wrapping_add(offset))?;
                }
            }
        }
    }
    Some(row)
}

#[inline(always)]
fn word(shared: &[u8], start: u32) -> Option<u32> {
    let four = shared.get(start as usize..)?.first_chunk().filter(|_| start.is_multiple_of(4))?;
    Some(u32::from_le_bytes(*four))
}

/// [`load_words`] with rows that stay in the registers of AVX2 on their way.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn load_words_with_avx2(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
    use std::arch::x86_64::*;

    let halves = addresses.as_chunks::<16>().0;
    let [a, b] = load_half(shared, &halves[0], offset)?;
    let [c, d] = load_half(shared, &halves[1], offset)?;
    let mut row = [0; LANES];
    let into = row.as_mut_ptr();
    // SAFETY: four times eight of 32 words, which need not be aligned for this.
    unsafe {
        _mm256_storeu_si256(into.cast(), a);
        _mm256_storeu_si256(into.add(8).cast(), b);
        _mm256_storeu_si256(into.add(16).cast(), c);
        _mm256_storeu_si256(into.add(24).cast(), d);
    }
    Some(row)
}

/// Words for half a warp. No closures: one that needs AVX2 cannot be inlined into generic code of the standard
/// library, which is compiled without it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn load_half(shared: &[u8], addresses: &[u32; 16], offset: u32) -> Option<[std::arch::x86_64::__m256i; 2]> {
    use std::arch::x86_64::*;

    let start = addresses[0].wrapping_add(offset);
    let scattered;
    let bytes = match Shape::of_half_with_avx2(addresses) {
        Shape::Uniform => return Some([_mm256_set1_epi32(word(shared, start)?.cast_signed()); 2]),
        Shape::Contiguous if start.is_multiple_of(4) => shared.get(start as usize..)?.first_chunk::<64>()?,
        Shape::Contiguous => return None,
        Shape::Scattered => {
            scattered = load_scattered(shared, addresses, offset)?;
            &scattered
        }
    };
    // SAFETY: two times 32 of 64 bytes, which need not be aligned for this.
    unsafe {
        let first = bytes.as_ptr();
        Some([_mm256_loadu_si256(first.cast()), _mm256_loadu_si256(first.add(32).cast())])
    }
}

/// The bytes of words for half a warp that lie anywhere; a call of its own, so that the rest is small enough to
/// be none.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn load_scattered(shared: &[u8], addresses: &[u32; 16], offset: u32) -> Option<[u8; 64]> {
    let (mut bytes, mut bits) = ([0; 64], 0);
    for (lane, into) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let address = addresses[lane].wrapping_add(offset);
        bits |= address;
        *into = *shared.get(address as usize..)?.first_chunk()?;
    }
    (bits & 3 == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_reads_the_word_at_its_address() {
        let shared: Vec<u8> = (0..=255).collect();
        let at = |address: u32| u32::from_le_bytes(std::array::from_fn(|byte| address as u8 + byte as u8));
        for pattern in
            [|_| 8, |lane| 4 * lane, |lane| 4 * (lane % 16) + 8, |lane| 4 * (lane * 7 % 32), |lane| lane / 16 * 4]
        {
            let addresses: Words = std::array::from_fn(|lane| pattern(lane as u32));
            assert_eq!(load_words(&shared, &addresses, 4), Some(addresses.map(|address| at(address + 4))));
        }
    }

    #[test]
    fn a_word_out_of_bounds_or_misaligned_is_not_read() {
        let shared = [0; 128];
        assert_eq!(load_words(&shared, &std::array::from_fn(|lane| 4 * lane as u32), 4), None);
        assert_eq!(load_words(&shared, &[2; LANES], 0), None);
        assert_eq!(load_words(&shared, &[0; LANES], u32::MAX - 3), None);
        assert_eq!(load_words(&[], &[0; LANES], 0), None);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn avx2_reads_the_words_that_the_portable_loop_reads() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        let shared: Vec<u8> = (0..512).map(|at| (at * 7 + at / 256) as u8).collect();
        let patterns: [fn(u32) -> u32; 8] = [
            |_| 8,
            |lane| 4 * lane,
            |lane| 4 * (lane % 16) + 8,
            |lane| 4 * (lane * 7 % 32),
            |lane| lane / 16 * 4,
            |lane| 4 * lane + 380,
            |lane| if lane == 21 { 6 } else { 4 * lane },
            |lane| if lane == 21 { u32::MAX - 7 } else { 4 },
        ];
        for (pattern, offset) in
            patterns.into_iter().flat_map(|pattern| [0, 4, 1, 8, u32::MAX - 3].map(|offset| (pattern, offset)))
        {
            let addresses: Words = std::array::from_fn(|lane| pattern(lane as u32));
            for size in [0, 4, 128, 508, 512] {
                // SAFETY: the feature was found above.
                let quick = unsafe { load_words_with_avx2(&shared[..size], &addresses, offset) };
                assert_eq!(quick, load_words(&shared[..size], &addresses, offset), "{addresses:?}+{offset} of {size}");
            }
        }
    }
}
