//! Copies of a mesh, ordered after earlier work on both ends.

use super::device::{enqueue, reachable_in_capture, same_length};
use crate::capture;
use crate::device::same_driver;
use crate::memory::hold_back::wait_for_conflicts;
use crate::memory::slice::Span;
use crate::memory::uses::Access;
use crate::{Context, CopyError, Device, DeviceCopy, Result, Slice, SliceMut, Stream};

/// Both ends of a copy.
pub(crate) struct Transfer<'a> {
    from: Span<'a>,
    to: Span<'a>,
    bytes: usize,
    /// `true` if the values have padding.
    has_padding: bool,
}

impl<'a> Transfer<'a> {
    /// Of all values of one slice to another.
    #[inline]
    pub(crate) fn new<T: DeviceCopy>(from: Slice<'a, T>, to: SliceMut<'a, T>) -> Result<Transfer<'a>> {
        same_length(from.len(), to.len())?;
        Ok(Transfer { bytes: from.size_in_bytes(), from: from.span, to: to.span, has_padding: T::HAS_PADDING })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The context of the memory that is read.
    #[inline]
    pub(crate) fn source(&self) -> &'a Context {
        self.from.allocation.context()
    }

    /// The context of the memory that is written.
    #[inline]
    pub(crate) fn destination(&self) -> &'a Context {
        self.to.allocation.context()
    }

    /// `true` if the memory that is read may be used by another device; `None` if that is a matter of
    /// contexts.
    pub(crate) fn source_is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        self.from.allocation.is_open_to(device)
    }

    /// `true` if the memory that is written may be used by another device; `None` if that is a matter of
    /// contexts.
    pub(crate) fn destination_is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        self.to.allocation.is_open_to(device)
    }

    /// Refuses ends of different drivers, ends whose context is over, a stream that works in the context of
    /// neither, and ends that overlap. No driver call.
    #[inline]
    pub(crate) fn check(&self, stream: &Stream) -> Result<()> {
        let (from, to, on) = (self.source(), self.destination(), stream.context());
        if from != to {
            same_driver(from.driver(), to.driver())?;
            to.check_generation()?;
        }
        from.check_generation()?;
        if on != to && on != from {
            same_driver(from.driver(), on.driver())?;
            on.check_generation()?;
            let ordinal = |context: &Context| context.device().ordinal();
            return Err(CopyError::StreamMismatch { stream: ordinal(on), from: ordinal(from), to: ordinal(to) }.into());
        }
        // Only memory that somebody vouched for can be borrowed twice; what lies in it is compared by
        // address.
        if self.from.address.abs_diff(self.to.address) < self.bytes as u64 {
            return Err(CopyError::Overlap { from: self.from.address, to: self.to.address, bytes: self.bytes }.into());
        }
        Ok(())
    }

    /// Enqueues the copy after all work of other streams that it conflicts with, and has later work of this
    /// kind wait for it. It was checked, and is not empty.
    #[inline]
    pub(crate) fn enqueue(&self, stream: &Stream) -> Result<()> {
        let (from, to, turn) = (self.from.allocation, self.to.allocation, stream.turn());
        if self.source() != self.destination() && stream.is_captured() {
            reachable_in_capture(to, from, stream)?;
        }
        wait_for_conflicts(stream, &turn, &[(from, Access::Read), (to, Access::Write)])?;
        capture::note_copy(stream, self.has_padding);
        enqueue(self.to, self.from, self.bytes, stream)?;
        from.did(stream, Access::Read);
        to.did(stream, Access::Write);
        Ok(())
    }
}
