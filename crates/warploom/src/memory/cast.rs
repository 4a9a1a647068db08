//! Owned casts: buffers of values of another type, in the same memory.
#![expect(unsafe_code, reason = "counts the same bytes as other values")]

use std::fmt;

use crate::{Buffer, DeviceCopy, Error, ManagedBuffer, Result};

/// An error of a cast, with the buffer as it was. `?` makes an [`Error`] of it and drops the buffer.
pub struct CastError<B> {
    /// The buffer.
    pub buffer: B,
    /// The error.
    pub error: Error,
}

impl<B> fmt::Debug for CastError<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CastError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<B> fmt::Display for CastError<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the buffer was not cast: {}", self.error)
    }
}

impl<B> std::error::Error for CastError<B> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<B> From<CastError<B>> for Error {
    fn from(refused: CastError<B>) -> Error {
        refused.error
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// The same memory with values of another type. No driver call.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let bytes = DevicePool::new(&context)?.upload(&[1_u8, 0, 0, 0, 2, 0, 0, 0], &stream)?;
    /// let words = bytes.cast::<u32>()?;
    /// assert_eq!(words.download(&stream)?, [1, 2]);
    ///
    /// let refused = words.cast::<[u32; 3]>().expect_err("two words are no three");
    /// assert_eq!(refused.buffer.len(), 2); // and here it is again
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// With the buffer as it was: [`MemoryError::Cast`](crate::MemoryError::Cast) unless the bytes are a
    /// whole number of such values, aligned for them, and
    /// [`MemoryError::CastPadding`](crate::MemoryError::CastPadding) if values of either type have padding.
    pub fn cast<U: DeviceCopy>(mut self) -> Result<Buffer<U>, CastError<Buffer<T>>> {
        let len = self.as_slice_mut().cast::<U>().map(|values| values.len());
        match len {
            // SAFETY: the allocation has as many bytes as these values.
            Ok(len) => Ok(unsafe { Buffer::held(self.into_allocation(), len) }),
            Err(error) => Err(CastError { buffer: self, error }),
        }
    }
}

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// The same memory with values of another type; see [`Buffer::cast`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::cast`].
    pub fn cast<U: DeviceCopy>(self) -> Result<ManagedBuffer<U>, CastError<ManagedBuffer<T>>> {
        match self.into_buffer().cast() {
            Ok(buffer) => Ok(ManagedBuffer::over(buffer)),
            Err(CastError { buffer, error }) => Err(CastError { buffer: ManagedBuffer::over(buffer), error }),
        }
    }
}
