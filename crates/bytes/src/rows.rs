//! Rows of a warp, one element for each of its 32 lanes, by AVX2 vectors.

use std::arch::asm;
use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};

/// Reads a row, one element for each lane of a warp, into a buffer that no other thread knows.
///
/// # Safety
///
/// As [`read`](crate::read), on a processor with AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
#[inline]
pub unsafe fn read_row_with_avx2<const N: usize>(from: *const u8, into: &mut [[u8; N]; 32]) {
    let (fours, rest) = into.as_flattened_mut().as_chunks_mut::<128>();
    let rest_from = from.wrapping_add(fours.len() * 128);
    for (index, into) in fours.iter_mut().enumerate() {
        let (a, b, c, d): (__m256i, __m256i, __m256i, __m256i);
        // SAFETY: 128 bytes of the row, readable, says the caller.
        unsafe {
            asm!(
                "vmovdqu {a}, [{from}]",
                "vmovdqu {b}, [{from} + 32]",
                "vmovdqu {c}, [{from} + 64]",
                "vmovdqu {d}, [{from} + 96]",
                a = out(ymm_reg) a,
                b = out(ymm_reg) b,
                c = out(ymm_reg) c,
                d = out(ymm_reg) d,
                from = in(reg) from.add(index * 128),
                options(nostack, preserves_flags, readonly),
            );
        }
        let into = into.as_mut_ptr().cast::<__m256i>();
        // SAFETY: four times 32 bytes of the buffer.
        unsafe {
            _mm256_storeu_si256(into, a);
            _mm256_storeu_si256(into.add(1), b);
            _mm256_storeu_si256(into.add(2), c);
            _mm256_storeu_si256(into.add(3), d);
        }
    }
    for (index, into) in rest.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let vector: __m256i;
        // SAFETY: 32 bytes of the row, readable, says the caller.
        unsafe {
            asm!(
                "vmovdqu {vector}, [{from}]",
                vector = out(ymm_reg) vector,
                from = in(reg) rest_from.add(index * 32),
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: 32 bytes of the buffer.
        unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), vector) };
    }
}

/// Writes a row, one element for each lane of a warp, from a buffer that no other thread changes.
///
/// # Safety
///
/// As [`write`](crate::write), on a processor with AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
#[inline]
pub unsafe fn write_row_with_avx2<const N: usize>(to: *mut u8, from: &[[u8; N]; 32]) {
    let (fours, rest) = from.as_flattened().as_chunks::<128>();
    let rest_to = to.wrapping_add(fours.len() * 128);
    for (index, from) in fours.iter().enumerate() {
        let from = from.as_ptr().cast::<__m256i>();
        // SAFETY: four times 32 bytes of the buffer.
        let (a, b, c, d) = unsafe {
            (
                _mm256_loadu_si256(from),
                _mm256_loadu_si256(from.add(1)),
                _mm256_loadu_si256(from.add(2)),
                _mm256_loadu_si256(from.add(3)),
            )
        };
        // SAFETY: 128 bytes of the row, writable, says the caller.
        unsafe {
            asm!(
                "vmovdqu [{to}], {a}",
                "vmovdqu [{to} + 32], {b}",
                "vmovdqu [{to} + 64], {c}",
                "vmovdqu [{to} + 96], {d}",
                a = in(ymm_reg) a,
                b = in(ymm_reg) b,
                c = in(ymm_reg) c,
                d = in(ymm_reg) d,
                to = in(reg) to.add(index * 128),
                options(nostack, preserves_flags),
            );
        }
    }
    for (index, from) in rest.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: 32 bytes of the buffer.
        let vector = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
        // SAFETY: 32 bytes of the row, writable, says the caller.
        unsafe {
            asm!(
                "vmovdqu [{to}], {vector}",
                vector = in(ymm_reg) vector,
                to = in(reg) rest_to.add(index * 32),
                options(nostack, preserves_flags),
            );
        }
    }
}
