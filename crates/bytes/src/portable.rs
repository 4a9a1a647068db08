//! Accesses by relaxed atomics, for every processor and for Miri.
#![expect(unsafe_code, reason = "takes raw pointers for atomic words")]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes on the way of a copy; a multiple of a word.
const STAGED: usize = 512;

/// Splits a range into bytes up to the first aligned word, whole words, and bytes behind them.
fn parts(start: *const u8, bytes: usize) -> [usize; 3] {
    let head = start.align_offset(8).min(bytes);
    let words = (bytes - head) / 8;
    [head, words, bytes - head - words * 8]
}

/// Reads bytes into a buffer that no other thread knows.
///
/// # Safety
///
/// As [`super::read`].
pub(super) unsafe fn read(from: *const u8, into: &mut [u8]) {
    let from = from.cast_mut();
    let [head, words, _] = parts(from, into.len());
    let (first, rest) = into.split_at_mut(head);
    let (middle, last) = rest.split_at_mut(words * 8);
    // SAFETY: each byte lies in the range, says the caller.
    let byte = |at: usize| unsafe { AtomicU8::from_ptr(from.add(at)) }.load(Ordering::Relaxed);
    for (at, into) in first.iter_mut().enumerate() {
        *into = byte(at);
    }
    for (index, into) in middle.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        // SAFETY: a whole word of the range, aligned because the words start behind `head`.
        let word = unsafe { AtomicU64::from_ptr(from.add(head + index * 8).cast()) };
        *into = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    for (at, into) in last.iter_mut().enumerate() {
        *into = byte(head + words * 8 + at);
    }
}

/// Writes bytes from a buffer that no other thread changes.
///
/// # Safety
///
/// As [`super::write`].
pub(super) unsafe fn write(to: *mut u8, from: &[u8]) {
    let [head, words, _] = parts(to, from.len());
    let (first, rest) = from.split_at(head);
    let (middle, last) = rest.split_at(words * 8);
    // SAFETY: each byte lies in the range, says the caller.
    let put = |at: usize, byte: u8| unsafe { AtomicU8::from_ptr(to.add(at)) }.store(byte, Ordering::Relaxed);
    for (at, byte) in first.iter().enumerate() {
        put(at, *byte);
    }
    for (index, from) in middle.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: a whole word of the range, aligned because the words start behind `head`.
        let word = unsafe { AtomicU64::from_ptr(to.add(head + index * 8).cast()) };
        word.store(u64::from_ne_bytes(*from), Ordering::Relaxed);
    }
    for (at, byte) in last.iter().enumerate() {
        put(head + words * 8 + at, *byte);
    }
}

/// Copies bytes; the ranges may overlap. Each part is read before it is written, and no part is written
/// before the others that it overlaps are read: parts go up if the copy goes down, and down if it goes up.
///
/// # Safety
///
/// As [`super::copy`].
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    let mut staged = [0; STAGED];
    let parts = bytes.div_ceil(STAGED);
    let goes_up = to.addr() > from.addr();
    for index in 0..parts {
        let start = STAGED * if goes_up { parts - 1 - index } else { index };
        let part = &mut staged[..STAGED.min(bytes - start)];
        // SAFETY: a part of the range, which the caller vouches for.
        unsafe { read(from.add(start), part) };
        // SAFETY: as above.
        unsafe { write(to.add(start), part) };
    }
}

/// Writes eight bytes again and again, until `bytes` are written.
///
/// # Safety
///
/// As [`super::fill`]: `bytes` and `to` are multiples of the element of which the eight bytes are made.
pub(super) unsafe fn fill(to: *mut u8, pattern: [u8; 8], bytes: usize) {
    let staged = [pattern; STAGED / 8];
    for start in (0..bytes).step_by(STAGED) {
        let part = &staged.as_flattened()[..STAGED.min(bytes - start)];
        // SAFETY: a part of the range, which the caller vouches for.
        unsafe { write(to.add(start), part) };
    }
}

/// Reads a row, one element for each lane of a warp, into a buffer that no other thread knows.
///
/// # Safety
///
/// As [`read`](crate::read).
#[cfg(all(target_arch = "x86_64", miri))]
pub unsafe fn read_row_with_avx2<const N: usize>(from: *const u8, into: &mut [[u8; N]; 32]) {
    // SAFETY: the caller's promise.
    unsafe { read(from, into.as_flattened_mut()) };
}

/// Writes a row, one element for each lane of a warp, from a buffer that no other thread changes.
///
/// # Safety
///
/// As [`write`](crate::write).
#[cfg(all(target_arch = "x86_64", miri))]
pub unsafe fn write_row_with_avx2<const N: usize>(to: *mut u8, from: &[[u8; N]; 32]) {
    // SAFETY: the caller's promise.
    unsafe { write(to, from.as_flattened()) };
}
