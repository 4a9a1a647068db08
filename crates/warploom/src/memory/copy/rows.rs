//! Copies of rows between device memory.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use std::ptr::null_mut;

use warploom_driver::sys::types::CUDA_MEMCPY2D;

use super::planes::{self, Endpoint, Planes, enqueue_between};
use crate::memory::rows::{Grid, Rows, RowsMut};
use crate::memory::slice::Span;
use crate::{CopyError, DeviceCopy, Queue, Result, Stream, capture};

impl Endpoint {
    /// Rows of an allocation.
    pub(super) fn of<T>(grid: &Grid<'_>) -> Endpoint {
        Endpoint::at(grid.allocation(), grid.address(), grid.pitch() * size_of::<T>())
    }
}

/// As many rows as `grid` has, from one end to the other.
pub(super) fn descriptor<T>(to: Endpoint, from: Endpoint, grid: &Grid<'_>) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from.memory,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to.memory,
        dstHost: to.host,
        dstDevice: to.device,
        dstArray: null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: grid.width() * size_of::<T>(),
        Height: grid.height(),
    }
}

impl<T: DeviceCopy> Rows<'_, T> {
    /// Copies everything to rows of the same number and width elsewhere, which may be on another device, in
    /// the order of `queue`. The pitches may differ.
    ///
    /// # Errors
    ///
    /// [`CopyError::ShapeMismatch`] if number or width differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to the context of
    /// neither, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if they belong to
    /// different drivers, and the driver's error: `CUDA_ERROR_INVALID_VALUE` for a pitch beyond the device's
    /// `MAX_PITCH`, which is 2 GiB on all there are.
    #[doc(alias = "cuMemcpy2DAsync")]
    #[doc(alias = "cuMemcpy3DPeerAsync")]
    pub fn copy_to(self, destination: RowsMut<'_, T>, queue: &impl Queue) -> Result<()> {
        let (to, from) = (destination.grid, self.grid);
        if (to.width(), to.height()) != (from.width(), from.height()) {
            let (source, destination) = ((from.width(), from.height()), (to.width(), to.height()));
            return Err(CopyError::ShapeMismatch { source_shape: source, destination_shape: destination }.into());
        }
        let (stream, is_empty) = (queue.stream(), from.values() == 0);
        planes::copy(to.allocation(), from.allocation(), is_empty, stream, || enqueue::<T>(&to, &from, stream))
    }
}

impl<T: DeviceCopy> RowsMut<'_, T> {
    /// Copies from rows of the same number and width elsewhere; see [`Rows::copy_to`].
    ///
    /// # Errors
    ///
    /// As [`Rows::copy_to`].
    pub fn copy_from<'s>(self, source: impl Into<Rows<'s, T>>, queue: &impl Queue) -> Result<()> {
        source.into().copy_to(self, queue)
    }
}

/// Copies a checked range that is not empty, of memory that the stream may use.
pub(in crate::memory) fn copy_as_row(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream) -> Result<()> {
    let (to, from) = (Grid::of_bytes(to, bytes), Grid::of_bytes(from, bytes));
    enqueue::<u8>(&to, &from, stream)
}

/// Enqueues a checked copy that is not empty, of memory that the stream may use.
fn enqueue<T: DeviceCopy>(to: &Grid<'_>, from: &Grid<'_>, stream: &Stream) -> Result<()> {
    capture::note_copy(stream, T::HAS_PADDING);
    let (source, destination) = (from.allocation().context(), to.allocation().context());
    let (to, from, grid) = (Endpoint::of::<T>(to), Endpoint::of::<T>(from), from);
    if source == destination {
        let copy = descriptor::<T>(to, from, grid);
        // SAFETY: both have these rows, and are there in the order of the stream, which is alive. They do not
        // overlap: rows that can be written share no byte with others.
        return stream.enqueue(|raw| unsafe { source.driver().cuMemcpy2DAsync_v2(&raw const copy, raw) });
    }
    let (width, height) = (grid.width() * size_of::<T>(), grid.height());
    let plane = |rows| Planes { rows, height };
    let copy = planes::descriptor(plane(to), plane(from), (width, height, 1));
    // SAFETY: as above; each end belongs to its context.
    unsafe { enqueue_between(&copy, destination, source, stream) }
}
