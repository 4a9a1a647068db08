//! Rows: device memory in two dimensions.
//!
//! ```text
//!                ◀───────── pitch ─────────▶
//!   the slice ──▶ ┌─────────────────┬╌╌╌╌╌╌╌╌╌┐ ▲
//!                 │      width      │   gap   │ │ height
//!                 ├─────────────────┼╌╌╌╌╌╌╌╌╌┤ │
//!                 │                 │         │ │
//!                 ├─────────────────┼╌╌╌╌╌╌╌╌╌┘ │
//!                 │                 │           ▼
//!                 └─────────────────┘             all in values; behind the last row there need be nothing
//! ```
//!
//! The rules of slices hold for rows: two [`RowsMut`] never share a value. They may lie between each other,
//! since one that is split at a column gives two whose rows take turns in memory; so none can be had as one
//! [`SliceMut`], only row by row. The gaps are not part of the rows: no call on rows reads or writes them,
//! and they stay borrowed as long as the rows are.

mod fill;
mod pitched;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation_ref::AllocationRef;
use super::slice::{Span, bounds};
use crate::{Buffer, Context, DeviceCopy, MemoryError, Result, Slice, SliceMut};

/// Rows of values on a device, borrowed: `height` rows of `width` values, each `pitch` values behind the one
/// before.
///
/// ```
/// use warploom::{DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
/// let image = pool.upload(&[1_u8, 2, 3, 0, 4, 5, 6, 0], &stream)?; // two rows of three, and gaps
/// let rows = image.rows(4, 3, 2)?;
/// assert_eq!(rows.download(&stream)?, [1, 2, 3, 4, 5, 6]);
/// assert_eq!(rows.part(.., 1..)?.download(&stream)?, [2, 3, 5, 6]);
/// # Ok(())
/// # }
/// ```
pub struct Rows<'a, T: DeviceCopy = u8> {
    pub(super) grid: Grid<'a>,
    of: PhantomData<&'a [T]>,
}

/// Rows of values on a device, borrowed to be written; see [`Rows`].
///
/// ```
/// use warploom::{DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, other) = (context.stream()?, context.stream()?);
/// let mut image = DevicePool::new(&context)?.allocate::<u16>(6, &stream)?;
/// let (left, right) = image.rows_mut(3, 3, 2)?.split_at_column_mut(1)?;
/// left.fill(7, &stream)?; // the two share no value, so nothing orders one behind the other
/// right.fill(9, &other)?;
/// stream.wait(&other.record()?)?;
/// assert_eq!(image.download(&stream)?, [7, 9, 9, 7, 9, 9]);
/// # Ok(())
/// # }
/// ```
pub struct RowsMut<'a, T: DeviceCopy = u8> {
    pub(super) grid: Grid<'a>,
    of: PhantomData<&'a mut [T]>,
}

/// Rows of an allocation, in values. A single row, or none, has a pitch of its width: where the next one
/// would begin means nothing then, and may be more than a number of bytes can say.
#[derive(Clone, Copy)]
pub(super) struct Grid<'a> {
    allocation: &'a AllocationRef,
    address: CUdeviceptr,
    pitch: usize,
    width: usize,
    height: usize,
}

impl<'a> Grid<'a> {
    fn new(span: Span<'a>, pitch: usize, width: usize, height: usize) -> Result<Grid<'a>> {
        if width > pitch {
            return Err(MemoryError::RowTooWide { width, pitch }.into());
        }
        let end = match height.checked_sub(1) {
            Some(before) => before.checked_mul(pitch).and_then(|start| start.checked_add(width)),
            None => Some(0),
        };
        if end.is_none_or(|end| end > span.len) {
            return Err(MemoryError::RowsOutOfRange { pitch, width, height, len: span.len }.into());
        }
        let pitch = if height > 1 { pitch } else { width };
        Ok(Grid { allocation: span.allocation, address: span.address, pitch, width, height })
    }

    /// The bytes of a range as a single row.
    pub(super) fn of_bytes(span: Span<'a>, bytes: usize) -> Grid<'a> {
        Grid { allocation: span.allocation, address: span.address, pitch: bytes, width: bytes, height: 1 }
    }

    fn part<T>(self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Result<Grid<'a>> {
        let (top, bottom) = bounds(rows, self.height)?;
        let (left, right) = bounds(columns, self.width)?;
        let (width, height) = (right - left, bottom - top);
        if width == 0 || height == 0 {
            // Behind the last row there may be no memory to have an address in.
            return Ok(Grid { pitch: width, width, height, ..self });
        }
        // Inside, so that the bytes before it are fewer than the allocation's.
        let address = self.address + ((top * self.pitch + left) * size_of::<T>()) as CUdeviceptr;
        let pitch = if height > 1 { self.pitch } else { width };
        Ok(Grid { address, pitch, width, height, ..self })
    }

    /// A piece of its packed bytes, which are whole rows or lie in one: as rows of bytes.
    pub(super) fn piece<T>(&self, bytes: Range<usize>) -> Grid<'a> {
        let row = self.width * size_of::<T>();
        let (top, left) = (bytes.start / row, bytes.start % row);
        let is_whole = left == 0 && bytes.len().is_multiple_of(row);
        let (width, height) = if is_whole { (row, bytes.len() / row) } else { (bytes.len(), 1) };
        let pitch = self.pitch * size_of::<T>();
        let address = self.address + (top * pitch + left) as CUdeviceptr;
        Grid { address, pitch: if height > 1 { pitch } else { width }, width, height, ..*self }
    }

    fn row<T>(self, index: usize) -> Result<Span<'a>> {
        let row = self.part::<T>(index..index.saturating_add(1), ..)?;
        Ok(Span { allocation: row.allocation, address: row.address, len: row.width })
    }

    pub(super) fn allocation(&self) -> &'a AllocationRef {
        self.allocation
    }

    /// The memory from the first value on; its length is that of a row.
    pub(super) fn span(&self) -> Span<'a> {
        Span { allocation: self.allocation, address: self.address, len: self.width }
    }

    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    pub(super) fn pitch(&self) -> usize {
        self.pitch
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn values(&self) -> usize {
        self.width * self.height
    }
}

macro_rules! shared {
    ($($name:ident)*) => {$(
        impl<'a, T: DeviceCopy> $name<'a, T> {
            fn over(grid: Grid<'a>) -> Self {
                Self { grid, of: PhantomData }
            }

            /// The number of values in a row.
            #[must_use]
            pub fn width(&self) -> usize {
                self.grid.width
            }

            /// The number of rows.
            #[must_use]
            pub fn height(&self) -> usize {
                self.grid.height
            }

            /// The number of values from the start of a row to the start of the next; of a single row, its
            /// width.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.grid.pitch
            }

            /// `true` if there is no value in it.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.grid.values() == 0
            }

            /// The address of the first value on the device; valid while the memory is, in the order of its
            /// streams.
            #[must_use]
            pub fn as_raw(&self) -> CUdeviceptr {
                self.grid.address
            }

            /// The context of the memory.
            #[must_use]
            pub fn context(&self) -> &'a Context {
                self.grid.allocation.context()
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $name<'_, T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter
                    .debug_struct(stringify!($name))
                    .field("address", &format_args!("{:#x}", self.grid.address))
                    .field("pitch", &self.grid.pitch)
                    .field("width", &self.grid.width)
                    .field("height", &self.grid.height)
                    .field("device", self.context().device())
                    .finish()
            }
        }
    )*};
}
shared!(Rows RowsMut);

impl<T: DeviceCopy> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for Rows<'_, T> {}

impl<'a, T: DeviceCopy> Rows<'a, T> {
    /// Some of the rows, and of them some of the columns.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if one of the ranges is not inside.
    pub fn part(self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Result<Rows<'a, T>> {
        self.grid.part::<T>(rows, columns).map(Rows::over)
    }

    /// One of the rows.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if there are not as many.
    pub fn row(self, index: usize) -> Result<Slice<'a, T>> {
        self.grid.row::<T>(index).map(Slice::over)
    }
}

impl<'a, T: DeviceCopy> RowsMut<'a, T> {
    /// The same, borrowed for a while: the original can be used again afterwards.
    pub fn reborrow(&mut self) -> RowsMut<'_, T> {
        RowsMut::over(self.grid)
    }

    /// The same, to be read.
    #[must_use]
    pub fn as_rows(&self) -> Rows<'_, T> {
        Rows::over(self.grid)
    }

    /// Some of the rows, and of them some of the columns.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if one of the ranges is not inside.
    pub fn part_mut(self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Result<RowsMut<'a, T>> {
        self.grid.part::<T>(rows, columns).map(RowsMut::over)
    }

    /// One of the rows.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if there are not as many.
    pub fn row_mut(self, index: usize) -> Result<SliceMut<'a, T>> {
        self.grid.row::<T>(index).map(SliceMut::over)
    }

    /// The rows before `row`, and the rest: both can be written, since they do not overlap.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if there are fewer.
    pub fn split_at_row_mut(self, row: usize) -> Result<(RowsMut<'a, T>, RowsMut<'a, T>)> {
        let (first, second) = (self.grid.part::<T>(..row, ..)?, self.grid.part::<T>(row.., ..)?);
        Ok((RowsMut::over(first), RowsMut::over(second)))
    }

    /// The columns before `column`, and the rest: both can be written, since they share no value, though
    /// their rows take turns in memory.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if there are fewer.
    pub fn split_at_column_mut(self, column: usize) -> Result<(RowsMut<'a, T>, RowsMut<'a, T>)> {
        let (first, second) = (self.grid.part::<T>(.., ..column)?, self.grid.part::<T>(.., column..)?);
        Ok((RowsMut::over(first), RowsMut::over(second)))
    }
}

impl<'a, T: DeviceCopy> From<RowsMut<'a, T>> for Rows<'a, T> {
    fn from(rows: RowsMut<'a, T>) -> Self {
        Rows::over(rows.grid)
    }
}

impl<'a, T: DeviceCopy> Slice<'a, T> {
    /// Its values as `height` rows of `width`, each `pitch` values behind the one before.
    ///
    /// # Errors
    ///
    /// [`MemoryError::RowTooWide`] if rows would overlap, [`MemoryError::RowsOutOfRange`] if they are not
    /// inside.
    pub fn rows(self, pitch: usize, width: usize, height: usize) -> Result<Rows<'a, T>> {
        Grid::new(self.span, pitch, width, height).map(Rows::over)
    }
}

impl<'a, T: DeviceCopy> SliceMut<'a, T> {
    /// Its values as rows, to be written; see [`Slice::rows`]. The gaps between the rows cannot be had
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Slice::rows`].
    pub fn rows_mut(self, pitch: usize, width: usize, height: usize) -> Result<RowsMut<'a, T>> {
        Grid::new(self.span, pitch, width, height).map(RowsMut::over)
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// Its values as rows; see [`Slice::rows`].
    ///
    /// # Errors
    ///
    /// As [`Slice::rows`].
    pub fn rows(&self, pitch: usize, width: usize, height: usize) -> Result<Rows<'_, T>> {
        self.as_slice().rows(pitch, width, height)
    }

    /// Its values as rows, to be written; see [`SliceMut::rows_mut`].
    ///
    /// # Errors
    ///
    /// As [`Slice::rows`].
    pub fn rows_mut(&mut self, pitch: usize, width: usize, height: usize) -> Result<RowsMut<'_, T>> {
        self.as_slice_mut().rows_mut(pitch, width, height)
    }
}
