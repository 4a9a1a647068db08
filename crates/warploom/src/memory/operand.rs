//! Memory that work of other parts of the crate reads or writes.

use warploom_driver::sys::types::CUdeviceptr;

use super::slice::Span;
use super::uses::Access;
use crate::{Context, DeviceCopy, Result, Slice, SliceMut, Stream};

/// A stretch of memory, and what is done with it.
pub(crate) struct Operand<'a> {
    span: Span<'a>,
    access: Access,
}

impl<'a> Operand<'a> {
    pub(crate) fn read<T: DeviceCopy>(slice: Slice<'a, T>) -> Operand<'a> {
        Operand { span: slice.span, access: Access::Read }
    }

    pub(crate) fn written<T: DeviceCopy>(slice: SliceMut<'a, T>) -> Operand<'a> {
        Operand { span: slice.span, access: Access::Write }
    }

    pub(crate) fn context(&self) -> &'a Context {
        self.span.allocation.context()
    }

    pub(crate) fn address(&self) -> CUdeviceptr {
        self.span.address
    }

    /// Lets a stream use the memory; comes before whatever is enqueued.
    pub(crate) fn meet(&self, stream: &Stream) -> Result<()> {
        self.span.allocation.meet(stream)
    }

    /// Takes note of what was enqueued.
    pub(crate) fn did(&self, stream: &Stream) {
        self.span.allocation.did(stream, self.access);
    }
}
