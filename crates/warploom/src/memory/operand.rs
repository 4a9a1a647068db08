//! Operands: memory that collectives and other modules read or write.

use std::fmt;

#[cfg(feature = "nccl")]
use warploom_driver::sys::types::CUdeviceptr;

use super::slice::Span;
use super::uses::Access;
#[cfg(feature = "nccl")]
use crate::SliceMut;
use crate::device::same_driver;
use crate::{AccessLayer, Context, DeviceCopy, PeerError, Result, Slice, Stream};

/// A range of memory, and the kind of access.
pub struct Operand<'a> {
    span: Span<'a>,
    access: Access,
}

impl<'a> Operand<'a> {
    #[inline]
    pub(crate) fn read<T: DeviceCopy>(slice: Slice<'a, T>) -> Operand<'a> {
        Operand { span: slice.span, access: Access::Read }
    }

    /// As before, and written, too.
    #[inline]
    pub(crate) fn and_written(self) -> Operand<'a> {
        Operand { access: Access::Write, ..self }
    }

    #[cfg(feature = "nccl")]
    pub(crate) fn written<T: DeviceCopy>(slice: SliceMut<'a, T>) -> Operand<'a> {
        Operand { span: slice.span, access: Access::Write }
    }

    #[inline]
    pub(crate) fn context(&self) -> &'a Context {
        self.span.allocation.context()
    }

    #[cfg(feature = "nccl")]
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.span.address
    }

    /// `true` if the stream is the memory's own, and no other has met it: then the stream may use it.
    #[inline]
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        self.span.allocation.is_at_home(stream)
    }

    /// Refuses memory of another context that the stream's device has no access to, as far as that can be
    /// known: drivers do not report peer access between contexts.
    pub(crate) fn reach(&self, stream: &Stream) -> Result<()> {
        same_driver(self.context().driver(), stream.driver())?;
        self.context().check_generation()?;
        let (from, to) = (stream.device(), self.context().device());
        let is_closed =
            self.span.allocation.is_device() && from != to && self.span.allocation.is_open_to(from)? == Some(false);
        if is_closed {
            let (from, to) = (from.ordinal(), to.ordinal());
            return Err(PeerError::NotEnabled { from, to, layer: AccessLayer::Pool }.into());
        }
        Ok(())
    }

    /// Lets a stream use the memory; called before anything is enqueued.
    #[inline]
    pub(crate) fn meet(&self, stream: &Stream) -> Result<()> {
        self.span.allocation.meet(stream)
    }

    /// `true` if its accesses are counted, by [`Operand::did`].
    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.span.allocation.uses().is_counted()
    }

    /// Records the access that was enqueued.
    #[inline]
    pub(crate) fn did(&self, stream: &Stream) {
        self.span.allocation.did(stream, self.access);
    }
}

impl fmt::Debug for Operand<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.span.address);
        formatter.debug_struct("Operand").field("address", &address).field("access", &self.access).finish()
    }
}
