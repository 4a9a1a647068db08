//! The comparison of an op's accesses with those that shadow memory remembers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use warploom_engine::{Epoch, Known};

use super::order::{by_addition, missing, missing_edge, missing_since_birth};
use crate::check::bodies::BodyPlace;
use crate::check::checker::{Checker, Parts};
use crate::check::pending_kernels::PendingKernels;
use crate::check::processes::ForeignConflict;
use crate::check::report::{FindingKind, Findings, MissingWait};
use crate::memory::shadow::{
    Access, AccessKind, AllocationInfo, Conflict, DISCARD_LIMIT, Journal, Operation, Owner, Shadow,
};
use crate::memory::{Allocation, Side, SimAddress, Touch};

/// Recording of accesses, once they have been compared with those in shadow memory.
pub(in crate::check) enum Recording<'a> {
    /// They are remembered.
    On,
    /// They are not.
    Off,
    /// They are remembered apart, for the rest of a batch that may yet fail.
    Draft(&'a mut Drafts),
}

/// The accesses of a batch or a launch that may yet fail, by the shadow that would remember them.
pub(crate) type Drafts = HashMap<*const Shadow, Shadow>;

/// One op whose accesses are compared.
pub(in crate::check) struct Watch<'a, 'p> {
    parts: &'a mut Parts<'p>,
    known: &'a Known,
    /// The op's accesses, but for their kind.
    access: Access,
    findings: &'a Findings,
    recording: Recording<'a>,
    pub(in crate::check) found: Vec<FindingKind>,
    /// Ops that were enqueued behind it before it was looked at.
    followers: HashSet<Epoch>,
    pending: &'a PendingKernels,
    /// Its place in the body of a conditional node, if it is inside of one.
    pub(in crate::check) body: Option<&'a BodyPlace>,
}

impl<'a, 'p> Watch<'a, 'p> {
    pub(in crate::check) fn new(
        checker: &'a Checker,
        parts: &'a mut Parts<'p>,
        known: &'a Known,
        access: Access,
        recording: Recording<'a>,
        followers: HashSet<Epoch>,
    ) -> Self {
        let (findings, pending) = (&*checker.findings, &checker.pending);
        Self { parts, known, access, findings, recording, found: Vec::new(), followers, pending, body: None }
    }

    pub(in crate::check) fn touch(&mut self, touch: Touch) {
        match touch {
            Touch::Copy { to, from, bytes } => {
                self.each(from.address(), bytes, AccessKind::Read);
                self.each(to.address(), bytes, AccessKind::Write);
                self.carry(from, to, bytes);
            }
            Touch::Write { to, bytes } => {
                self.each(to.address(), bytes, AccessKind::Write);
                self.mark(to.address(), bytes, true);
            }
            Touch::Prefetch { at, bytes } => self.each(at.address(), bytes, AccessKind::Prefetch),
            Touch::Discard { at, bytes } => {
                self.each(at.address(), bytes, AccessKind::Discard);
                self.discard(at.address(), bytes.min(DISCARD_LIMIT));
            }
            Touch::WaitValue { at, bytes } => {
                self.each(at.address(), bytes, AccessKind::WaitValue);
                self.decide(at.address(), bytes);
            }
            Touch::WriteValue { at, bytes } => {
                self.each(at.address(), bytes, AccessKind::WriteValue);
                self.mark(at.address(), bytes, true);
            }
        }
    }

    /// A kernel has read bytes, which are addresses.
    pub(in crate::check) fn kernel_reads(&mut self, range: Range<u64>, kind: AccessKind) {
        let bytes = range.end - range.start;
        self.each(range.start, bytes, kind);
        let missing = self.unwritten(range.start, bytes);
        if !missing.is_empty() {
            self.found_unwritten(kind, &missing);
        }
    }

    /// A kernel has written bytes, which are addresses.
    pub(in crate::check) fn kernel_writes(&mut self, range: Range<u64>, kind: AccessKind) {
        let bytes = range.end - range.start;
        self.each(range.start, bytes, kind);
        self.mark(range.start, bytes, true);
    }

    /// Checks and records an access to all allocations in a range; other bytes are the program's own.
    fn each(&mut self, address: u64, bytes: u64, kind: AccessKind) {
        self.access.kind = kind;
        let (mut at, end) = (address, address + bytes);
        while at < end
            && let Some(allocation) = self.parts.memory.containing_mut(at)
        {
            let behind = end.min(allocation.end());
            let (behind, born) = match block_at(allocation, at) {
                Some((until, Some(born))) => (behind.min(until), Some(born)),
                Some((until, None)) => {
                    let behind = behind.min(until);
                    self.found_absent(at..behind);
                    at = behind;
                    continue;
                }
                None => (behind, allocation.tracked.as_ref().map(|tracked| tracked.born.epoch)),
            };
            let base = allocation.base;
            let range = at - base..behind - base;
            let mut conflicts = Vec::new();
            let is_early = born.is_some_and(|born| !self.known.is_unsure() && !self.known.includes(born));
            if let Some(shadow) = self.parts.virtual_memory.shadow_of(allocation) {
                match &mut self.recording {
                    Recording::Off => shadow.conflicts(range.clone(), &self.access, self.known, &mut conflicts),
                    Recording::Draft(drafts) => {
                        shadow.conflicts(range.clone(), &self.access, self.known, &mut conflicts);
                        let draft = drafts.entry(std::ptr::from_ref(shadow)).or_default();
                        draft.touch(range.clone(), &self.access, self.known, &mut conflicts);
                    }
                    Recording::On if self.known.is_unsure() => {}
                    Recording::On => {
                        shadow.touch(range.clone(), &self.access, self.known, &mut conflicts);
                        if let Some(over) = self.parts.timelines.over() {
                            shadow.forget(over);
                        }
                    }
                }
            }
            let shared = allocation.tracked.as_ref().and_then(|tracked| tracked.shared.clone());
            let foreign = shared.map(|(journal, offset)| self.compare(&journal, offset, &range)).unwrap_or_default();
            for conflict in foreign {
                self.found_foreign_race(at, conflict);
            }
            if is_early {
                self.found_early(at, range);
            }
            if !self.known.is_unsure() {
                for conflict in conflicts {
                    if !self.followers.contains(&conflict.first.epoch) {
                        self.found_race(at, conflict);
                    }
                }
                for Conflict { first, bytes } in
                    self.body.map(|body| body.touch(&(at..behind), &self.access)).unwrap_or_default()
                {
                    self.found_race(at, Conflict { first, bytes: bytes.start - base..bytes.end - base });
                }
            }
            at = behind;
        }
    }

    /// Compares an access to memory that starts at an offset of a shared object with those of other
    /// processes. Gives the bytes of conflicts as bytes of the memory.
    fn compare(&mut self, journal: &Journal, offset: u64, range: &Range<u64>) -> Vec<ForeignConflict> {
        let bytes = offset + range.start..offset + range.end;
        let Parts { timelines, processes, .. } = &mut *self.parts;
        if self.known.is_unsure() {
            return Vec::new();
        }
        let mut found = processes.conflicts(timelines, journal, &bytes, &self.access, self.known);
        if matches!(self.recording, Recording::On) {
            processes.report_once(&mut found);
            processes.publish(timelines, journal, bytes, &self.access);
        }
        for conflict in &mut found {
            conflict.bytes = conflict.bytes.start - offset..conflict.bytes.end - offset;
        }
        found
    }

    fn found_foreign_race(&mut self, address: u64, conflict: ForeignConflict) {
        let Some((allocation, bytes)) = self.named(address, conflict.bytes.clone()) else { return };
        let second = self.access.operation(self.findings.caller().as_ref());
        let missing = MissingWait::ProcessAfterProcess { first: conflict.pid() };
        self.found.push(FindingKind::Race { first: conflict.operation(), second, allocation, bytes, missing });
    }

    /// Reports an access to bytes of an allocation of blocks that no block has.
    fn found_absent(&mut self, addresses: Range<u64>) {
        if self.known.is_unsure() {
            return;
        }
        let user = self.access.operation(self.findings.caller().as_ref());
        let Some(found) = self.parts.memory.containing(addresses.start) else { return };
        let Some(blocks) = found.tracked.as_ref().and_then(|tracked| tracked.blocks.as_ref()) else { return };
        let (base, side, bytes) = (found.base, found.side, addresses.end - addresses.start);
        let kind = match blocks.owner(addresses.start - base).0 {
            Owner::Lent(_) => return,
            Owner::Released(released) => {
                let (allocation, free) = (released.block.info(base, side), released.free.operation(None));
                let bytes = addresses.start - allocation.address..addresses.end - allocation.address;
                FindingKind::UseAfterFree { user, free, allocation, bytes, missing: None }
            }
            Owner::Unowned(Some(near)) => {
                let allocation = near.info(base, side);
                let start = addresses.start.wrapping_sub(allocation.address).cast_signed();
                let wanted = start..start.saturating_add_unsigned(bytes);
                FindingKind::OutOfBounds { user, allocation, wanted, outside: bytes }
            }
            Owner::Unowned(None) => FindingKind::WildPointer { user, address: addresses.start, bytes },
        };
        self.found.push(kind);
    }

    fn found_race(&mut self, address: u64, Conflict { first, bytes }: Conflict) {
        let Some((allocation, bytes)) = self.named(address, bytes) else { return };
        let caller = self.findings.caller();
        let second = self.access.operation(caller.as_ref());
        let is_same_call = first.site.as_ref().map(|site| site.call) == second.call && second.call.is_some();
        let (missing, first) = (missing(first.stream, self.access.stream), first.operation(None));
        // The rows of one copy are touched one after the other, and so are pages that are discarded and
        // prefetched in one go; the pair is the same.
        let is_first = |other: &Operation| {
            other.call == first.call && other.node == first.node && other.access.is_like(first.access)
        };
        let is_known = self.found.iter().any(|kind| {
            matches!(kind, FindingKind::Race { first, second, allocation: there, .. }
                if there.id == allocation.id && (is_first(first) || second.node.is_some() && is_first(second)))
        });
        if !is_known {
            let (first, second) = by_addition(first, second);
            let missing = match missing_edge(&first, &second) {
                Some(edge) => edge,
                None if is_same_call => MissingWait::SeparateCalls,
                None => missing,
            };
            self.found.push(FindingKind::Race { first, second, allocation, bytes, missing });
        }
    }

    /// The allocation of an address for a report, or the block of it, and bytes of the allocation as bytes of
    /// that.
    fn named(&self, address: u64, bytes: Range<u64>) -> Option<(AllocationInfo, Range<u64>)> {
        let found = self.parts.memory.containing(address)?;
        let info = found.info_at(address)?;
        let shift = info.address - found.base;
        let end = (bytes.end - shift).min(info.bytes);
        Some((info, bytes.start - shift..end))
    }

    fn found_early(&mut self, address: u64, bytes: Range<u64>) {
        let Some((allocation, bytes)) = self.named(address, bytes) else { return };
        let user = self.access.operation(self.findings.caller().as_ref());
        let wait = || missing_since_birth(allocation.made.stream, self.access.stream);
        let missing = missing_edge(&allocation.made, &user).unwrap_or_else(wait);
        let is_known = self.found.iter().any(|kind| {
            matches!(kind, FindingKind::UseBeforeAllocation { allocation: there, .. } if there.id == allocation.id)
        });
        if !is_known {
            self.found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes, missing });
        }
    }

    /// Marks the destination of a copy as written where its source is; reports unwritten bytes that reach the
    /// host.
    fn carry(&mut self, from: SimAddress, to: SimAddress, bytes: u64) {
        let missing = self.unwritten(from.address(), bytes);
        if missing.is_empty() {
            return self.mark(to.address(), bytes, true);
        }
        let reaches_host = to.side() == Side::Host
            || self.parts.memory.containing(to.address()).is_none_or(|to| to.is_host_accessible() || to.is_managed());
        if reaches_host {
            self.found_unwritten(AccessKind::Read, &missing);
        }
        self.mark(to.address(), bytes, true);
        for gap in missing {
            self.mark(to.address() + (gap.start - from.address()), gap.end - gap.start, false);
        }
    }

    /// Reports a wait for a word that was never written.
    fn decide(&mut self, address: u64, bytes: u64) {
        let missing = self.unwritten(address, bytes);
        if !missing.is_empty() {
            self.found_unwritten(AccessKind::WaitValue, &missing);
        }
    }

    fn found_unwritten(&mut self, kind: AccessKind, missing: &[Range<u64>]) {
        if self.known.is_unsure() {
            return;
        }
        let Some(first) = missing.first() else { return };
        let Some(found) = self.parts.memory.containing(first.start) else { return };
        // Of managed memory nothing else is known, because the host writes it unseen.
        let is_managed = found.is_managed();
        let bytes = first.start - found.base..first.end - found.base;
        let Some((allocation, bytes)) = self.named(first.start, bytes) else { return };
        let total: u64 = missing.iter().map(|gap| gap.end - gap.start).sum();
        let rest = self.found.iter_mut().find_map(|kind| match kind {
            FindingKind::UninitialisedRead { allocation: there, total, .. } if there.id == allocation.id => Some(total),
            _ => None,
        });
        if let Some(rest) = rest {
            *rest += total;
            return;
        }
        self.access.kind = kind;
        let user = self.access.operation(self.findings.caller().as_ref());
        let discarded = is_managed;
        self.found.push(FindingKind::UninitialisedRead { user, allocation, bytes, total, discarded });
    }

    /// The unwritten ranges of memory, as addresses. The host writes its own memory without being seen.
    fn unwritten(&mut self, address: u64, bytes: u64) -> Vec<Range<u64>> {
        let (mut at, end) = (address, address + bytes);
        let mut missing = Vec::new();
        if self.pending.is_behind(self.known) {
            return missing;
        }
        while at < end
            && let Some(allocation) = self.parts.memory.containing_mut(at)
        {
            let (base, mut behind) = (allocation.base, end.min(allocation.end()));
            match block_at(allocation, at) {
                Some((until, Some(_))) => behind = behind.min(until),
                // It was reported that no block has them.
                Some((until, None)) => {
                    at = behind.min(until);
                    continue;
                }
                None => {}
            }
            let is_managed = allocation.is_managed();
            let is_hosts = allocation.side == Side::Host || allocation.is_host_accessible() || is_managed;
            let (start, range) = (allocation.place(at), at - base..behind - base);
            let miss = |gap: Range<u64>| missing.push(gap.start + base..gap.end + base);
            match self.parts.virtual_memory.shadow_of(allocation) {
                Some(shadow) if is_managed => {
                    let host = self.parts.timelines.host();
                    shadow.lost(&range, start, host).into_iter().for_each(miss);
                }
                Some(shadow) if !is_hosts => shadow.written.gaps(range, miss),
                _ => {}
            }
            at = behind;
        }
        missing
    }

    /// Marks bytes as undefined until they are written again.
    fn discard(&mut self, address: u64, bytes: u64) {
        if let Some(allocation) =
            self.parts.memory.containing_mut(address).filter(|_| matches!(self.recording, Recording::On))
        {
            let start = address - allocation.base;
            if let Some(shadow) = self.parts.virtual_memory.shadow_of(allocation) {
                shadow.discarded.add(start..start + bytes);
            }
        }
    }

    /// Marks bytes as written, or as unwritten.
    fn mark(&mut self, address: u64, bytes: u64, written: bool) {
        let (mut at, end) = (address, address + bytes);
        while matches!(self.recording, Recording::On)
            && at < end
            && let Some(allocation) = self.parts.memory.containing_mut(at)
        {
            let (base, behind) = (allocation.base, end.min(allocation.end()));
            if let Some(shadow) = self.parts.virtual_memory.shadow_of(allocation) {
                let range = at - base..behind - base;
                if written {
                    shadow.discarded.remove(range.clone());
                    shadow.written.add(range);
                } else {
                    shadow.written.remove(range);
                }
            }
            at = behind;
        }
    }
}

/// If the program hands out blocks of an allocation: the address up to which the bytes from `at` on belong
/// together and, if a block has them, its birth.
fn block_at(allocation: &Allocation, at: u64) -> Option<(u64, Option<Epoch>)> {
    let (owner, until) = allocation.tracked.as_ref()?.blocks.as_ref()?.owner(at - allocation.base);
    let born = match owner {
        Owner::Lent(block) => Some(block.born.epoch),
        Owner::Released(_) | Owner::Unowned(_) => None,
    };
    Some((allocation.base.saturating_add(until), born))
}
