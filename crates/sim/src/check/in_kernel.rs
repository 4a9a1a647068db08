//! What goes wrong inside a kernel, as data.

use std::ops::Range;

use serde::Serialize;
use warploom_ptx::{Actor, Deed, Divergence, Hazard, MemorySpace, Presence};

use super::absent::{Absence, AbsentBlock};
use super::copying::{CopySide, UnfinishedCopy};
use super::heap::{HeapMisuse, HeapProblem};
use crate::memory::shadow::{AllocationInfo, Operation};

/// A kernel that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KernelFault {
    /// The kernel.
    pub kernel: String,
    /// What happened.
    pub problem: String,
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
    /// The address that cannot be accessed so, if it is about one.
    pub address: Option<u64>,
    /// The allocation that the address is in, was in, or is close to.
    pub near: Option<AllocationInfo>,
    /// What freed it, if it is no longer there.
    pub freed: Option<Operation>,
}

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

/// Two threads of one kernel that touch the same bytes without an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KernelRace {
    /// The kernel.
    pub kernel: String,
    /// Who came first in this run.
    pub first: ThreadInfo,
    /// What that did.
    pub first_access: ThreadAccess,
    /// Who came later.
    pub second: ThreadInfo,
    /// What that did.
    pub second_access: ThreadAccess,
    /// What both touch.
    pub memory: RacedMemory,
    /// Which of its bytes.
    pub bytes: Range<u64>,
    /// What would order the two.
    pub missing: MissingOrder,
    /// How often these two instructions met so in the launch.
    pub times: u64,
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
        /// Whose it is: where the block lies in the grid.
        block: [u32; 3],
    },
    /// Memory of the machine.
    Allocation(AllocationInfo),
    /// Memory of the machine that no call allocated, such as the heap of kernels; bytes are addresses.
    Global,
}

/// What a thread does with memory.
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

/// What would order two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingOrder {
    /// Lanes of one instruction write the same place: nothing can order them.
    OwnPlace,
    /// One of the two is atomic and the other is not.
    BothAtomic,
    /// They are of one warp.
    WarpBarrier,
    /// They are of one block.
    BlockBarrier,
    /// They are of different blocks of one cluster, and meet in shared memory.
    ClusterBarrier,
    /// They are of different blocks.
    GridOrder,
}

/// Shared memory that is read and that nobody has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SharedRead {
    /// The kernel.
    pub kernel: String,
    /// Who reads.
    pub reader: ThreadInfo,
    /// Which bytes of the block's shared memory.
    pub bytes: Range<u64>,
    /// How often the instruction did so in the launch.
    pub times: u64,
}

/// A barrier that not all come to in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BarrierDivergence {
    /// The kernel.
    pub kernel: String,
    /// The barrier's number; `__syncthreads` has 0.
    pub barrier: u32,
    /// One who has come.
    pub waits: ThreadInfo,
    /// How many have.
    pub waiting: u32,
    /// One who did something else.
    pub other: ThreadInfo,
    /// What that was.
    pub did: Instead,
    /// How often that happened in the launch.
    pub times: u64,
}

/// What a thread does instead of coming to a barrier as others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "instead", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Instead {
    /// It has ended.
    Ended {
        /// How many have.
        threads: u32,
    },
    /// It waits at another barrier.
    WaitsAt {
        /// The other barrier.
        barrier: u32,
        /// How many wait there.
        threads: u32,
    },
    /// It is of the same warp, and came by another instruction.
    OtherInstruction,
    /// It expects another number of threads; 0 is all.
    OtherCount {
        /// What it expects.
        expects: u32,
        /// What the first expects.
        first: u32,
    },
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

impl MissingOrder {
    /// By who the two are and what they do; `warp` tells the warp of a thread.
    fn between(
        space: MemorySpace,
        [first, second]: [&Actor; 2],
        [first_does, second_does]: [Deed; 2],
        warp: impl Fn([u32; 3]) -> u32,
    ) -> Self {
        let is_strong = |deed| matches!(deed, Deed::StrongRead | Deed::StrongWrite | Deed::Update);
        let is_near = first.block == second.block;
        let is_one_warp = is_near && warp(first.thread) == warp(second.thread);
        match () {
            () if is_strong(first_does) != is_strong(second_does) => Self::BothAtomic,
            () if is_one_warp && first.place == second.place => Self::OwnPlace,
            () if is_one_warp => Self::WarpBarrier,
            () if is_near => Self::BlockBarrier,
            () if matches!(space, MemorySpace::Cluster { .. }) => Self::ClusterBarrier,
            () => Self::GridOrder,
        }
    }
}

/// What was found in a launch, with words for it but for the allocation.
#[derive(Debug)]
pub(crate) enum InKernel {
    Race(KernelRace),
    SharedRead(SharedRead),
    Copy(UnfinishedCopy),
    Absent(AbsentBlock),
    Heap(HeapMisuse),
    Barrier(BarrierDivergence),
}

impl InKernel {
    /// What was found in a launch of a kernel with blocks of a shape.
    pub(crate) fn new(hazard: Hazard, kernel: &str, [width, height, _]: [u32; 3]) -> Option<Self> {
        let kernel = kernel.to_owned();
        let warp = |[x, y, z]: [u32; 3]| (x + width * (y + height * z)) / 32;
        Some(match hazard {
            Hazard::Race { space, first, first_deed, second, second_deed, start, bytes, times } => {
                let missing = MissingOrder::between(space, [&first, &second], [first_deed, second_deed], warp);
                Self::Race(KernelRace {
                    kernel,
                    first: first.into(),
                    first_access: first_deed.into(),
                    second: second.into(),
                    second_access: second_deed.into(),
                    memory: space.into(),
                    bytes: start..start + bytes,
                    missing,
                    times,
                })
            }
            Hazard::Unwritten { reader, start, bytes, times } => {
                Self::SharedRead(SharedRead { kernel, reader: reader.into(), bytes: start..start + bytes, times })
            }
            Hazard::Copying { space, copier, other, deed, start, bytes, times } => Self::Copy(UnfinishedCopy {
                kernel,
                copier: copier.into(),
                side: if space == MemorySpace::Global { CopySide::Source } else { CopySide::Destination },
                other: other.into(),
                access: deed.into(),
                memory: space.into(),
                bytes: start..start + bytes,
                times,
            }),
            Hazard::Absent { visitor, block, presence, times } => {
                let when = match presence {
                    Presence::NotStarted => Absence::NotStarted,
                    Presence::Ended => Absence::Ended,
                    _ => return None,
                };
                Self::Absent(AbsentBlock { kernel, visitor: visitor.into(), block, when, times })
            }
            Hazard::Heap { misuse, actor, bytes, block, freed_by, times } => {
                let problem = match misuse {
                    warploom_ptx::HeapMisuse::AfterFree(deed) => HeapProblem::AfterFree(deed.into()),
                    warploom_ptx::HeapMisuse::Outside(deed) => HeapProblem::Outside(deed.into()),
                    warploom_ptx::HeapMisuse::FreedTwice => HeapProblem::FreedTwice,
                    warploom_ptx::HeapMisuse::NotABlock => HeapProblem::NotABlock,
                    _ => return None,
                };
                let (thread, freed_by) = (actor.into(), freed_by.map(Into::into));
                let (address, bytes) = (bytes.start, bytes.end - bytes.start);
                Self::Heap(HeapMisuse { kernel, thread, problem, address, bytes, block, freed_by, times })
            }
            Hazard::Barrier { barrier, waits, waiting, divergence, times } => {
                let (one, did) = match divergence {
                    Divergence::Ended { one, threads } => (one, Instead::Ended { threads }),
                    Divergence::Elsewhere { one, threads, barrier } => (one, Instead::WaitsAt { barrier, threads }),
                    Divergence::Warp { one } => (one, Instead::OtherInstruction),
                    Divergence::Count { one, threads: [expects, first] } => {
                        (one, Instead::OtherCount { expects, first })
                    }
                    _ => return None,
                };
                let (waits, other) = (waits.into(), one.into());
                Self::Barrier(BarrierDivergence { kernel, barrier, waits, waiting, other, did, times })
            }
            _ => return None,
        })
    }
}
