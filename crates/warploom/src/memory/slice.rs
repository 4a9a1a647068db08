//! Slices: borrowed ranges of device memory.
//!
//! [`Slice`] and [`SliceMut`] relate to a [`Buffer`] as `&[T]` and `&mut [T]` to a `Box<[T]>`: two mutable
//! ones never overlap. They say nothing about *when*: the order of work between streams is made with events.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation_ref::AllocationRef;
use crate::{Buffer, Context, DeviceCopy, MemoryError, Result};

/// Values on a device, borrowed.
pub struct Slice<'a, T: DeviceCopy = u8> {
    pub(super) span: Span<'a>,
    of: PhantomData<&'a [T]>,
}

/// Values on a device, borrowed to be written.
pub struct SliceMut<'a, T: DeviceCopy = u8> {
    pub(super) span: Span<'a>,
    of: PhantomData<&'a mut [T]>,
}

/// A range of an allocation, in values.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) allocation: &'a AllocationRef,
    pub(super) address: CUdeviceptr,
    pub(super) len: usize,
}

/// Start and end of a range that is inside `len`.
pub(crate) fn bounds(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    if start > end || end > len { Err(MemoryError::OutOfRange { start, end, len }.into()) } else { Ok((start, end)) }
}

impl<'a> Span<'a> {
    /// The part of it that a range of values names.
    fn part<T>(self, range: impl RangeBounds<usize>) -> Result<Span<'a>> {
        let (start, end) = bounds(range, self.len)?;
        // Inside, so that the bytes before it are fewer than the allocation's.
        let address = self.address + (start * size_of::<T>()) as CUdeviceptr;
        Ok(Span { address, len: end - start, ..self })
    }

    /// The part of it from a byte on that is inside, as an address for the driver.
    pub(super) fn at_byte(self, offset: usize) -> Span<'a> {
        Span { address: self.address + offset as CUdeviceptr, ..self }
    }

    /// The same bytes as values of another type.
    fn cast<T: DeviceCopy, U: DeviceCopy>(self) -> Result<Span<'a>> {
        refuse_padding::<T, U>()?;
        let (bytes, size) = (self.len * size_of::<T>(), size_of::<U>());
        let fits = size != 0 && bytes.is_multiple_of(size);
        if !fits || !self.address.is_multiple_of(align_of::<U>() as CUdeviceptr) {
            return Err(MemoryError::Cast { bytes, address: self.address, size, align: align_of::<U>() }.into());
        }
        Ok(Span { len: bytes / size, ..self })
    }
}

/// Refuses to show values with padding as values of another type: padding is uninitialised.
fn refuse_padding<T: DeviceCopy, Other: DeviceCopy>() -> Result<()> {
    if T::HAS_PADDING && TypeId::of::<T>() != TypeId::of::<Other>() {
        return Err(MemoryError::CastPadding { padded: type_name::<T>() }.into());
    }
    Ok(())
}

macro_rules! shared {
    ($($name:ident)*) => {$(
        impl<'a, T: DeviceCopy> $name<'a, T> {
            pub(super) fn over(span: Span<'a>) -> Self {
                Self { span, of: PhantomData }
            }

            /// The number of values.
            #[must_use]
            pub fn len(&self) -> usize {
                self.span.len
            }

            /// `true` if it has none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.span.len == 0
            }

            /// The number of bytes.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.span.len * size_of::<T>()
            }

            /// The address of its first value on the device; valid while the memory is, in the order of its
            /// streams.
            #[must_use]
            pub fn as_raw(&self) -> CUdeviceptr {
                self.span.address
            }

            /// The context of the memory.
            #[must_use]
            pub fn context(&self) -> &'a Context {
                self.span.allocation.context()
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $name<'_, T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let address = format_args!("{:#x}", self.span.address);
                let device = self.context().device();
                formatter.debug_struct(stringify!($name)).field("address", &address).field("len", &self.span.len)
                    .field("device", device).finish()
            }
        }
    )*};
}
shared!(Slice SliceMut);

impl<T: DeviceCopy> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: DeviceCopy> Copy for Slice<'_, T> {}

impl<'a, T: DeviceCopy> Slice<'a, T> {
    /// A part of it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if the range is not inside.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Slice<'a, T>> {
        self.span.part::<T>(range).map(Slice::over)
    }

    /// The values before `mid`, and the rest.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if it has fewer values.
    pub fn split_at(self, mid: usize) -> Result<(Slice<'a, T>, Slice<'a, T>)> {
        Ok((self.slice(..mid)?, self.slice(mid..)?))
    }

    /// Pieces of `len` values; the last has the rest.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyChunks`] if `len` is 0.
    pub fn chunks(self, len: usize) -> Result<impl Iterator<Item = Slice<'a, T>>> {
        if len == 0 {
            return Err(MemoryError::EmptyChunks.into());
        }
        let starts = (0..self.len()).step_by(len);
        // No sum of two sizes that a slice can have is more than a number can say; of larger chunks, there is
        // one.
        let len = len.min(self.len());
        Ok(starts.filter_map(move |start| self.slice(start..self.len().min(start + len)).ok()))
    }

    /// The same bytes as values of another type.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Cast`] unless the bytes are a whole number of such values, aligned for them, and
    /// [`MemoryError::CastPadding`] if values of this type have padding.
    pub fn cast<U: DeviceCopy>(self) -> Result<Slice<'a, U>> {
        self.span.cast::<T, U>().map(Slice::over)
    }
}

impl<'a, T: DeviceCopy> SliceMut<'a, T> {
    /// Pieces of `len` values, which can all be written, since they do not overlap; the last has the rest.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyChunks`] if `len` is 0.
    pub fn chunks_mut(self, len: usize) -> Result<impl Iterator<Item = SliceMut<'a, T>>> {
        if len == 0 {
            return Err(MemoryError::EmptyChunks.into());
        }
        let span = self.span;
        let starts = (0..span.len).step_by(len);
        let len = len.min(span.len);
        let chunk = move |start| span.part::<T>(start..span.len.min(start + len)).ok().map(SliceMut::over);
        Ok(starts.filter_map(chunk))
    }

    /// The same, borrowed for a while: the original can be used again afterwards.
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut::over(self.span)
    }

    /// The same, to be read.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice::over(self.span)
    }

    /// A part of it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if the range is not inside.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Result<SliceMut<'a, T>> {
        self.span.part::<T>(range).map(SliceMut::over)
    }

    /// The values before `mid`, and the rest: both can be written, since they do not overlap.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if it has fewer values.
    pub fn split_at_mut(self, mid: usize) -> Result<(SliceMut<'a, T>, SliceMut<'a, T>)> {
        let (first, second) = (self.span.part::<T>(..mid)?, self.span.part::<T>(mid..)?);
        Ok((SliceMut::over(first), SliceMut::over(second)))
    }

    /// The same bytes as values of another type.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Cast`] unless the bytes are a whole number of such values, aligned for them, and
    /// [`MemoryError::CastPadding`] if values of either type have padding: it would be written here, and
    /// could be read as bytes of a value of the other.
    pub fn cast<U: DeviceCopy>(self) -> Result<SliceMut<'a, U>> {
        refuse_padding::<U, T>()?;
        self.span.cast::<T, U>().map(SliceMut::over)
    }
}

impl<'a, T: DeviceCopy> From<&'a Buffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Buffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.as_slice_mut()
    }
}

impl<'a, T: DeviceCopy> From<SliceMut<'a, T>> for Slice<'a, T> {
    fn from(slice: SliceMut<'a, T>) -> Self {
        Slice::over(slice.span)
    }
}
