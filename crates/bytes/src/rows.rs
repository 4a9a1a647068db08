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
    // As many vectors of 32 bytes as an element has bytes.
    let into = into.as_mut_ptr().cast::<__m256i>();
    for vector in (0..N / 4 * 4).step_by(4) {
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
                from = in(reg) from.add(vector * 32),
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: four of the `N` vectors of the buffer.
        unsafe {
            _mm256_storeu_si256(into.add(vector), a);
            _mm256_storeu_si256(into.add(vector + 1), b);
            _mm256_storeu_si256(into.add(vector + 2), c);
            _mm256_storeu_si256(into.add(vector + 3), d);
        }
    }
    for vector in N / 4 * 4..N {
        let a: __m256i;
        // SAFETY: 32 bytes of the row, readable, says the caller.
        unsafe {
            asm!(
                "vmovdqu {a}, [{from}]",
                a = out(ymm_reg) a,
                from = in(reg) from.add(vector * 32),
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: one of the `N` vectors of the buffer.
        unsafe { _mm256_storeu_si256(into.add(vector), a) };
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
    // As many vectors of 32 bytes as an element has bytes.
    let from = from.as_ptr().cast::<__m256i>();
    for vector in (0..N / 4 * 4).step_by(4) {
        // SAFETY: four of the `N` vectors of the buffer.
        let (a, b, c, d) = unsafe {
            (
                _mm256_loadu_si256(from.add(vector)),
                _mm256_loadu_si256(from.add(vector + 1)),
                _mm256_loadu_si256(from.add(vector + 2)),
                _mm256_loadu_si256(from.add(vector + 3)),
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
                to = in(reg) to.add(vector * 32),
                options(nostack, preserves_flags),
            );
        }
    }
    for vector in N / 4 * 4..N {
        // SAFETY: one of the `N` vectors of the buffer.
        let a = unsafe { _mm256_loadu_si256(from.add(vector)) };
        // SAFETY: 32 bytes of the row, writable, says the caller.
        unsafe {
            asm!(
                "vmovdqu [{to}], {a}",
                a = in(ymm_reg) a,
                to = in(reg) to.add(vector * 32),
                options(nostack, preserves_flags),
            );
        }
    }
}
