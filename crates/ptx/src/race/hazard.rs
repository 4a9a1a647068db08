//! Hazards: data races and other mistakes that the detector reports.

use std::fmt;
use std::ops::Range;

use crate::error::Position;

/// A mistake in a kernel, even if this run gave the right result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hazard {
    /// A data race: two threads access the same bytes, at least one writes them, and nothing orders the two.
    Race {
        /// The memory of the bytes.
        space: MemorySpace,
        /// The thread that came first in this run.
        first: Actor,
        /// Its access.
        first_deed: Deed,
        /// The thread that came later.
        second: Actor,
        /// Its access.
        second_deed: Deed,
        /// The first byte that both access: an address, or an offset in the block's shared memory.
        start: u64,
        /// The number of bytes.
        bytes: u64,
        /// The number of times that these two instructions raced.
        times: u64,
    },
    /// A read of uninitialised shared memory.
    Unwritten {
        /// The thread that reads.
        reader: Actor,
        /// The offset in the block's shared memory.
        start: u64,
        /// The number of bytes.
        bytes: u64,
        /// The number of times that the instruction did so.
        times: u64,
    },
    /// An access to bytes of an asynchronous copy (`cp.async`, `cp.async.bulk`, `st.async`) in flight.
    Copying {
        /// The memory of the bytes.
        space: MemorySpace,
        /// The thread that started the copy; nothing orders the access behind the copy's end.
        copier: Actor,
        /// The access of the copy: it reads its source, and writes or changes its destination.
        copier_deed: Deed,
        /// The thread that accesses them; it writes, if they are the source.
        other: Actor,
        /// Its access.
        deed: Deed,
        /// The first byte that both access: an address, or an offset in the block's shared memory.
        start: u64,
        /// The number of bytes.
        bytes: u64,
        /// The number of times that these two instructions raced.
        times: u64,
    },
    /// A bulk copy that reads bytes which its block has written, with no proxy fence (`fence.proxy.async`)
    /// between the two.
    Unpublished {
        /// The memory of the bytes.
        space: MemorySpace,
        /// The thread that wrote them; its write is ordered before the copy.
        writer: Actor,
        /// Its access.
        writer_deed: Deed,
        /// The thread that started the copy.
        copier: Actor,
        /// The first byte: an address, or an offset in the block's shared memory.
        start: u64,
        /// The number of bytes.
        bytes: u64,
        /// The number of times that these two instructions did so.
        times: u64,
    },
    /// An access to shared memory of another block of the cluster, which may not have started or have ended.
    Absent {
        /// The thread that accesses it.
        visitor: Actor,
        /// The block that owns it.
        block: [u32; 3],
        /// The time at which the block may not exist.
        presence: Presence,
        /// The number of times that the instruction did so.
        times: u64,
    },
    /// A use after free, an out-of-bounds access or an invalid free on the kernels' heap.
    Heap {
        /// The kind of misuse.
        misuse: HeapMisuse,
        /// The thread that does so.
        actor: Actor,
        /// The addresses outside of the block; an empty range at the freed address for a free.
        bytes: Range<u64>,
        /// The heap block that they are in, or next to.
        block: Option<Range<u64>>,
        /// The thread that freed the block, if it was in this launch.
        freed_by: Option<Actor>,
        /// The number of times that the instruction did so.
        times: u64,
    },
    /// A barrier that some threads miss, or come to in another way.
    Barrier {
        /// Its number.
        barrier: u32,
        /// A thread that came.
        waits: Actor,
        /// The number of threads that came.
        waiting: u32,
        /// The behaviour of the other threads.
        divergence: Divergence,
        /// The number of times.
        times: u64,
    },
}

/// A misuse of memory on the kernels' heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeapMisuse {
    /// A use after free.
    AfterFree(Deed),
    /// An out-of-bounds access.
    Outside(Deed),
    /// A double free.
    FreedTwice,
    /// An address is freed that is no block of the heap.
    NotABlock,
}

/// The time at which a block may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presence {
    /// Nothing orders the access behind the block's start.
    NotStarted,
    /// Nothing orders the access before the block's end.
    Ended,
}

/// The behaviour of threads that do not come to a barrier as the others do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Divergence {
    /// They have ended.
    Ended {
        /// One of them.
        one: Actor,
        /// The number of threads.
        threads: u32,
    },
    /// They wait at another barrier.
    Elsewhere {
        /// One of them.
        one: Actor,
        /// The number of threads.
        threads: u32,
        /// The other barrier's number.
        barrier: u32,
    },
    /// They are of one warp, and come to the barrier by another instruction.
    Warp {
        /// One of them.
        one: Actor,
    },
    /// They give another count of threads.
    Count {
        /// One of them.
        one: Actor,
        /// The count it gives, and the count that the first gave; 0 is all.
        threads: [u32; 2],
    },
}

/// A thread at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The thread, in the block.
    pub thread: [u32; 3],
    /// The instruction: opcode and modifiers.
    pub instruction: String,
    /// Its position in the text.
    pub place: Position,
    /// File and line of the source, where the text says it.
    pub source: Option<(String, u32)>,
}

/// The memory of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Global memory.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Shared memory of a block, raced for by another block of its cluster.
    Cluster {
        /// The block that owns it.
        block: [u32; 3],
    },
}

/// A kind of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// A strong read: volatile, relaxed or stronger.
    StrongRead,
    /// A strong write.
    StrongWrite,
    /// Reads and writes at once.
    Update,
}

impl Deed {
    pub(super) fn reads(self) -> bool {
        matches!(self, Deed::Read | Deed::StrongRead | Deed::Update)
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Deed::Write | Deed::StrongWrite | Deed::Update)
    }

    pub(super) fn is_strong(self) -> bool {
        matches!(self, Deed::StrongRead | Deed::StrongWrite | Deed::Update)
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Deed::Read => "reads",
            Deed::Write => "writes",
            Deed::StrongRead => "atomically reads",
            Deed::StrongWrite => "atomically writes",
            Deed::Update => "atomically changes",
        })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Actor { block, thread, instruction, place, source } = self;
        write!(formatter, "block {block:?}, thread {thread:?}, `{instruction}` at {place}")?;
        match source {
            Some((file, line)) => write!(formatter, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}
