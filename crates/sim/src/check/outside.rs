//! Memory that a call names and cannot have.

use std::sync::Arc;

use super::report::FindingKind;
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::Allocation;
use crate::memory::shadow::{AccessKind, Operation, Site, current_site};

/// An address this close to an allocation is taken for one that missed it.
const NEAR: u64 = 4096;

impl Call<'_> {
    /// This call, as part of a finding.
    pub(super) fn operation(&self, kind: AccessKind) -> Operation {
        let caller = || self.core().findings.caller().map(Arc::new);
        match current_site() {
            Some(site) => Operation::of_call(kind, &Site { trace: site.trace.clone().or_else(caller), ..site }),
            None => Operation { call: None, function: None, access: kind, stream: None, backtrace: Vec::new() },
        }
    }

    /// Reports that a call names bytes that are not, or not all, in an allocation.
    pub(crate) fn found_outside(&self, world: &World, address: u64, bytes: u64, writes: bool) {
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        if !world.findings.is_on() {
            return;
        }
        let user = self.operation(kind);
        let freed = world.memory.freed.containing(address);
        let kind = match (nearest(world, address), freed) {
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
        kind.into_iter().for_each(|kind| world.findings.add(kind));
    }
}

/// The allocation that an address is in or near, and how far from it.
pub(super) fn nearest(world: &World, address: u64) -> Option<(u64, &Allocation)> {
    let distance = |found: &Allocation| match address {
        _ if address < found.base => found.base - address,
        _ if address >= found.end() => address - found.end() + 1,
        _ => 0,
    };
    let sides = [world.memory.before(address), world.memory.after(address)];
    let near = sides.into_iter().flatten().map(|found| (distance(found), found));
    near.filter(|(distance, _)| *distance <= NEAR).min_by_key(|(distance, _)| *distance)
}

fn beyond(user: Operation, found: &Allocation, address: u64, bytes: u64) -> Option<FindingKind> {
    let start = address.wrapping_sub(found.base).cast_signed();
    let end = start.saturating_add_unsigned(bytes);
    let size = i64::try_from(found.size).unwrap_or(i64::MAX);
    let inside = end.min(size).saturating_sub(start.max(0)).max(0).unsigned_abs();
    Some(FindingKind::OutOfBounds { user, allocation: found.info()?, wanted: start..end, outside: bytes - inside })
}
