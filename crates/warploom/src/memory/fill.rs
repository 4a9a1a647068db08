//! Fills: every value set to the same.
#![expect(unsafe_code, reason = "writes memory that was checked, and reads the bytes of values")]

use super::uses::Access;
use crate::{DeviceCopy, MemoryError, Queue, Result, SliceMut};

/// A pattern that the driver can fill with.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    Bytes(u8),
    Pairs(u16),
    Words(u32),
}

/// The pattern of a value, if the driver can repeat it: of 1, 2 or 4 bytes, or of any size with all bytes the
/// same. Padding is uninitialised.
pub(crate) fn pattern<T: DeviceCopy>(value: &T) -> Option<Pattern> {
    if T::HAS_PADDING {
        return None;
    }
    let (start, len) = ((&raw const *value).cast::<u8>(), size_of::<T>());
    match len {
        // SAFETY: the value has as many bytes, and any bytes are a number; likewise below.
        1 => Some(Pattern::Bytes(unsafe { start.read() })),
        // SAFETY: as above.
        2 => Some(Pattern::Pairs(unsafe { start.cast::<u16>().read_unaligned() })),
        // SAFETY: as above.
        4 => Some(Pattern::Words(unsafe { start.cast::<u32>().read_unaligned() })),
        3 | 5..=256 => repeated(value),
        _ => None,
    }
}

/// The byte that all bytes of a value are.
fn repeated<T: DeviceCopy>(value: &T) -> Option<Pattern> {
    let (mut bytes, len) = ([0_u8; 256], size_of::<T>().min(256));
    // SAFETY: the value has as many bytes, and there is room for them. None of them is padding.
    unsafe { (&raw const *value).cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
    let first = bytes[0];
    bytes[..len].iter().all(|byte| *byte == first).then_some(Pattern::Bytes(first))
}

impl Pattern {
    /// The value as a number, and its size in bytes.
    pub(crate) fn to_raw(self) -> (u32, u32) {
        match self {
            Pattern::Bytes(byte) => (byte.into(), 1),
            Pattern::Pairs(pair) => (pair.into(), 2),
            Pattern::Words(word) => (word, 4),
        }
    }
}

impl<T: DeviceCopy> SliceMut<'_, T> {
    /// Sets every value, in the order of `queue`. The driver repeats values of 1, 2 or 4 bytes, and larger
    /// ones (up to 256 bytes) only if all their bytes are the same, as in 0; and none that has
    /// [padding](DeviceCopy::HAS_PADDING), for which [`SliceMut::zero`] does.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Fill`] for a value that cannot be repeated,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemsetD8Async")]
    #[doc(alias = "cuMemsetD16Async")]
    #[doc(alias = "cuMemsetD32Async")]
    pub fn fill(self, value: T, queue: &impl Queue) -> Result<()> {
        let pattern = pattern(&value).ok_or(MemoryError::Fill { size: size_of::<T>() })?;
        self.repeat(pattern, queue)
    }

    /// Sets every byte to 0, in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    pub fn zero(self, queue: &impl Queue) -> Result<()> {
        self.repeat(Pattern::Bytes(0), queue)
    }

    fn repeat(self, pattern: Pattern, queue: &impl Queue) -> Result<()> {
        let (stream, context) = (queue.stream(), self.context());
        context.serves(stream)?;
        if self.size_in_bytes() == 0 {
            return Ok(());
        }
        self.span.allocation.meet(stream)?;
        let (driver, at, len) = (context.driver(), self.span.address, self.span.len);
        // SAFETY: the memory has that many values of the pattern's size, aligned for them, and is there in
        // the order of the stream, which is alive.
        stream.enqueue(|raw| unsafe {
            match pattern {
                Pattern::Bytes(byte) => driver.cuMemsetD8Async(at, byte, self.size_in_bytes(), raw),
                Pattern::Pairs(pair) => driver.cuMemsetD16Async(at, pair, len, raw),
                Pattern::Words(word) => driver.cuMemsetD32Async(at, word, len, raw),
            }
        })?;
        self.span.allocation.did(stream, Access::Write);
        Ok(())
    }
}
