//! Findings of checks, as data.

use std::ops::Range;

use serde::Serialize;
use warploom_sys::Function;

use super::handles::{HandleProblem, ObjectKind};
use super::kernels::{AbsentBlock, BarrierDivergence, HeapMisuse, KernelFault, KernelRace, SharedRead, UnfinishedCopy};
use crate::memory::shadow::{AllocationInfo, Operation, StreamInfo};

/// An error in a program, even if this run was right by luck.
///
/// A finding is data first: every part of it can be read, compared and serialised. Its `Display` is a few
/// lines of text for people; the first line names the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of error.
    #[serde(flatten)]
    pub kind: FindingKind,
    /// The call in which it was found; leaks at the end of a machine have none.
    pub call: Option<u64>,
}

/// The kind of error.
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
        /// The allocation that both touch.
        allocation: AllocationInfo,
        /// The bytes of it that both use.
        bytes: Range<u64>,
        /// The wait that would order them.
        missing: MissingWait,
    },
    /// Memory is used after it was freed, or nothing orders the use before the free.
    UseAfterFree {
        /// The use.
        user: Operation,
        /// The free.
        free: Operation,
        /// The allocation that was freed.
        allocation: AllocationInfo,
        /// The bytes of it that are used.
        bytes: Range<u64>,
        /// The wait that would order the use before the free; none if the use was called after it.
        missing: Option<MissingWait>,
    },
    /// Memory allocated in one stream's order is used or freed in another that has not waited for it.
    UseBeforeAllocation {
        /// The use, or the free.
        user: Operation,
        /// The allocation that is used; it names the call that made it.
        allocation: AllocationInfo,
        /// The bytes of it that are used.
        bytes: Range<u64>,
        /// The wait that would order the allocation before the use.
        missing: MissingWait,
    },
    /// Memory is freed twice.
    DoubleFree {
        /// The second free.
        second: Operation,
        /// The first.
        first: Operation,
        /// The allocation that was freed.
        allocation: AllocationInfo,
    },
    /// Memory is freed by a function that is not for its kind of memory.
    WrongFree {
        /// The call.
        free: Operation,
        /// The allocation that it tried to free.
        allocation: AllocationInfo,
        /// The function that frees it.
        #[serde(serialize_with = "as_name")]
        right: Function,
    },
    /// The freed address is not the start of an allocation.
    InvalidFree {
        /// The call.
        free: Operation,
        /// The address that it was given.
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
        /// The requested bytes, as offsets from the start of the allocation.
        wanted: Range<i64>,
        /// Number of these bytes that are outside.
        outside: u64,
    },
    /// An operation names memory that is not near any allocation.
    WildPointer {
        /// The operation.
        user: Operation,
        /// Its first address.
        address: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// A kernel stopped before its end.
    KernelFault {
        /// The launch.
        user: Operation,
        /// The fault and its thread.
        fault: Box<KernelFault>,
    },
    /// Two threads of a kernel touch the same bytes, at least one writes them, and nothing orders the two.
    KernelRace {
        /// The launch.
        user: Operation,
        /// The two threads, and the memory that they touch.
        race: Box<KernelRace>,
    },
    /// A thread of a kernel reads uninitialised shared memory.
    UninitialisedShared {
        /// The launch.
        user: Operation,
        /// The thread and the bytes.
        read: Box<SharedRead>,
    },
    /// A thread of a kernel touches bytes that a copy beside the threads is under way to, or from.
    UnfinishedCopy {
        /// The launch.
        user: Operation,
        /// The copy, and the thread that touches its bytes.
        copy: Box<UnfinishedCopy>,
    },
    /// A thread of a kernel accesses shared memory of another block of its cluster, which may not be there.
    AbsentBlock {
        /// The launch.
        user: Operation,
        /// The thread, and the block whose memory it accesses.
        visit: Box<AbsentBlock>,
    },
    /// A thread of a kernel uses memory of the kernels' heap after its free or out of bounds, or frees it
    /// wrongly.
    HeapMisuse {
        /// The launch.
        user: Operation,
        /// The thread, the access and the memory.
        misuse: Box<HeapMisuse>,
    },
    /// Not all threads that a barrier of a kernel is for come to it, or not in the same way.
    BarrierDivergence {
        /// The launch.
        user: Operation,
        /// A thread that waits, and one that does not.
        barrier: Box<BarrierDivergence>,
    },
    /// Uninitialised bytes are copied to where the host can read them, read by a kernel, or waited for.
    UninitialisedRead {
        /// The operation that reads them.
        user: Operation,
        /// The allocation that is read.
        allocation: AllocationInfo,
        /// The first stretch of them.
        bytes: Range<u64>,
        /// The number of uninitialised bytes among those that are read.
        total: u64,
        /// They had been written, and were discarded.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        discarded: bool,
    },
    /// Two threads use a graph, one of them changes it, and nothing orders the two. The driver does not lock
    /// graphs.
    GraphRace {
        /// The number of the graph that `cuGraphGetId` shows.
        graph: u32,
        /// The call that changes it.
        first: Operation,
        /// The call of another thread.
        second: Operation,
    },
    /// A call was given a handle that it cannot use.
    HandleMisuse {
        /// The call.
        user: Operation,
        /// The handle, as a number.
        handle: u64,
        /// The kind of object that the call needs.
        wanted: ObjectKind,
        /// The problem with the handle.
        problem: HandleProblem,
        /// The call that destroyed it, if it is remembered.
        destroyed: Option<Operation>,
    },
    /// Memory was never freed, or an object never destroyed.
    Leak {
        /// The memory or the object.
        what: Leaked,
        /// The call that created it.
        made: Operation,
        /// The owner that was destroyed before it.
        end: LeakOwner,
    },
}

/// The wait that would order two operations.
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
    /// This process has to wait for another one.
    ProcessAfterProcess {
        /// The number of the other process.
        first: u32,
    },
    /// Two copies of one batch touch the same bytes; a batch has no order.
    SeparateCalls,
    /// The two are nodes of one launch of a graph: an edge between them, or a path.
    GraphEdge {
        /// The number of the first node in its graph.
        from: u32,
        /// The number of the second node.
        to: u32,
    },
    /// A host thread has to wait for another, and to say so.
    HostAfterHost,
}

/// Memory or an object that was not given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Leaked {
    /// Memory.
    Memory(AllocationInfo),
    /// An object with a handle.
    Object {
        /// Its kind.
        kind: ObjectKind,
        /// Its handle.
        handle: u64,
    },
    /// A stretch of reserved addresses.
    Reservation {
        /// First address.
        address: u64,
        /// Size in bytes.
        bytes: u64,
    },
}

/// The owner of leaked memory or of a leaked object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeakOwner {
    /// The context in which it was created, which was destroyed first.
    Context,
    /// The machine, which ended first.
    Machine,
}

fn as_name<S: serde::Serializer>(function: &Function, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(function.name())
}
