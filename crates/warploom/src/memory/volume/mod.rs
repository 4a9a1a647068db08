//! Volumes: device memory in three dimensions.
//!
//! ```text
//!                ◀───────── pitch ─────────▶
//!   the slice ──▶ ┌─────────────────┬╌╌╌╌╌╌╌╌╌┐ ▲           ▲
//!                 │      width      │   gap   │ │ height    │
//!                 │                 │         │ ▼           │ plane_height
//!                 ├─────────────────┘         │             │
//!                 ┊           gap             ┊             ▼
//!                 ├─────────────────┬╌╌╌╌╌╌╌╌╌┤   the next of `depth` planes
//! ```
//!
//! The rules of [`Rows`] hold for volumes: two [`VolumeMut`] never share a value, and the gaps are neither
//! read nor written, but stay borrowed.

mod shape;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation_ref::AllocationRef;
use super::slice::{Span, bounds};
use crate::{Buffer, Context, DeviceCopy, Result, Rows, RowsMut, Slice, SliceMut};

pub use shape::VolumeShape;

/// Planes of rows of values on a device, borrowed.
///
/// ```
/// use warploom::{DevicePool, Driver, VolumeShape};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
/// let field = pool.upload(&[1_u8, 2, 3, 4, 5, 6, 7, 8], &stream)?; // two planes of two rows of two
/// let volume = field.volume(VolumeShape::packed(2, 2, 2))?;
/// assert_eq!(volume.part(.., .., 1..)?.download(&stream)?, [2, 4, 6, 8]);
/// assert_eq!(volume.plane(1)?.download(&stream)?, [5, 6, 7, 8]);
/// # Ok(())
/// # }
/// ```
pub struct Volume<'a, T: DeviceCopy = u8> {
    pub(super) block: Block<'a>,
    of: PhantomData<&'a [T]>,
}

/// Planes of rows of values on a device, borrowed to be written; see [`Volume`].
///
/// ```
/// use warploom::{DeviceMemory, DevicePool, Driver, VolumeShape};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let (width, height, depth) = (100, 20, 3);
/// let packed = DevicePool::new(&context)?.zeroed::<f32>(width * height * depth, &stream)?;
/// let (mut aligned, pitch) = DeviceMemory::new(&context).pitched::<f32>(width, height * depth)?;
/// let shape = VolumeShape::packed(width, height, depth);
/// packed.volume(shape)?.copy_to(aligned.volume_mut(shape.with_pitch(pitch))?, &stream)?;
/// assert_eq!(aligned.volume(shape.with_pitch(pitch))?.download(&stream)?, vec![0.0; 6000]);
/// # Ok(())
/// # }
/// ```
pub struct VolumeMut<'a, T: DeviceCopy = u8> {
    pub(super) block: Block<'a>,
    of: PhantomData<&'a mut [T]>,
}

/// A volume of an allocation.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) allocation: &'a AllocationRef,
    pub(super) address: CUdeviceptr,
    pub(super) shape: VolumeShape,
}

impl<'a> Block<'a> {
    fn new(span: Span<'a>, shape: VolumeShape) -> Result<Block<'a>> {
        let shape = shape.inside(span.len)?;
        Ok(Block { allocation: span.allocation, address: span.address, shape })
    }

    fn part<T>(
        self,
        planes: impl RangeBounds<usize>,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<Block<'a>> {
        let (front, back) = bounds(planes, self.shape.depth())?;
        let (top, bottom) = bounds(rows, self.shape.height())?;
        let (left, right) = bounds(columns, self.shape.width())?;
        let shape = self.shape.part(right - left, bottom - top, back - front);
        if shape.values() == 0 {
            // Behind the last row there may be no memory to have an address in.
            return Ok(Block { shape, ..self });
        }
        // Inside, so that the bytes before it are fewer than the allocation's.
        let before = self.shape.offset(front, top, left) * size_of::<T>();
        Ok(Block { address: self.address + before as CUdeviceptr, shape, ..self })
    }

    /// A piece of its packed bytes, which are whole planes, or whole rows of one, or lie in one row: as a
    /// volume of bytes.
    pub(super) fn piece<T>(&self, bytes: Range<usize>) -> Block<'a> {
        let (row, height) = (self.shape.width() * size_of::<T>(), self.shape.height());
        let (plane, start, len) = (row * height, bytes.start, bytes.len());
        let (front, top, left) = (start / plane, start % plane / row, start % row);
        let (width, height, depth) = if start.is_multiple_of(plane) && len.is_multiple_of(plane) {
            (row, height, len / plane)
        } else if left == 0 && len.is_multiple_of(row) {
            (row, len / row, 1)
        } else {
            (len, 1, 1)
        };
        let before = self.shape.offset(front, top, 0) * size_of::<T>() + left;
        let shape = VolumeShape::packed(width, height, depth);
        let shape = shape.with_pitch(self.shape.pitch() * size_of::<T>()).with_plane_height(self.shape.plane_height());
        Block { address: self.address + before as CUdeviceptr, shape, ..*self }
    }

    /// The memory from the first value of a plane to its last, gaps included.
    fn plane<T>(self, index: usize) -> Result<Span<'a>> {
        let plane = self.part::<T>(index..index.saturating_add(1), .., ..)?;
        let (width, height, _) = plane.shape.extent();
        let len = if plane.shape.values() == 0 { 0 } else { plane.shape.offset(0, height - 1, width) };
        Ok(Span { allocation: plane.allocation, address: plane.address, len })
    }
}

macro_rules! shared {
    ($($name:ident)*) => {$(
        impl<'a, T: DeviceCopy> $name<'a, T> {
            fn over(block: Block<'a>) -> Self {
                Self { block, of: PhantomData }
            }

            /// Its extent, and the distances between its rows and planes.
            pub fn shape(&self) -> VolumeShape {
                self.block.shape
            }

            /// `true` if there is no value in it.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.block.shape.values() == 0
            }

            /// The address of the first value on the device; valid while the memory is, in the order of its
            /// streams.
            #[must_use]
            pub fn as_raw(&self) -> CUdeviceptr {
                self.block.address
            }

            /// The context of the memory.
            #[must_use]
            pub fn context(&self) -> &'a Context {
                self.block.allocation.context()
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $name<'_, T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter
                    .debug_struct(stringify!($name))
                    .field("address", &format_args!("{:#x}", self.block.address))
                    .field("shape", &self.block.shape)
                    .field("device", self.context().device())
                    .finish()
            }
        }
    )*};
}
shared!(Volume VolumeMut);

impl<T: DeviceCopy> Clone for Volume<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for Volume<'_, T> {}

impl<'a, T: DeviceCopy> Volume<'a, T> {
    /// Some of the planes, of them some of the rows, and of them some of the columns.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if one of the ranges is not inside.
    pub fn part(
        self,
        planes: impl RangeBounds<usize>,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<Volume<'a, T>> {
        self.block.part::<T>(planes, rows, columns).map(Volume::over)
    }

    /// One of the planes.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if there are not as many.
    pub fn plane(self, index: usize) -> Result<Rows<'a, T>> {
        let (pitch, width, height) = self.block.shape.rows();
        Slice::over(self.block.plane::<T>(index)?).rows(pitch, width, height)
    }
}

impl<'a, T: DeviceCopy> VolumeMut<'a, T> {
    /// The same, borrowed for a while: the original can be used again afterwards.
    pub fn reborrow(&mut self) -> VolumeMut<'_, T> {
        VolumeMut::over(self.block)
    }

    /// The same, to be read.
    #[must_use]
    pub fn as_volume(&self) -> Volume<'_, T> {
        Volume::over(self.block)
    }

    /// Some of the planes, of them some of the rows, and of them some of the columns.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if one of the ranges is not inside.
    pub fn part_mut(
        self,
        planes: impl RangeBounds<usize>,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<VolumeMut<'a, T>> {
        self.block.part::<T>(planes, rows, columns).map(VolumeMut::over)
    }

    /// One of the planes.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if there are not as many.
    pub fn plane_mut(self, index: usize) -> Result<RowsMut<'a, T>> {
        let (pitch, width, height) = self.block.shape.rows();
        SliceMut::over(self.block.plane::<T>(index)?).rows_mut(pitch, width, height)
    }

    /// The planes before `plane`, and the rest: both can be written, since they do not overlap.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if there are fewer.
    pub fn split_at_plane_mut(self, plane: usize) -> Result<(VolumeMut<'a, T>, VolumeMut<'a, T>)> {
        let (first, second) = (self.block.part::<T>(..plane, .., ..)?, self.block.part::<T>(plane.., .., ..)?);
        Ok((VolumeMut::over(first), VolumeMut::over(second)))
    }
}

impl<'a, T: DeviceCopy> From<VolumeMut<'a, T>> for Volume<'a, T> {
    fn from(volume: VolumeMut<'a, T>) -> Self {
        Volume::over(volume.block)
    }
}

impl<'a, T: DeviceCopy> Slice<'a, T> {
    /// Its values as a volume.
    ///
    /// # Errors
    ///
    /// [`MemoryError::RowTooWide`](crate::MemoryError::RowTooWide) or
    /// [`MemoryError::PlaneTooHigh`](crate::MemoryError::PlaneTooHigh) if rows or planes would overlap,
    /// [`MemoryError::VolumeOutOfRange`](crate::MemoryError::VolumeOutOfRange) if they are not inside.
    pub fn volume(self, shape: VolumeShape) -> Result<Volume<'a, T>> {
        Block::new(self.span, shape).map(Volume::over)
    }
}

impl<'a, T: DeviceCopy> SliceMut<'a, T> {
    /// Its values as a volume, to be written; see [`Slice::volume`]. The gaps cannot be had meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Slice::volume`].
    pub fn volume_mut(self, shape: VolumeShape) -> Result<VolumeMut<'a, T>> {
        Block::new(self.span, shape).map(VolumeMut::over)
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// Its values as a volume; see [`Slice::volume`].
    ///
    /// # Errors
    ///
    /// As [`Slice::volume`].
    pub fn volume(&self, shape: VolumeShape) -> Result<Volume<'_, T>> {
        self.as_slice().volume(shape)
    }

    /// Its values as a volume, to be written; see [`SliceMut::volume_mut`].
    ///
    /// # Errors
    ///
    /// As [`Slice::volume`].
    pub fn volume_mut(&mut self, shape: VolumeShape) -> Result<VolumeMut<'_, T>> {
        self.as_slice_mut().volume_mut(shape)
    }
}
