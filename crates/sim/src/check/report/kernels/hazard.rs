//! Hazards that the PTX interpreter finds in a launch, as reports describe them.

use warploom_ptx::{Deed, Divergence, Hazard, Presence};

use super::absent_block::{Absence, AbsentBlock};
use super::barrier::{BarrierDivergence, Instead};
use super::heap_misuse::{HeapMisuse, HeapProblem};
use super::race::{KernelRace, MissingOrder};
use super::shared_read::SharedRead;
use super::thread::ThreadAccess;
use super::unfinished_copy::{CopySide, UnfinishedCopy};

/// A hazard of a launch, complete but for the allocation.
#[derive(Debug)]
pub(crate) enum KernelHazard {
    Race(KernelRace),
    SharedRead(SharedRead),
    Copy(UnfinishedCopy),
    Absent(AbsentBlock),
    Heap(HeapMisuse),
    Barrier(BarrierDivergence),
}

impl KernelHazard {
    /// The report of a hazard in a launch with blocks of a shape.
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
            Hazard::Unpublished { space, writer, writer_deed, copier, start, bytes, times } => Self::Race(KernelRace {
                kernel,
                first: writer.into(),
                first_access: writer_deed.into(),
                second: copier.into(),
                second_access: ThreadAccess::Read,
                memory: space.into(),
                bytes: start..start + bytes,
                missing: MissingOrder::ProxyFence,
                times,
            }),
            Hazard::Copying { space, copier, copier_deed, other, deed, start, bytes, times } => {
                Self::Copy(UnfinishedCopy {
                    kernel,
                    copier: copier.into(),
                    side: if copier_deed == Deed::Read { CopySide::Source } else { CopySide::Destination },
                    other: other.into(),
                    access: deed.into(),
                    memory: space.into(),
                    bytes: start..start + bytes,
                    times,
                })
            }
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
