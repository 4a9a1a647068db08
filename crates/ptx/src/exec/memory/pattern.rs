//! How the addresses of a warp lie to each other: the first thing that an access wants to know. Once for any processor, and
//! once for those with AVX2, as compilers would not write it.
#![expect(unsafe_code, reason = "loads rows into wide registers of a processor that has them")]

use crate::lanes::{ALL, LANES, Longs, Words};

/// What is common to the addresses of some lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) pattern: Pattern,
    /// All bits that any of them has.
    pub(crate) bits: u64,
}

/// How addresses lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Uniform,
    /// Each lane follows the one before, and no lane between the first and the last is missing.
    Contiguous,
    Other,
}

impl Shape {
    #[inline(always)]
    fn new(mask: u32, is_same: bool, is_next: bool, bits: u64) -> Shape {
        let run = mask >> (mask.trailing_zeros() & 31);
        let has_gaps = run & run.wrapping_add(1) != 0;
        let pattern = match (is_same, is_next && !has_gaps) {
            (true, _) => Pattern::Uniform,
            (false, true) => Pattern::Contiguous,
            (false, false) => Pattern::Other,
        };
        Shape { pattern, bits }
    }
}

/// Looks at the addresses of the lanes of a mask, for accesses of `size` bytes each.
#[inline(always)]
pub(crate) fn shape(mask: u32, addresses: &Longs, size: u64) -> Shape {
    let first = mask.trailing_zeros() as usize & 31;
    let leader = addresses[first];
    let start = leader.wrapping_sub(first as u64 * size);
    // Zero where all agree.
    let (mut same, mut next, mut bits) = (0, 0, 0);
    for (lane, address) in addresses.iter().enumerate() {
        let of = u64::from(mask >> lane & 1).wrapping_neg();
        bits |= address & of;
        same |= (address ^ leader) & of;
        next |= (address ^ start.wrapping_add(lane as u64 * size)) & of;
    }
    Shape::new(mask, same == 0, next == 0, bits)
}

/// The same, four lanes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn shape_with_avx2(mask: u32, addresses: &Longs, size: u64) -> Shape {
    use std::arch::x86_64::*;

    let first = mask.trailing_zeros() as usize & 31;
    let leader = addresses[first];
    let start = leader.wrapping_sub(first as u64 * size);
    let number = |value: u64| _mm256_set1_epi64x(value.cast_signed());
    let (leaders, step) = (number(leader), number(size * 4));
    let lanes = _mm256_set_epi64x(3, 2, 1, 0);
    // Sizes and lanes are below 2³², as this multiplication wants.
    let mut expected = _mm256_add_epi64(number(start), _mm256_mul_epu32(lanes, number(size)));
    let mut bit = _mm256_set_epi64x(8, 4, 2, 1);
    let wanted = number(mask.into());
    let (mut same, mut next, mut bits) = (_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256());
    for four in addresses.as_chunks::<4>().0 {
        // SAFETY: four longs, which need not be aligned for this.
        let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
        let (mut all, mut unlike, mut apart) =
            (four, _mm256_xor_si256(four, leaders), _mm256_xor_si256(four, expected));
        if mask != ALL {
            let of = _mm256_cmpeq_epi64(_mm256_and_si256(wanted, bit), bit);
            all = _mm256_and_si256(all, of);
            unlike = _mm256_and_si256(unlike, of);
            apart = _mm256_and_si256(apart, of);
            bit = _mm256_slli_epi64::<4>(bit);
        }
        bits = _mm256_or_si256(bits, all);
        same = _mm256_or_si256(same, unlike);
        next = _mm256_or_si256(next, apart);
        expected = _mm256_add_epi64(expected, step);
    }
    let half = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256::<1>(bits));
    let bits = _mm_extract_epi64::<0>(half) | _mm_extract_epi64::<1>(half);
    let none = |row| _mm256_testz_si256(row, row) == 1;
    Shape::new(mask, none(same), none(next), bits.cast_unsigned())
}

/// How the addresses of the lanes of a mask lie to each other, for accesses of `N` bytes each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn pattern_with_avx2<const N: usize>(mask: u32, addresses: &Longs) -> Pattern {
    use std::arch::x86_64::*;

    if mask != ALL {
        return shape_with_avx2(mask, addresses, N as u64).pattern;
    }
    let number = |value: u64| _mm256_set1_epi64x(value.cast_signed());
    let leaders = number(addresses[0]);
    let lanes = _mm256_mul_epu32(_mm256_set_epi64x(3, 2, 1, 0), number(N as u64));
    let (mut unlike, mut apart) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for (index, four) in addresses.as_chunks::<4>().0.iter().enumerate() {
        // SAFETY: four longs, which need not be aligned for this.
        let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
        let distance = _mm256_sub_epi64(four, leaders);
        let expected = _mm256_add_epi64(lanes, number((index * 4 * N) as u64));
        unlike = _mm256_or_si256(unlike, distance);
        apart = _mm256_or_si256(apart, _mm256_xor_si256(distance, expected));
    }
    if _mm256_testz_si256(apart, apart) == 1 {
        Pattern::Contiguous
    } else if _mm256_testz_si256(unlike, unlike) == 1 {
        Pattern::Uniform
    } else {
        Pattern::Other
    }
}

/// Reads a word of shared memory for each lane, as [`shared::load_words`](crate::exec::memory::shared_words::load_words) does.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn load_words_with_avx2(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
    use std::arch::x86_64::*;

    let (low, high) = addresses.split_first_chunk::<16>()?;
    let halves = [load_half(shared, low, offset)?, load_half(shared, high.first_chunk()?, offset)?];
    let mut row = [0; LANES];
    for (into, eight) in row.as_chunks_mut::<8>().0.iter_mut().zip(halves.as_flattened()) {
        // SAFETY: eight words, which need not be aligned for this.
        unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), *eight) };
    }
    Some(row)
}

/// Words for half a warp, which stay in registers on their way.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn load_half(shared: &[u8], addresses: &[u32; 16], offset: u32) -> Option<[std::arch::x86_64::__m256i; 2]> {
    use std::arch::x86_64::*;

    let number = |value: u32| _mm256_set1_epi32(value.cast_signed());
    // SAFETY: those who call it below have 64 bytes there, which need not be aligned for this.
    let load = |from: *const __m256i| unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] };
    let leader = addresses[0];
    let start = leader.wrapping_add(offset);
    let [a, b] = load(addresses.as_ptr().cast()).map(|eight| _mm256_sub_epi32(eight, number(leader)));
    let none = |x, y| {
        let any = _mm256_or_si256(x, y);
        _mm256_testz_si256(any, any) == 1
    };
    if none(a, b) {
        let word = shared.get(start as usize..)?.first_chunk().filter(|_| start.is_multiple_of(4))?;
        return Some([number(u32::from_le_bytes(*word)); 2]);
    }
    let steps = [_mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28), _mm256_setr_epi32(32, 36, 40, 44, 48, 52, 56, 60)];
    if none(_mm256_xor_si256(a, steps[0]), _mm256_xor_si256(b, steps[1])) {
        let bytes = shared.get(start as usize..)?.first_chunk::<64>().filter(|_| start.is_multiple_of(4))?;
        return Some(load(bytes.as_ptr().cast()));
    }
    let (mut row, mut bits) = ([0; 16], 0);
    for (into, address) in row.iter_mut().zip(addresses) {
        let address = address.wrapping_add(offset);
        bits |= address;
        *into = u32::from_le_bytes(*shared.get(address as usize..)?.first_chunk()?);
    }
    (bits & 3 == 0).then(|| load(row.as_ptr().cast()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn words_of_shared_memory_are_those_that_any_processor_reads() {
        use crate::exec::memory::shared_words::load_words;
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

    fn both(mask: u32, addresses: &Longs, size: u64) -> Pattern {
        let found = shape(mask, addresses, size);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature has just been found.
            assert_eq!(unsafe { shape_with_avx2(mask, addresses, size) }, found, "{mask:#x} {addresses:?}");
            // SAFETY: as before.
            let pattern = unsafe {
                match size {
                    1 => pattern_with_avx2::<1>(mask, addresses),
                    2 => pattern_with_avx2::<2>(mask, addresses),
                    4 => pattern_with_avx2::<4>(mask, addresses),
                    8 => pattern_with_avx2::<8>(mask, addresses),
                    _ => found.pattern,
                }
            };
            assert_eq!(pattern, found.pattern, "{mask:#x} {addresses:?}");
        }
        found.pattern
    }

    #[test]
    fn patterns_are_those_of_the_lanes_that_run() {
        let row = |address: fn(u64) -> u64| -> Longs { std::array::from_fn(|lane| address(lane as u64)) };
        let (same, next) = (row(|_| 64), row(|lane| 64 + 4 * lane));
        let odd = row(|lane| if lane == 20 { 67 } else { 64 + 4 * lane });
        assert_eq!(both(ALL, &same, 4), Pattern::Uniform);
        assert_eq!(both(ALL, &next, 4), Pattern::Contiguous);
        assert_eq!(both(ALL, &odd, 4), Pattern::Other);
        assert_eq!(both(!(1 << 20), &odd, 4), Pattern::Other);
        assert_eq!(both(0x000f_fff0, &odd, 4), Pattern::Contiguous);
        assert_eq!(both(0x000f_f0f0, &next, 4), Pattern::Other);
        assert_eq!(both(1 << 20, &odd, 4), Pattern::Uniform);
        assert_eq!(both(ALL, &row(|lane| (4 * lane).wrapping_sub(64)), 4), Pattern::Contiguous);
    }

    #[test]
    fn both_passes_see_the_same() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for round in 0..2000 {
            let (start, size, odd) = (random() << (random() % 33), 1 << (round % 6), random() as usize % 64);
            let stride = [0, size, size * 2, random()][random() as usize % 4];
            let mut addresses: Longs = std::array::from_fn(|lane| start.wrapping_add(lane as u64 * stride));
            if let Some(address) = addresses.get_mut(odd) {
                *address ^= random();
            }
            let mask = [ALL, random() as u32, ALL << (random() % 32), 1 << (random() % 32)][random() as usize % 4];
            both(mask.max(1), &addresses, size);
        }
    }
}
