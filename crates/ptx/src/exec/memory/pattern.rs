//! The access pattern of a warp: how the addresses of its lanes lie to each other.
//!
//! One analysis serves every access. It is written once for any processor and once for those with AVX2, where
//! compilers would not find the same instructions.
//!
//! | shape | addresses of the lanes | the access is |
//! |---|---|---|
//! | uniform | all the same | one element |
//! | contiguous | each follows the one before, and no lane in between is missing | one copy |
//! | scattered | anything else | lane by lane, or run by run |
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "loads rows into wide registers of a processor that has them")
)]

#[cfg(any(test, target_arch = "x86_64"))]
use crate::lanes::ALL;
use crate::lanes::{LANES, Longs};
use crate::program::window;

/// The pattern of the lanes' addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Uniform,
    Contiguous,
    Scattered,
}

/// The shape of an access, and the bits that its addresses have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessPattern {
    pub(crate) shape: Shape,
    /// All bits that any of the addresses has; no address is above this number.
    pub(crate) bits: u64,
}

impl AccessPattern {
    /// The pattern of the lanes of a mask, for accesses of `size` bytes each.
    #[inline]
    pub(crate) fn of(mask: u32, addresses: &Longs, size: u64) -> AccessPattern {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature has just been found.
            return unsafe { AccessPattern::with_avx2(mask, addresses, size) };
        }
        AccessPattern::portable(mask, addresses, size)
    }

    /// `true` if each address is a multiple of `size`, a power of two.
    #[inline(always)]
    pub(crate) fn is_aligned(self, size: u64) -> bool {
        self.bits & (size - 1) == 0
    }

    /// `true` if all addresses, taken as generic ones, lead to global memory.
    #[inline(always)]
    pub(crate) fn is_global(self) -> bool {
        self.bits >> window::DEVICE_BITS == 0
    }

    #[inline(always)]
    fn new(mask: u32, is_same: bool, is_next: bool, bits: u64) -> AccessPattern {
        let run = mask >> (mask.trailing_zeros() & 31);
        let has_gaps = run & run.wrapping_add(1) != 0;
        let shape = match (is_same, is_next && !has_gaps) {
            (true, _) => Shape::Uniform,
            (false, true) => Shape::Contiguous,
            (false, false) => Shape::Scattered,
        };
        AccessPattern { shape, bits }
    }

    /// [`of`](Self::of), for any processor.
    #[inline(always)]
    pub(super) fn portable(mask: u32, addresses: &Longs, size: u64) -> AccessPattern {
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
        AccessPattern::new(mask, same == 0, next == 0, bits)
    }

    /// [`of`](Self::of), four lanes at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn with_avx2(mask: u32, addresses: &Longs, size: u64) -> AccessPattern {
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
        AccessPattern::new(mask, none(same), none(next), bits.cast_unsigned())
    }
}

impl Shape {
    /// The shape alone, for accesses of `N` bytes each.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn with_avx2<const N: usize>(mask: u32, addresses: &Longs) -> Shape {
        use std::arch::x86_64::*;

        if mask != ALL {
            return AccessPattern::with_avx2(mask, addresses, N as u64).shape;
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
            Shape::Contiguous
        } else if _mm256_testz_si256(unlike, unlike) == 1 {
            Shape::Uniform
        } else {
            Shape::Scattered
        }
    }

    /// The shape of half a warp whose addresses have 32 bits, for words.
    #[inline(always)]
    pub(super) fn of_half(addresses: &[u32; LANES / 2]) -> Shape {
        // Zero where all agree.
        let (mut same, mut next) = (0, 0);
        for (lane, address) in addresses.iter().enumerate() {
            let distance = address.wrapping_sub(addresses[0]);
            same |= distance;
            next |= distance ^ (4 * lane as u32);
        }
        match (same, next) {
            (0, _) => Shape::Uniform,
            (_, 0) => Shape::Contiguous,
            _ => Shape::Scattered,
        }
    }

    /// [`of_half`](Self::of_half), eight lanes at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn of_half_with_avx2(addresses: &[u32; LANES / 2]) -> Shape {
        use std::arch::x86_64::*;

        let leader = _mm256_set1_epi32(addresses[0].cast_signed());
        // SAFETY: two times eight of sixteen words, which need not be aligned for this.
        let (low, high) = unsafe {
            let first = addresses.as_ptr();
            (_mm256_loadu_si256(first.cast()), _mm256_loadu_si256(first.add(8).cast()))
        };
        let (low, high) = (_mm256_sub_epi32(low, leader), _mm256_sub_epi32(high, leader));
        let unlike = _mm256_or_si256(low, high);
        if _mm256_testz_si256(unlike, unlike) == 1 {
            return Shape::Uniform;
        }
        let low = _mm256_xor_si256(low, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
        let high = _mm256_xor_si256(high, _mm256_setr_epi32(32, 36, 40, 44, 48, 52, 56, 60));
        let apart = _mm256_or_si256(low, high);
        if _mm256_testz_si256(apart, apart) == 1 {
            return Shape::Contiguous;
        }
        Shape::Scattered
    }
}

/// The lanes of a mask cut into runs of contiguous addresses: the first lane of each, and the one behind its
/// last.
pub(crate) fn runs(mask: u32, addresses: &Longs, size: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || {
        let rest = mask.checked_shr(next as u32).unwrap_or(0);
        if rest == 0 {
            return None;
        }
        let start = next + rest.trailing_zeros() as usize;
        let mut end = start + 1;
        while end < LANES && mask >> end & 1 == 1 && addresses[end] == addresses[end - 1].wrapping_add(size) {
            end += 1;
        }
        next = end;
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(address: fn(u64) -> u64) -> Longs {
        std::array::from_fn(|lane| address(lane as u64))
    }

    /// The shape, which all implementations must agree on.
    fn shape(mask: u32, addresses: &Longs, size: u64) -> Shape {
        let found = AccessPattern::portable(mask, addresses, size);
        assert_eq!(AccessPattern::of(mask, addresses, size), found, "{mask:#x} {addresses:?}");
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature has just been found.
            let shape = unsafe {
                match size {
                    1 => Shape::with_avx2::<1>(mask, addresses),
                    2 => Shape::with_avx2::<2>(mask, addresses),
                    4 => Shape::with_avx2::<4>(mask, addresses),
                    8 => Shape::with_avx2::<8>(mask, addresses),
                    _ => found.shape,
                }
            };
            assert_eq!(shape, found.shape, "{mask:#x} {addresses:?}");
        }
        found.shape
    }

    #[test]
    fn shapes_are_those_of_the_lanes_that_run() {
        let (same, next) = (row(|_| 64), row(|lane| 64 + 4 * lane));
        let odd = row(|lane| if lane == 20 { 67 } else { 64 + 4 * lane });
        assert_eq!(shape(ALL, &same, 4), Shape::Uniform);
        assert_eq!(shape(ALL, &next, 4), Shape::Contiguous);
        assert_eq!(shape(ALL, &odd, 4), Shape::Scattered);
        assert_eq!(shape(!(1 << 20), &odd, 4), Shape::Scattered);
        assert_eq!(shape(0x000f_fff0, &odd, 4), Shape::Contiguous);
        assert_eq!(shape(0x000f_f0f0, &next, 4), Shape::Scattered);
        assert_eq!(shape(1 << 20, &odd, 4), Shape::Uniform);
        assert_eq!(shape(ALL, &row(|lane| (4 * lane).wrapping_sub(64)), 4), Shape::Contiguous);
    }

    #[test]
    fn halves_of_a_scattered_warp_have_shapes_of_their_own() {
        let halves = |addresses: &Longs| [0xffff, 0xffff_0000].map(|half| shape(half, addresses, 4));
        let rows = row(|lane| 64 + 4 * (lane % 16));
        assert_eq!((shape(ALL, &rows, 4), halves(&rows)), (Shape::Scattered, [Shape::Contiguous; 2]));
        let rows = row(|lane| 64 + 4 * (lane / 16));
        assert_eq!((shape(ALL, &rows, 4), halves(&rows)), (Shape::Scattered, [Shape::Uniform; 2]));
        let odd = row(|lane| if lane == 20 { 67 } else { 64 + 4 * lane });
        assert_eq!((shape(ALL, &odd, 4), halves(&odd)), (Shape::Scattered, [Shape::Contiguous, Shape::Scattered]));
        assert!(!AccessPattern::of(ALL, &odd, 4).is_aligned(4) && AccessPattern::of(0xffff, &odd, 4).is_aligned(4));
    }

    #[test]
    fn every_pass_finds_the_same_shape() {
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
            shape(mask.max(1), &addresses, size);
        }
    }

    #[test]
    fn words_of_half_a_warp_have_the_shape_of_their_addresses() {
        let of = |address: fn(u32) -> u32| {
            let half = std::array::from_fn(|lane| address(lane as u32));
            let found = Shape::of_half(&half);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the feature has just been found.
                assert_eq!(unsafe { Shape::of_half_with_avx2(&half) }, found);
            }
            found
        };
        assert_eq!((of(|_| 6), of(|lane| 4 * lane + 6)), (Shape::Uniform, Shape::Contiguous));
        assert_eq!(of(|lane| (4 * lane).wrapping_sub(8)), Shape::Contiguous);
        assert_eq!([of(|lane| 8 * lane), of(|lane| u32::from(lane == 15))], [Shape::Scattered; 2]);
        assert_eq!(of(|lane| u32::from(lane == 8)), Shape::Scattered);
    }

    #[test]
    fn runs_end_where_an_address_or_a_lane_is_missing() {
        let addresses = row(|lane| if lane < 20 { 4 * lane } else { 4 * lane + 8 });
        assert_eq!(runs(ALL, &addresses, 4).collect::<Vec<_>>(), [(0, 20), (20, 32)]);
        assert_eq!(runs(0x8000_00f6, &addresses, 4).collect::<Vec<_>>(), [(1, 3), (4, 8), (31, 32)]);
        assert_eq!(runs(0, &addresses, 4).count(), 0);
    }
}
