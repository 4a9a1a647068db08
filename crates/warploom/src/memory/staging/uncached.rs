//! Copies of the host with stores that bypass the processor's caches.
#![expect(unsafe_code, reason = "copies memory that its caller vouches for")]

/// Copies bytes with stores that bypass the caches.
///
/// Ordinary stores read the lines that they overwrite into the caches first, if they are not there, and a
/// device that reads the destination has to get the new lines from there. These stores do neither.
///
/// # Safety
///
/// `from` has `len` bytes, `to` has room for them, and nothing else uses that.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy_uncached(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const LINE: usize = 64;
    const WORD: usize = size_of::<__m128i>();
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: the head, the lines and the tail are inside of both, by the caller's promise. Every line of the
    // destination is aligned. The fence comes before anything else that this thread stores, and so before
    // others can learn that the copy is done.
    unsafe {
        from.copy_to_nonoverlapping(to, head);
        for at in (head..tail).step_by(LINE) {
            let (line, place) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let words: [__m128i; LINE / WORD] = std::array::from_fn(|word| _mm_loadu_si128(line.add(word)));
            for (word, value) in words.into_iter().enumerate() {
                _mm_stream_si128(place.add(word), value);
            }
        }
        _mm_sfence();
        from.add(tail).copy_to_nonoverlapping(to.add(tail), len - tail);
    }
}

/// Copies bytes with ordinary stores, since there are no others here.
///
/// # Safety
///
/// `from` has `len` bytes, `to` has room for them, and nothing else uses that.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) unsafe fn copy_uncached(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { from.copy_to_nonoverlapping(to, len) };
}

#[cfg(test)]
mod tests {
    use super::copy_uncached;

    /// Exactly the bytes asked for are written, at any alignment.
    #[test]
    fn uncached_copies_are_exact() {
        let from: Vec<u8> = (0..2000_u32).map(|at| (at % 251) as u8).collect();
        for (start, place) in [(0, 0), (1, 0), (0, 1), (3, 7), (63, 64), (64, 63)] {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 129, 1000, 1800] {
                let mut to = vec![0xee_u8; 2000];
                // SAFETY: both have as many bytes from there on, and are borrowed.
                unsafe { copy_uncached(from.as_ptr().add(start), to.as_mut_ptr().add(place), len) };
                assert_eq!(to[place..place + len], from[start..start + len], "{len} bytes");
                let others = to[..place].iter().chain(&to[place + len..]);
                assert!(others.into_iter().all(|byte| *byte == 0xee), "{len} bytes");
            }
        }
    }
}
