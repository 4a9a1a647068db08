//! One operation of one rank: checked when it is made, enqueued later.
//!
//! Until NCCL has been called, or the group that it is in has ended, an operation borrows its communicator,
//! its stream and its memory. Before the call, the stream meets every allocation, so that none goes before
//! the stream is done with it; then the borrow may end, as with any other work.
#![expect(unsafe_code, reason = "calls NCCL")]

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use warploom_driver::sys::types::CUdeviceptr;

use super::join::accepted;
use super::ledger::{Kind, Task};
use super::raw::ncclResult_t;
use super::{Communicator, NcclError};
use crate::device::same_driver;
use crate::memory::Operand;
use crate::{Context, Result, Stream};

/// An operation of a rank.
pub(super) struct Operation<'a> {
    communicator: &'a Communicator,
    stream: &'a Stream,
    memory: Memory<'a>,
    task: Task,
}

/// The memory of an operation. An operation in place has one range for both.
pub(super) struct Memory<'a> {
    pub(super) operands: [Option<Operand<'a>>; 2],
    /// The address of the source; 0 without one.
    pub(super) send: CUdeviceptr,
    /// The address of the destination; 0 without one.
    pub(super) receive: CUdeviceptr,
}

impl<'a> Memory<'a> {
    pub(super) fn apart(send: Option<Operand<'a>>, receive: Option<Operand<'a>>) -> Memory<'a> {
        let at = |operand: &Option<Operand<'_>>| operand.as_ref().map_or(0, Operand::address);
        Memory { send: at(&send), receive: at(&receive), operands: [send, receive] }
    }

    pub(super) fn in_place(whole: Operand<'a>) -> Memory<'a> {
        let at = whole.address();
        Memory { send: at, receive: at, operands: [Some(whole), None] }
    }
}

impl<'a> Operation<'a> {
    /// An operation whose lengths and ranks have been checked.
    pub(super) fn new(
        communicator: &'a Communicator,
        stream: &'a Stream,
        memory: Memory<'a>,
        task: Task,
    ) -> Result<Operation<'a>> {
        communicator.is_usable()?;
        if stream.is_default() {
            return Err(NcclError::DefaultStream.into());
        }
        belongs(communicator.context(), "stream", stream.context())?;
        for operand in memory.operands.iter().flatten() {
            belongs(communicator.context(), "memory", operand.context())?;
        }
        Ok(Operation { communicator, stream, memory, task })
    }

    pub(super) fn communicator(&self) -> &Communicator {
        self.communicator
    }

    /// Calls NCCL for this one alone.
    pub(super) fn issue(self) -> Result<()> {
        issue(&[self], |operations| operations.iter().try_for_each(Operation::call))
    }

    /// Calls NCCL.
    pub(super) fn call(&self) -> Result<()> {
        let (function, code) = self.enqueue();
        // SAFETY: the communicator is borrowed, and so alive.
        let code = unsafe { self.communicator.nccl().outcome(self.communicator.as_raw(), code) };
        self.communicator.nccl().answer(function, code)
    }

    /// Calls NCCL inside of a group, at whose end the result is known.
    pub(super) fn call_in_group(&self) -> Result<()> {
        let (function, code) = self.enqueue();
        accepted(code).map_or(Ok(()), |code| self.communicator.nccl().answer(function, code))
    }

    fn enqueue(&self) -> (&'static str, ncclResult_t) {
        let Task { kind, count, of } = self.task;
        let send = with_exposed_provenance(self.memory.send as usize);
        let receive = with_exposed_provenance_mut(self.memory.receive as usize);
        let (comm, stream, table) =
            (self.communicator.as_raw(), self.stream.as_raw(), self.communicator.nccl().table());
        // SAFETY: the communicator and the stream are borrowed, and so alive, and belong to one context,
        // which is current or which NCCL makes current. There are as many values of the type as the call
        // reads and writes, as the constructor has checked, in memory that the stream has met. What is
        // written overlaps with nothing that others name, since it is borrowed for that, and with what is
        // sent only where NCCL has a form in place. Ranks were checked to be numbers of NCCL's.
        unsafe {
            match kind {
                Kind::Broadcast { root } => {
                    ("ncclBroadcast", (table.ncclBroadcast)(send, receive, count, of, number(root), comm, stream))
                }
                Kind::AllReduce(reduction) => {
                    ("ncclAllReduce", (table.ncclAllReduce)(send, receive, count, of, reduction.to_raw(), comm, stream))
                }
                Kind::Reduce(reduction, root) => {
                    let (reduction, root) = (reduction.to_raw(), number(root));
                    ("ncclReduce", (table.ncclReduce)(send, receive, count, of, reduction, root, comm, stream))
                }
                Kind::AllGather => ("ncclAllGather", (table.ncclAllGather)(send, receive, count, of, comm, stream)),
                Kind::ReduceScatter(reduction) => {
                    let reduction = reduction.to_raw();
                    ("ncclReduceScatter", (table.ncclReduceScatter)(send, receive, count, of, reduction, comm, stream))
                }
                Kind::Send { peer } => ("ncclSend", (table.ncclSend)(send, count, of, number(peer), comm, stream)),
                Kind::Receive { peer } => {
                    ("ncclRecv", (table.ncclRecv)(receive, count, of, number(peer), comm, stream))
                }
            }
        }
    }
}

/// Lets streams meet the memory of operations, calls NCCL, and records the accesses.
pub(super) fn issue<'o, 'a>(
    operations: &'o [Operation<'a>],
    call: impl FnOnce(&'o [Operation<'a>]) -> Result<()>,
) -> Result<()> {
    let [first, ..] = operations else { return Ok(()) };
    for Operation { communicator, stream, memory, .. } in operations {
        communicator.is_usable()?;
        stream.refuse_captured("a collective operation")?;
        memory.operands.iter().flatten().try_for_each(|operand| operand.meet(stream))?;
    }
    // NCCL asks which device is current to put it back, and where none is, it would leave the first.
    let _current = first.communicator.context().current()?;
    let break_down = || operations.iter().for_each(|operation| operation.communicator.break_down());
    for (index, Operation { communicator, stream, task, .. }) in operations.iter().enumerate() {
        communicator.note(*task).inspect_err(|_| {
            // The others of a group have been noted, and are not going to be done.
            if index > 0 {
                break_down();
            }
        })?;
        communicator.remember(stream);
    }
    let called = call(operations).inspect_err(|_| break_down());
    // After a failed call, some operations may have been enqueued.
    for Operation { stream, memory, .. } in operations {
        memory.operands.iter().flatten().for_each(|operand| operand.did(stream));
    }
    called
}

/// Refuses streams and memory of another context.
fn belongs(communicator: &Context, what: &'static str, context: &Context) -> Result<()> {
    if context == communicator {
        return Ok(());
    }
    same_driver(communicator.driver(), context.driver())?;
    let (device, communicator) = (context.device().ordinal(), communicator.device().ordinal());
    Err(NcclError::OtherContext { what, device, communicator }.into())
}

/// A rank, as NCCL has it.
fn number(rank: u32) -> i32 {
    rank.cast_signed()
}
