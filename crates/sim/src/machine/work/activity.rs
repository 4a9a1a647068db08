//! Activities of work, for the trace.

use super::Work;
use crate::memory::{MemoryOp, Side};
use crate::trace::{Activity, Memory};

impl<S> Work<S> {
    /// What the trace shows of it; nothing of work that only keeps order or gives memory back.
    pub(crate) fn activity(&self) -> Option<Activity> {
        let copy = |from: Side, to: Side, bytes| Activity::Copy { from: from.into(), to: to.into(), bytes };
        let fill = |to: Side, bytes| Activity::Fill { to: to.into(), bytes };
        Some(match self {
            Work::Join | Work::Release(_) => return None,
            Work::Memory(op) => match op {
                MemoryOp::Copy { to, from, bytes } => copy(from.side(), to.side(), *bytes),
                MemoryOp::CopyBlock(block) => copy(block.from.side(), block.to.side(), block.bytes()),
                MemoryOp::Fill { to, element, count, .. } => fill(to.side(), count * u64::from(*element)),
                MemoryOp::FillRows(rows) => fill(rows.to.side(), rows.bytes()),
                MemoryOp::WriteValue { .. } => Activity::WriteValue,
                MemoryOp::WaitValue { .. } => Activity::WaitValue,
            },
            Work::Staged { to, bytes } => copy(Side::Host, to.side(), bytes.len() as u64),
            Work::StagedBlock(staged) => copy(Side::Host, staged.block.to.side(), staged.bytes.len() as u64),
            Work::Migrate(migration) => {
                let to = migration.to.map(|to| Memory::from(to.side()));
                match to {
                    Some(to) if !migration.discards => Activity::Prefetch { to, bytes: migration.moved_bytes() },
                    to => Activity::Discard { bytes: migration.bytes, to },
                }
            }
            Work::HostFunction { .. } | Work::Callback { .. } => Activity::HostFunction,
            Work::Record { event, serial } => Activity::Record { event: event.bits(), serial: *serial },
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
