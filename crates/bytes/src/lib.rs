//! Reads, writes, copies and fills of memory that several threads may touch at the same time.
//!
//! A simulated machine runs programs that have data races, and a plain read or write that races is undefined
//! behaviour in Rust. Kernels, copies and fills therefore reach the memory of a machine through this crate
//! only. Its accesses may race with each other: the bytes are then old ones, new ones or a mixture, and
//! nothing else goes wrong.
//!
//! - **One element** (1, 2, 4 or 8 bytes, aligned) is a relaxed atomic access. On x86-64 that is a plain
//!   `mov`. [`update`] is an atomic read-modify-write. None of these is ever torn.
//! - **More bytes, on x86-64,** are moved by assembler (`x86_64.rs`): vector loads and stores, at the speed
//!   of the C library's `memmove`. Rust's rule on data races is about accesses that the compiler knows of. A
//!   block of assembler is opaque to it, as the work of a device or of another process on shared memory would
//!   be: the compiler may assume no more than that the block may have read or written any byte that is not
//!   private to the calling code, and the processor defines what a race gives. In terms of Rust, each block
//!   does relaxed atomic accesses of single bytes, in any order.
//! - **More bytes, elsewhere,** and under Miri, which runs no assembler, are moved by relaxed atomic accesses
//!   of words, and of bytes at the unaligned ends (`portable.rs`).
//!
//! The argument rests on these assumptions:
//!
//! 1. No Rust reference to plain data points to the memory while it is accessed here. Each function asks its
//!    caller for it.
//! 2. The other threads of this process reach the memory through this crate or atomically. A program that is
//!    run on the simulator may access its page-locked and managed memory as it likes, as it may beside a real
//!    driver; such a race is the program's own.
//! 3. Accesses of different sizes may race. Rust's documentation does not define that for its atomics; all
//!    processors that Rust supports and the compiler's own memory model do.
//!
//! No access here orders anything for another thread, but for [`update`], which acquires and releases.
//! Threads that hand memory over are ordered by locks or atomics of their own. Non-temporal stores, which a
//! large copy makes, are complete when the function returns.
//!
//! ThreadSanitizer understands the atomic accesses. It does not see the assembler: a race between a large
//! copy and a plain access is not reported. AddressSanitizer does not see the assembler either, so it does
//! not check the bounds of a large copy.
#![expect(unsafe_code, reason = "reads and writes memory through raw pointers")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

#[cfg(any(test, miri, not(target_arch = "x86_64")))]
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod rows;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

#[cfg(any(miri, not(target_arch = "x86_64")))]
use portable as processor;
#[cfg(all(target_arch = "x86_64", miri))]
pub use portable::{read_row_with_avx2, write_row_with_avx2};
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use rows::{read_row_with_avx2, write_row_with_avx2};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86_64 as processor;

/// Copies `bytes` bytes; the two ranges may overlap.
///
/// # Safety
///
/// `bytes` bytes at `from` are readable and at `to` are writable. No Rust reference to plain data points to
/// any of them. Other threads may read and write them at the same time, as the [crate](self) says.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { processor::copy(to, from, bytes) };
}

/// Reads bytes into a buffer of the caller; 1, 2, 4 or 8 aligned bytes are one access.
///
/// # Safety
///
/// As many bytes at `from` as `into` has are readable. No Rust reference to plain data points to any of them.
/// Other threads may read and write them at the same time, as the [crate](self) says.
#[inline]
pub unsafe fn read(from: *const u8, into: &mut [u8]) {
    macro_rules! element {
        ($n:literal) => {
            if let Some(into) = into.first_chunk_mut() {
                // SAFETY: as many bytes are readable, says the caller.
                *into = unsafe { read_element::<$n>(from) };
            }
        };
    }
    match into.len() {
        1 => element!(1),
        2 => element!(2),
        4 => element!(4),
        8 => element!(8),
        // SAFETY: as many bytes are readable, says the caller, and the buffer is the caller's alone.
        _ => unsafe { processor::read(from, into) },
    }
}

/// Writes bytes from a buffer of the caller; 1, 2, 4 or 8 aligned bytes are one access.
///
/// # Safety
///
/// As many bytes at `to` as `from` has are writable. No Rust reference to plain data points to any of them.
/// Other threads may read and write them at the same time, as the [crate](self) says.
#[inline]
pub unsafe fn write(to: *mut u8, from: &[u8]) {
    macro_rules! element {
        ($n:literal) => {
            if let Ok(element) = from.try_into() {
                // SAFETY: as many bytes are writable, says the caller.
                unsafe { write_element::<$n>(to, element) };
            }
        };
    }
    match from.len() {
        1 => element!(1),
        2 => element!(2),
        4 => element!(4),
        8 => element!(8),
        // SAFETY: as many bytes are writable, says the caller, and the buffer is not written.
        _ => unsafe { processor::write(to, from) },
    }
}

/// Writes an element of 1, 2 or 4 bytes, the lowest of `pattern`, `count` times.
///
/// # Safety
///
/// `to` is a multiple of `element`. `count` elements there are writable. No Rust reference to plain data
/// points to any of them. Other threads may read and write them at the same time, as the [crate](self) says.
pub unsafe fn fill(to: *mut u8, pattern: u32, element: u8, count: usize) {
    let (lowest, element) = match element {
        1 => (u64::from(pattern as u8) * 0x0101_0101_0101_0101, 1),
        2 => (u64::from(pattern as u16) * 0x0001_0001_0001_0001, 2),
        _ => (u64::from(pattern) * 0x0000_0001_0000_0001, 4),
    };
    // SAFETY: the caller's promise; the bytes are a whole number of elements.
    unsafe { processor::fill(to, lowest.to_le_bytes(), count * element) };
}

/// Reads an element. Aligned ones of 1, 2, 4 or 8 bytes are one access, larger ones are one access for each 8
/// bytes.
///
/// # Safety
///
/// `N` bytes at `from` are readable. No Rust reference to plain data points to any of them. Other threads may
/// read and write them at the same time, as the [crate](self) says.
#[inline(always)]
pub unsafe fn read_element<const N: usize>(from: *const u8) -> [u8; N] {
    let (from, mut bytes) = (from.cast_mut(), [0; N]);
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: aligned, as the match has found, and readable, says the caller.
            let word = unsafe { <$atomic>::from_ptr(from.cast::<$word>()) }.load(Ordering::Relaxed);
            if let Some(into) = bytes.first_chunk_mut() {
                *into = word.to_ne_bytes();
            }
        }};
    }
    match N {
        1 => word!(AtomicU8, u8),
        2 if from.addr().is_multiple_of(2) => word!(AtomicU16, u16),
        4 if from.addr().is_multiple_of(4) => word!(AtomicU32, u32),
        8 if from.addr().is_multiple_of(8) => word!(AtomicU64, u64),
        16 | 32 if from.addr().is_multiple_of(8) => {
            for (index, chunk) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                // SAFETY: one of the aligned words of the `N` bytes.
                let word = unsafe { AtomicU64::from_ptr(from.add(index * 8).cast()) };
                *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
            }
        }
        // SAFETY: readable, says the caller.
        _ => unsafe { processor::read(from, &mut bytes) },
    }
    bytes
}

/// Writes an element. Aligned ones of 1, 2, 4 or 8 bytes are one access, larger ones are one access for each
/// 8 bytes.
///
/// # Safety
///
/// `N` bytes at `to` are writable. No Rust reference to plain data points to any of them. Other threads may
/// read and write them at the same time, as the [crate](self) says.
#[inline(always)]
pub unsafe fn write_element<const N: usize>(to: *mut u8, bytes: &[u8; N]) {
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            let word = bytes[..].try_into().map(<$word>::from_ne_bytes).unwrap_or_default();
            // SAFETY: aligned, as the match has found, and writable, says the caller.
            unsafe { <$atomic>::from_ptr(to.cast::<$word>()) }.store(word, Ordering::Relaxed);
        }};
    }
    match N {
        1 => word!(AtomicU8, u8),
        2 if to.addr().is_multiple_of(2) => word!(AtomicU16, u16),
        4 if to.addr().is_multiple_of(4) => word!(AtomicU32, u32),
        8 if to.addr().is_multiple_of(8) => word!(AtomicU64, u64),
        16 | 32 if to.addr().is_multiple_of(8) => {
            for (index, chunk) in bytes.as_chunks::<8>().0.iter().enumerate() {
                // SAFETY: one of the aligned words of the `N` bytes.
                let word = unsafe { AtomicU64::from_ptr(to.add(index * 8).cast()) };
                word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
            }
        }
        // SAFETY: writable, says the caller.
        _ => unsafe { processor::write(to, bytes) },
    }
}

/// Changes a little-endian word of 2, 4 or 8 bytes atomically, and returns the old one. `change` may be
/// called several times.
///
/// # Safety
///
/// `at` is a multiple of `bytes`, which is 2, 4 or 8. That many bytes there are readable and writable. No
/// Rust reference to plain data points to any of them. Other threads may read and write them at the same
/// time, as the [crate](self) says.
#[inline(always)]
pub unsafe fn update(at: *mut u8, bytes: usize, mut change: impl FnMut(u64) -> u64) -> u64 {
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: an aligned word that is readable and writable, says the caller.
            let word = unsafe { <$atomic>::from_ptr(at.cast::<$word>()) };
            let changed = |old| Some((change(<$word>::from_le(old).into()) as $word).to_le());
            // A function that never returns `None` has its value stored.
            let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
            <$word>::from_le(old).into()
        }};
    }
    match bytes {
        2 => word!(AtomicU16, u16),
        4 => word!(AtomicU32, u32),
        _ => word!(AtomicU64, u64),
    }
}
