//! Primitives of the fast path that differ between processors.
#![expect(unsafe_code, reason = "calls functions that need AVX2, from code that runs where it was found")]

use warploom_bytes as bytes;

use super::gather;
use super::pattern::{AccessPattern, Shape};
use crate::arith::convert::Conversion;
use crate::device::direct::RowAccess;
use crate::exec::compute;
use crate::exec::registers::File;
use crate::lanes::{LANES, Longs, Words};
use crate::program::compute::Compute;
use crate::program::slot::Slot;

/// Any processor.
pub(crate) struct Portable;

/// A processor with AVX2 and FMA. Only code that runs where both were found names this type.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

/// A kind of processor.
pub(crate) trait Processor: RowAccess {
    /// Arithmetic of all lanes, of which those of a mask are written.
    fn compute(file: &mut File<'_>, mask: u32, what: &Compute, slots: &[Slot; 6], conversions: &[Conversion]);
    /// The access pattern of the lanes of a mask.
    fn pattern(mask: u32, addresses: &Longs, size: u64) -> AccessPattern;
    /// The shape of the pattern alone.
    fn shape<const N: usize>(mask: u32, addresses: &Longs) -> Shape;
    /// The shape of half a warp that accesses words of shared memory.
    fn half_shape(addresses: &[u32; 16]) -> Shape;
    /// A word of shared memory for each lane.
    fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words>;
}

impl Processor for Portable {
    fn compute(file: &mut File<'_>, mask: u32, what: &Compute, slots: &[Slot; 6], conversions: &[Conversion]) {
        compute::compute_anywhere(file, mask, what, slots, conversions);
    }

    fn pattern(mask: u32, addresses: &Longs, size: u64) -> AccessPattern {
        AccessPattern::portable(mask, addresses, size)
    }

    fn shape<const N: usize>(mask: u32, addresses: &Longs) -> Shape {
        AccessPattern::portable(mask, addresses, N as u64).shape
    }

    fn half_shape(addresses: &[u32; 16]) -> Shape {
        Shape::of_half(addresses)
    }

    fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
        gather::load_words(shared, addresses, offset)
    }
}

#[cfg(target_arch = "x86_64")]
impl Processor for Avx2 {
    #[inline(always)]
    fn compute(file: &mut File<'_>, mask: u32, what: &Compute, slots: &[Slot; 6], conversions: &[Conversion]) {
        compute::compute(file, mask, what, slots, conversions);
    }

    #[inline(always)]
    fn pattern(mask: u32, addresses: &Longs, size: u64) -> AccessPattern {
        // SAFETY: this type is named only where the features were found.
        unsafe { AccessPattern::with_avx2(mask, addresses, size) }
    }

    #[inline(always)]
    fn shape<const N: usize>(mask: u32, addresses: &Longs) -> Shape {
        // SAFETY: as in `pattern`.
        unsafe { Shape::with_avx2::<N>(mask, addresses) }
    }

    #[inline(always)]
    fn half_shape(addresses: &[u32; 16]) -> Shape {
        // SAFETY: as in `pattern`.
        unsafe { Shape::of_half_with_avx2(addresses) }
    }

    #[inline(always)]
    fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
        // SAFETY: as in `pattern`.
        unsafe { gather::load_words_with_avx2(shared, addresses, offset) }
    }
}

impl RowAccess for Portable {
    unsafe fn read_row<const N: usize>(from: *const u8, into: &mut [[u8; N]; LANES]) {
        // SAFETY: the caller's promise.
        unsafe { bytes::read(from, into.as_flattened_mut()) };
    }

    unsafe fn write_row<const N: usize>(to: *mut u8, from: &[[u8; N]; LANES]) {
        // SAFETY: the caller's promise.
        unsafe { bytes::write(to, from.as_flattened()) };
    }
}

#[cfg(target_arch = "x86_64")]
impl RowAccess for Avx2 {
    #[inline(always)]
    unsafe fn read_row<const N: usize>(from: *const u8, into: &mut [[u8; N]; LANES]) {
        // SAFETY: the caller's promise; this type is named only where the features were found.
        unsafe { bytes::read_row_with_avx2(from, into) };
    }

    #[inline(always)]
    unsafe fn write_row<const N: usize>(to: *mut u8, from: &[[u8; N]; LANES]) {
        // SAFETY: as in `read_row`.
        unsafe { bytes::write_row_with_avx2(to, from) };
    }
}
