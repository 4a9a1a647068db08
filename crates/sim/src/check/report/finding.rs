//! Findings of checks, as data.

use std::ops::Range;

use serde::Serialize;
use warploom_sys::Function;

use super::handles::{HandleProblem, ObjectKind};
use super::kernels::{AbsentBlock, BarrierDivergence, HeapMisuse, KernelFault, KernelRace, SharedRead, UnfinishedCopy};
use crate::memory::shadow::{AllocationInfo, Operation, StreamInfo};

/// Something wrong with a program, whether or not it went wrong in this run.
///
/// A finding is data first: every part of it can be read, compared and serialised. Its `Display` is a few lines of text for
/// people; the first line says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    #[serde(flatten)]
    pub kind: FindingKind,
    /// The call in which it was found; leaks at the end of a machine have none.
    pub call: Option<u64>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// Two operations touch the same bytes, at least one writes them, and nothing orders the two.
    Race {
        /// The one that was called first.
        first: Operation,
        /// The one that was called later.
        second: Operation,
        /// What both touch.
        allocation: AllocationInfo,
        /// Which of its bytes.
        bytes: Range<u64>,
        /// What would order them.
        missing: MissingWait,
    },
    /// Memory is used after it was freed, or nothing orders the use before the free.
    UseAfterFree {
        /// The use.
        user: Operation,
        /// The free.
        free: Operation,
        /// What was freed.
        allocation: AllocationInfo,
        /// Which of its bytes are used.
        bytes: Range<u64>,
        /// What would order the use before the free; none if the use was called after it.
        missing: Option<MissingWait>,
    },
    /// Memory allocated in one stream's order is used or freed in another that has not waited for it.
    UseBeforeAllocation {
        /// The use, or the free.
        user: Operation,
        /// What is used; it knows its own allocation.
        allocation: AllocationInfo,
        /// Which of its bytes.
        bytes: Range<u64>,
        /// What would order the allocation before the use.
        missing: MissingWait,
    },
    /// Memory is freed twice.
    DoubleFree {
        /// The second free.
        second: Operation,
        /// The first.
        first: Operation,
        /// What was freed.
        allocation: AllocationInfo,
    },
    /// Memory is freed by a function that is not for its kind of memory.
    WrongFree {
        /// The call.
        free: Operation,
        /// What it tried to free.
        allocation: AllocationInfo,
        /// The function that frees it.
        #[serde(serialize_with = "as_name")]
        right: Function,
    },
    /// What is freed is not the start of an allocation.
    InvalidFree {
        /// The call.
        free: Operation,
        /// What it was given.
        address: u64,
        /// The allocation that the address is in, if it is in one.
        inside: Option<AllocationInfo>,
    },
    /// An operation reaches beyond an allocation.
    OutOfBounds {
        /// The operation.
        user: Operation,
        /// The allocation, or the nearest one.
        allocation: AllocationInfo,
        /// From where to where it wanted to go, as offsets from the start of the allocation.
        wanted: Range<i64>,
        /// How many of these bytes are outside.
        outside: u64,
    },
    /// An operation names memory that is not near any allocation.
    WildPointer {
        /// The operation.
        user: Operation,
        /// Where.
        address: u64,
        /// How much.
        bytes: u64,
    },
    /// A kernel stopped before its end.
    KernelFault {
        /// The launch.
        user: Operation,
        /// What happened, where, and to whom.
        fault: Box<KernelFault>,
    },
    /// Two threads of a kernel touch the same bytes, at least one writes them, and nothing orders the two.
    KernelRace {
        /// The launch.
        user: Operation,
        /// Who they are, and what they touch.
        race: Box<KernelRace>,
    },
    /// A thread of a kernel reads shared memory that nobody has written.
    UninitialisedShared {
        /// The launch.
        user: Operation,
        /// Who reads what.
        read: Box<SharedRead>,
    },
    /// A thread of a kernel touches bytes that a copy beside the threads is under way to, or from.
    UnfinishedCopy {
        /// The launch.
        user: Operation,
        /// Who copies, and who touches what.
        copy: Box<UnfinishedCopy>,
    },
    /// A thread of a kernel accesses shared memory of another block of its cluster, which may not be there.
    AbsentBlock {
        /// The launch.
        user: Operation,
        /// Who accesses whose memory.
        visit: Box<AbsentBlock>,
    },
    /// A thread of a kernel uses memory of the kernels' heap outside of its life or its bounds, or frees what it cannot.
    HeapMisuse {
        /// The launch.
        user: Operation,
        /// Who does what to which memory.
        misuse: Box<HeapMisuse>,
    },
    /// Not all threads that a barrier of a kernel is for come to it, or not in the same way.
    BarrierDivergence {
        /// The launch.
        user: Operation,
        /// Who comes, and what the others do.
        barrier: Box<BarrierDivergence>,
    },
    /// Bytes that nobody has written go where the host can read them, are read by a kernel, or decide something.
    UninitialisedRead {
        /// The operation that reads them.
        user: Operation,
        /// Where they are.
        allocation: AllocationInfo,
        /// The first stretch of them.
        bytes: Range<u64>,
        /// How many of the bytes that are read nobody has written.
        total: u64,
        /// They had been written, and were discarded.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        discarded: bool,
    },
    /// A call was given a handle that it cannot use.
    HandleMisuse {
        /// The call.
        user: Operation,
        /// The handle, as a number.
        handle: u64,
        /// What the call needs.
        wanted: ObjectKind,
        /// What the handle is instead.
        problem: HandleProblem,
        /// The call that destroyed it, if it is remembered.
        destroyed: Option<Operation>,
    },
    /// Something was made and never destroyed.
    Leak {
        /// What.
        what: Leaked,
        /// Where it was made.
        made: Operation,
        /// What ended without it.
        end: End,
    },
}

/// What would order two operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingWait {
    /// A stream has to wait for another.
    StreamAfterStream {
        /// The one that has to be waited for.
        first: StreamInfo,
        /// The one that has to wait.
        second: StreamInfo,
    },
    /// The host has to wait for a stream.
    HostAfterStream {
        /// The stream.
        first: StreamInfo,
    },
    /// The host has to be done before it enqueues work, or has to wait for the work before it goes on.
    StreamAfterHost {
        /// The stream.
        second: StreamInfo,
    },
    /// Two copies of one batch touch the same bytes; a batch has no order.
    SeparateCalls,
    /// A host thread has to wait for another, and to say so.
    HostAfterHost,
}

/// What was not destroyed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Leaked {
    /// Memory.
    Memory(AllocationInfo),
    /// Something with a handle.
    Object {
        /// What it is.
        kind: ObjectKind,
        /// Its handle.
        handle: u64,
    },
    /// A stretch of reserved addresses.
    Reservation {
        /// Where it starts.
        address: u64,
        /// How long it is.
        bytes: u64,
    },
}

/// What ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The context in which it was made.
    Context,
    /// The machine.
    Machine,
}

fn as_name<S: serde::Serializer>(function: &Function, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(function.name())
}
