//! Activities of work, for the trace.

use super::{KernelRun, Work};
use crate::memory::{MemoryOp, Transfer};
use crate::trace::{Activity, KernelWork, LaunchShape, Memory};

impl<S> Work<S> {
    /// Its entry in the trace; `None` for work that only keeps order, frees memory, or drops objects.
    pub(crate) fn activity(&self) -> Option<Activity> {
        if let Some(Transfer { from, to, bytes }) = self.transfer() {
            let to = to.into();
            return Some(match from {
                Some(from) => Activity::Copy { from: from.into(), to, bytes },
                None => Activity::Fill { to, bytes },
            });
        }
        Some(match self {
            Work::Memory(MemoryOp::WriteValue { .. }) => Activity::WriteValue,
            Work::Memory(MemoryOp::WaitValue { .. }) => Activity::WaitValue,
            Work::Join
            | Work::AwaitRecords { .. }
            | Work::Release(_)
            | Work::Hook(_)
            | Work::Destructors(_)
            | Work::Memory(_)
            | Work::Staged { .. }
            | Work::StagedBlock(_) => {
                return None;
            }
            Work::Migrate(migration) => {
                let to = migration.to.map(|to| Memory::from(to.side()));
                match to {
                    Some(to) if !migration.discards => Activity::Prefetch { to, bytes: migration.moved_bytes() },
                    to => Activity::Discard { bytes: migration.bytes, to },
                }
            }
            Work::HostFunction { .. } | Work::Callback { .. } => Activity::HostFunction,
            Work::Record { event, serial, .. } => Activity::Record { event: event.bits(), serial: *serial },
            Work::Task(_) | Work::Away => Activity::Task,
        })
    }

    /// Copies that a migration entailed, for the trace.
    pub(crate) fn migrated(&self) -> Vec<Activity> {
        let Work::Migrate(migration) = self else { return Vec::new() };
        let Some(to) = migration.to.map(|to| Memory::from(to.side())) else { return Vec::new() };
        let moves = migration.moved.iter();
        moves.map(|(from, bytes)| Activity::Copy { from: (*from).into(), to, bytes: *bytes }).collect()
    }
}

impl<'a> From<KernelRun<'a>> for crate::trace::KernelRun<'a> {
    fn from(KernelRun { name, shape, cost }: KernelRun<'a>) -> Self {
        let shape = LaunchShape { grid: shape.grid, block: shape.block, shared: shape.shared };
        let work = KernelWork {
            blocks: cost.blocks,
            instructions: cost.instructions,
            thread_instructions: cost.thread_instructions,
            divergent_branches: cost.divergent_branches,
            bytes: cost.bytes,
            requests: cost.requests,
            sectors: cost.sectors,
            needed_sectors: cost.needed_sectors,
        };
        Self { name, shape, work }
    }
}
