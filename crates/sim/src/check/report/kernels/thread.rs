//! Threads of a kernel as reports name them: their instruction, kind of access and memory.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use serde::Serialize;
use warploom_ptx::{Actor, Deed, MemorySpace};

use crate::memory::shadow::AllocationInfo;

/// A thread of a kernel at an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The thread, in the block.
    pub thread: [u32; 3],
    /// The instruction, with its modifiers.
    pub instruction: String,
    /// Its line in the PTX.
    pub line: u32,
    /// File and line of the source, where the PTX says it.
    pub source: Option<(String, u32)>,
}

/// Memory in which threads race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RacedMemory {
    /// The block's shared memory.
    Shared,
    /// Shared memory of a block, which another block of its cluster touches, too.
    Cluster {
        /// The block that it belongs to, in the grid.
        block: [u32; 3],
    },
    /// Memory of the machine.
    Allocation(AllocationInfo),
    /// Memory of the machine that no call allocated, such as the heap of kernels; bytes are addresses.
    Global,
}

/// The kind of access that a thread makes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThreadAccess {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads it so that others may write at the same time: volatile, relaxed or stronger.
    StrongRead,
    /// Writes it so that others may read at the same time.
    StrongWrite,
    /// Changes it atomically.
    Atomic,
}

impl From<Actor> for ThreadInfo {
    fn from(Actor { block, thread, instruction, place, source }: Actor) -> Self {
        Self { block, thread, instruction, line: place.line, source }
    }
}

impl From<MemorySpace> for RacedMemory {
    fn from(space: MemorySpace) -> Self {
        match space {
            MemorySpace::Shared => Self::Shared,
            MemorySpace::Cluster { block } => Self::Cluster { block },
            MemorySpace::Global => Self::Global,
        }
    }
}

impl From<Deed> for ThreadAccess {
    fn from(deed: Deed) -> Self {
        match deed {
            Deed::Read => Self::Read,
            Deed::Write => Self::Write,
            Deed::StrongRead => Self::StrongRead,
            Deed::StrongWrite => Self::StrongWrite,
            Deed::Update => Self::Atomic,
        }
    }
}

/// The position of an instruction in the PTX and in the source.
pub(super) struct Where<'a>(pub(super) &'a ThreadInfo);

impl Display for Where<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let ThreadInfo { instruction, line, source, .. } = self.0;
        write!(formatter, "`{instruction}`, line {line} of the PTX")?;
        match source {
            Some((file, line)) => write!(formatter, ", {file}:{line}"),
            None => Ok(()),
        }
    }
}

/// Block and thread.
impl Display for ThreadInfo {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { block, thread, .. } = self;
        write!(formatter, "block {block:?}, thread {thread:?}")
    }
}

impl Display for ThreadAccess {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ThreadAccess::Read => "reads",
            ThreadAccess::Write => "writes",
            ThreadAccess::StrongRead => "atomically reads",
            ThreadAccess::StrongWrite => "atomically writes",
            ThreadAccess::Atomic => "atomically changes",
        })
    }
}

pub(super) fn times(formatter: &mut Formatter<'_>, times: u64) -> fmt::Result {
    if times > 1 { write!(formatter, "\n  {times} times in this launch") } else { Ok(()) }
}

pub(super) fn write_bytes(formatter: &mut Formatter<'_>, memory: &RacedMemory, bytes: &Range<u64>) -> fmt::Result {
    match memory {
        RacedMemory::Shared => write!(formatter, "bytes {bytes:?} of the block's shared memory"),
        RacedMemory::Cluster { block } => write!(formatter, "bytes {bytes:?} of the shared memory of block {block:?}"),
        RacedMemory::Allocation(allocation) => write!(formatter, "bytes {bytes:?} of {allocation}"),
        RacedMemory::Global => {
            write!(formatter, "{} bytes of global memory at {:#x}", bytes.end - bytes.start, bytes.start)
        }
    }
}
