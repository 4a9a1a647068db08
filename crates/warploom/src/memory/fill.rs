//! Fills: every value set to the same.
#![expect(unsafe_code, reason = "writes memory that was checked, and reads the bytes of values")]

use super::copy::enqueue;
use super::uses::Access;
use crate::{DeviceCopy, MemoryError, Queue, Result, SliceMut};

/// The most values that are filled as columns; more are copied from them.
const COLUMN: usize = 4096;

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

/// The words of a value of 8, 12 or 16 bytes, if none of them is padding, and how many they are.
fn words<T: DeviceCopy>(value: &T) -> Option<([u32; 4], usize)> {
    let (mut words, size) = ([0_u32; 4], size_of::<T>());
    if T::HAS_PADDING || !matches!(size, 8 | 12 | 16) {
        return None;
    }
    // SAFETY: the value has as many bytes, and there is room for them. None of them is padding.
    unsafe { (&raw const *value).cast::<u8>().copy_to_nonoverlapping(words.as_mut_ptr().cast(), size) };
    Some((words, size / size_of::<u32>()))
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
    /// Sets every value, in the order of `queue`. Values of 1, 2 or 4 bytes are one driver call; values of 8,
    /// 12 or 16 bytes are one for each word of 4 bytes, or one in all if the words are the same; more than
    /// 4096 of them are doubled by copies. Larger ones
    /// (up to 256 bytes) can be repeated only if all their bytes are the same, as in 0; and none that has
    /// [padding](DeviceCopy::HAS_PADDING), for which [`SliceMut::zero`] does.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut numbers = DevicePool::new(&context)?.zeroed::<f64>(4, &stream)?;
    /// numbers.slice_mut(1..)?.fill(0.1, &stream)?;
    /// assert_eq!(numbers.download(&stream)?, [0.0, 0.1, 0.1, 0.1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::Fill`] for a value that cannot be repeated, [`MemoryError::FillAlignment`] for memory
    /// that is not aligned to 2 or 4 bytes, as the values need it,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemsetD8Async")]
    #[doc(alias = "cuMemsetD16Async")]
    #[doc(alias = "cuMemsetD32Async")]
    pub fn fill(self, value: T, queue: &impl Queue) -> Result<()> {
        if let Some(pattern) = pattern(&value) {
            return self.repeat(pattern, queue);
        }
        let (words, count) = words(&value).ok_or(MemoryError::Fill { size: size_of::<T>() })?;
        let words = &words[..count];
        if words.iter().all(|word| *word == words[0]) {
            return self.repeat(Pattern::Words(words[0]), queue);
        }
        self.repeat_words(words, queue)
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
        let (_, size) = pattern.to_raw();
        self.check_alignment(size as usize)?;
        let _turn = stream.turn();
        self.span.allocation.meet(stream)?;
        let (driver, at, count) = (context.driver(), self.span.address, self.size_in_bytes() / size as usize);
        // SAFETY: the memory has that many numbers of the pattern's size, aligned for them, and is there in
        // the order of the stream, which is alive.
        let filled = stream.enqueue(|raw| unsafe {
            match pattern {
                Pattern::Bytes(byte) => driver.cuMemsetD8Async(at, byte, count, raw),
                Pattern::Pairs(pair) => driver.cuMemsetD16Async(at, pair, count, raw),
                Pattern::Words(word) => driver.cuMemsetD32Async(at, word, count, raw),
            }
        });
        filled.map_err(|error| self.span.refused(error, Access::Write, stream))?;
        self.span.allocation.did(stream, Access::Write);
        Ok(())
    }

    /// Sets every value to these words: each word of the first values by one call, as a column of rows, and
    /// the other values by copies of what is there, twice as many each time. A driver fills columns slowly.
    fn repeat_words(self, words: &[u32], queue: &impl Queue) -> Result<()> {
        let (stream, context) = (queue.stream(), self.context());
        context.serves(stream)?;
        if self.size_in_bytes() == 0 {
            return Ok(());
        }
        self.check_alignment(size_of::<u32>())?;
        let _turn = stream.turn();
        self.span.allocation.meet(stream)?;
        let (driver, pitch, height) = (context.driver(), size_of::<T>(), self.span.len.min(COLUMN));
        let columns = (self.span.address..).step_by(size_of::<u32>());
        let mut filled = words.iter().zip(columns).try_for_each(|(word, at)| {
            // SAFETY: each of the values has this word, aligned, and the memory is there in the order of the
            // stream, which is alive.
            stream.enqueue(|raw| unsafe { driver.cuMemsetD2D32Async(at, pitch, *word, 1, height, raw) })
        });
        let (mut done, total) = (height * pitch, self.size_in_bytes());
        while filled.is_ok() && done < total {
            let bytes = done.min(total - done);
            filled = enqueue(self.span.at_byte(done), self.span, bytes, stream);
            done += bytes;
        }
        // Also after a failure: some words may have been enqueued.
        self.span.allocation.did(stream, Access::Write);
        filled.map_err(|error| self.span.refused(error, Access::Write, stream))
    }

    /// Refuses memory that is not aligned for numbers of this size.
    fn check_alignment(&self, align: usize) -> Result<()> {
        let address = self.span.address;
        if address.is_multiple_of(align as u64) {
            Ok(())
        } else {
            Err(MemoryError::FillAlignment { address, align }.into())
        }
    }
}
