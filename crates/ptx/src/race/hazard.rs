//! Hazards: data races and other mistakes that the detector reports.

use std::fmt;
use std::ops::Range;

use crate::error::Place;

/// A mistake in a kernel, even if this run gave the right result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hazard {
    /// Two threads touch the same bytes, at least one writes them, and nothing orders the two.
    Race {
        /// Where the bytes are.
        space: MemorySpace,
        /// The thread that came first in this run.
        first: Actor,
        /// Its access.
        first_deed: Deed,
        /// The thread that came later.
        second: Actor,
        /// Its access.
        second_deed: Deed,
        /// The first byte that both touch: an address, or how far into the block's shared memory.
        start: u64,
        /// How many there are.
        bytes: u64,
        /// How often these two instructions met so.
        times: u64,
    },
    /// Shared memory is read that no thread of the block has written.
    Unwritten {
        /// The thread that reads.
        reader: Actor,
        /// How far into the block's shared memory.
        start: u64,
        /// How many bytes.
        bytes: u64,
        /// How often the instruction did so.
        times: u64,
    },
    /// Bytes are touched that a copy beside the threads (`cp.async`) is under way to, or from.
    Copying {
        /// Where the bytes are: the destination is shared memory, the source is global.
        space: MemorySpace,
        /// The thread that started the copy and has not waited for it.
        copier: Actor,
        /// The thread that accesses them; it writes, if they are the source.
        other: Actor,
        /// Its access.
        deed: Deed,
        /// The first byte that both touch: an address, or how far into the block's shared memory.
        start: u64,
        /// How many there are.
        bytes: u64,
        /// How often these two instructions met so.
        times: u64,
    },
    /// Shared memory of another block of the cluster is accessed, and nothing makes sure that the block is
    /// there.
    Absent {
        /// The thread that accesses it.
        visitor: Actor,
        /// Whose it is.
        block: [u32; 3],
        /// When the block may not be there.
        presence: Presence,
        /// How often the instruction did so.
        times: u64,
    },
    /// Memory of the kernels' heap is used outside of its life or its bounds, or freed when it cannot be.
    Heap {
        /// The kind of misuse.
        misuse: HeapMisuse,
        /// The thread that does so.
        actor: Actor,
        /// The bytes that are not the block's, by their addresses; none for a free, which is given where they
        /// start.
        bytes: Range<u64>,
        /// The block that they are in, or are near to.
        block: Option<Range<u64>>,
        /// The thread that freed the block, if it was in this launch.
        freed_by: Option<Actor>,
        /// How often the instruction did so.
        times: u64,
    },
    /// Not all that a barrier is for come to it, or not in the same way.
    Barrier {
        /// Its number.
        barrier: u32,
        /// A thread that came.
        waits: Actor,
        /// How many came.
        waiting: u32,
        /// The behaviour of the other threads.
        divergence: Divergence,
        /// How often.
        times: u64,
    },
}

/// A misuse of memory on the kernels' heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeapMisuse {
    /// It is touched after it was freed.
    AfterFree(Deed),
    /// It is touched beside the block.
    Outside(Deed),
    /// It is freed when it was freed already.
    FreedTwice,
    /// An address is freed that is no block of the heap.
    NotABlock,
}

/// When a block may not be there.
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
        /// How many.
        threads: u32,
    },
    /// They wait at another barrier.
    Elsewhere {
        /// One of them.
        one: Actor,
        /// How many.
        threads: u32,
        /// The other barrier's number.
        barrier: u32,
    },
    /// They are of one warp, and come to the barrier by another instruction.
    Warp {
        /// One of them.
        one: Actor,
    },
    /// They say that it waits for another number of threads.
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
    /// Where that stands in the text.
    pub place: Place,
    /// File and line of the source, where the text says it.
    pub source: Option<(String, u32)>,
}

/// Which memory it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// The machine's.
    Global,
    /// The block's.
    Shared,
    /// That of a block of a cluster, in which another block of it takes part.
    Cluster {
        /// Whose it is.
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
    /// Reads, in a manner that is made to meet others: volatile, relaxed or stronger.
    StrongRead,
    /// Writes in such a manner.
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
