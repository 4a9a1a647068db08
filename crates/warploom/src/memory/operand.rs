//! Operands: memory that collectives, graphs and other modules read or write.

use std::fmt;

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation::Allocation;
use super::allocation_ref::AllocationRef;
use super::rows::{Rows, RowsMut};
use super::slice::Span;
use super::uses::Access;
use crate::device::same_driver;
use crate::{AccessLayer, CaptureError, Context, DeviceCopy, PeerError, Result, Slice, SliceMut, Stream, capture};

/// Kinds of memory, as a copy is told them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    Host,
    Device,
    /// The driver finds out.
    Unified,
}

/// A range of memory, and the kind of access.
#[derive(Clone, Copy)]
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

    #[inline]
    pub(crate) fn written<T: DeviceCopy>(slice: SliceMut<'a, T>) -> Operand<'a> {
        Operand { span: slice.span, access: Access::Write }
    }

    #[inline]
    pub(crate) fn context(&self) -> &'a Context {
        self.span.allocation.context()
    }

    pub(crate) fn address(&self) -> CUdeviceptr {
        self.span.address
    }

    /// `true` if the stream is the memory's own, and no other has met it: then the stream may use it.
    #[inline]
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        self.span.allocation.is_at_home(stream)
    }

    /// Refuses memory of another context that a context's device has no access to, as far as that can be
    /// known: drivers do not report peer access between contexts.
    pub(crate) fn reach(&self, context: &Context) -> Result<()> {
        reach(self.span.allocation, context)
    }

    /// The allocation, for a graph to keep, if nodes in the context can use it.
    pub(crate) fn retain(&self, context: &Context) -> Result<(AllocationRef, Access)> {
        context.check_generation()?;
        self.use_in_graph(context).map(|(allocation, access)| (allocation.clone(), access))
    }

    /// The allocation and how it is used, if nodes of a graph in the context, which was not reset, can use it.
    #[inline]
    pub(crate) fn use_in_graph(&self, context: &Context) -> Result<(&'a AllocationRef, Access)> {
        let allocation = self.span.allocation;
        if allocation.context() != context {
            enter(allocation, context)?;
        }
        if allocation.capture().is_some() {
            return Err(CaptureError::GraphMemory.into());
        }
        Ok((allocation, self.access))
    }

    /// The kind of memory.
    pub(crate) fn kind(&self) -> OperandKind {
        match self.span.allocation {
            pinned if pinned.is_pinned() => OperandKind::Host,
            device if device.is_device() => OperandKind::Device,
            _ => OperandKind::Unified,
        }
    }

    /// Rows to be read.
    pub(crate) fn rows<T: DeviceCopy>(rows: Rows<'a, T>) -> Operand<'a> {
        Operand { span: rows.grid.span(), access: Access::Read }
    }

    /// Rows to be written.
    pub(crate) fn rows_mut<T: DeviceCopy>(rows: RowsMut<'a, T>) -> Operand<'a> {
        Operand { span: rows.grid.span(), access: Access::Write }
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

    /// Records that a stream which has met the memory uses it by calls that other code makes.
    pub(super) fn declare_use(&self, stream: &Stream) {
        self.did(stream);
        if capture::any() {
            capture::declare_use(self.span.allocation, stream);
        }
    }

    /// Records the access that was enqueued.
    #[inline]
    pub(crate) fn did(&self, stream: &Stream) {
        self.span.allocation.did(stream, self.access);
    }
}

/// As [`Operand::reach`]. Of the allocation alone, so that an operand stays in registers.
pub(super) fn reach(allocation: &Allocation, context: &Context) -> Result<()> {
    same_driver(allocation.context().driver(), context.driver())?;
    allocation.context().check_generation()?;
    let (from, to) = (context.device(), allocation.context().device());
    if allocation.is_device() && from != to && allocation.is_open_to(from)? == Some(false) {
        let (from, to) = (from.ordinal(), to.ordinal());
        return Err(PeerError::NotEnabled { from, to, layer: AccessLayer::Pool }.into());
    }
    Ok(())
}

/// Has nodes in another context than the allocation's use it.
#[cold]
fn enter(allocation: &AllocationRef, context: &Context) -> Result<()> {
    reach(allocation, context)?;
    allocation.note_accessor(context.device());
    Ok(())
}

impl fmt::Debug for Operand<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.span.address);
        formatter.debug_struct("Operand").field("address", &address).field("access", &self.access).finish()
    }
}
