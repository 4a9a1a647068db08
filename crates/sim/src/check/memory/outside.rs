//! Out-of-bounds accesses and wild pointers: memory that a call names and cannot have.

use crate::check::checker::Checker;
use crate::check::report::FindingKind;
use crate::memory::shadow::{AccessKind, Operation};
use crate::memory::{Allocation, Registry};

impl Checker {
    /// Reports that a call names bytes that are not, or not all, in an allocation.
    pub(crate) fn found_outside(&self, memory: &Registry, address: u64, bytes: u64, writes: bool) {
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        if !self.findings.is_on() {
            return;
        }
        let user = self.findings.operation(kind);
        let kind = match (memory.nearest(address), memory.freed.containing(address)) {
            (Some((0, found)), _) => beyond(user, found, address, bytes),
            (_, Some(freed)) => {
                let start = address - freed.base();
                let (free, allocation) = (freed.free(), freed.info());
                let bytes = start..start.saturating_add(bytes).min(allocation.bytes);
                Some(FindingKind::UseAfterFree { user, free, allocation, bytes, missing: None })
            }
            (Some((_, found)), None) => beyond(user, found, address, bytes),
            (None, None) => Some(FindingKind::WildPointer { user, address, bytes }),
        };
        kind.into_iter().for_each(|kind| self.findings.add(kind));
    }
}

fn beyond(user: Operation, found: &Allocation, address: u64, bytes: u64) -> Option<FindingKind> {
    let start = address.wrapping_sub(found.base).cast_signed();
    let end = start.saturating_add_unsigned(bytes);
    let size = i64::try_from(found.size).unwrap_or(i64::MAX);
    let inside = end.min(size).saturating_sub(start.max(0)).max(0).unsigned_abs();
    Some(FindingKind::OutOfBounds { user, allocation: found.info()?, wanted: start..end, outside: bytes - inside })
}
