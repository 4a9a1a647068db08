//! Copies of a mesh, ordered after earlier work on both ends.

use super::device::{enqueue, reachable_in_capture, same_length};
use crate::capture::{self, Turn};
use crate::device::same_driver;
use crate::memory::slice::Span;
use crate::memory::uses::{Access, order, order_captured};
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
        if capture::any() || from.capture().or(to.capture()).is_some() {
            self.order_among_captures(stream, &turn)?;
        } else {
            order(stream, &[(from, Access::Read), (to, Access::Write)])?;
        }
        capture::note_copy(stream, self.has_padding);
        enqueue(self.to, self.from, self.bytes, stream)?;
        from.did(stream, Access::Read);
        to.did(stream, Access::Write);
        Ok(())
    }

    /// The same while a stream is captured. A stream that is captured waits for the others of its capture
    /// that conflict; there must be no conflict outside.
    #[cold]
    fn order_among_captures(&self, stream: &Stream, turn: &Turn) -> Result<()> {
        let operands = [(self.from.allocation, Access::Read), (self.to.allocation, Access::Write)];
        let Some(capture) = turn.sequence() else {
            // Memory of a graph is refused there.
            operands.iter().filter(|(held, _)| held.capture().is_some()).try_for_each(|(held, _)| held.meet(stream))?;
            return order(stream, &operands);
        };
        if self.source() != self.destination() {
            reachable_in_capture(self.to.allocation, self.from.allocation, stream)?;
        }
        operands.iter().try_for_each(|operand| order_captured(stream, *operand))?;
        operands.iter().try_for_each(|(held, _)| capture.keep(held, stream))?;
        for other in operands.iter().flat_map(|(held, access)| capture.conflicts(held, stream, *access)) {
            stream.wait_for(&other)?;
        }
        Ok(())
    }
}
