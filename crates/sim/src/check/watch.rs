//! Watching ops as they are enqueued.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use warploom_engine::{Epoch, Known, QueueId, Work as _};

use super::kernel::Late;
use super::report::{FindingKind, Findings, MissingWait};
use crate::ffi::status::Status;
use crate::machine::world::{Engine, Work, World};
use crate::memory::shadow::{Access, AccessKind, Conflict, DISCARD_LIMIT, Ranges, Shadow, StreamInfo, current_site};
use crate::memory::{Allocation, Backing, MemoryOp, Registry, Side, SimAddress, Touch, VirtualMemory};

impl World {
    /// Checks an op that is about to be enqueued; the queue's clock says what comes before it.
    pub(crate) fn check_work(&mut self, queue: QueueId, work: &Work) -> Status {
        if !self.findings.is_on() {
            return Ok(());
        }
        let stream = Some(stream_info(&self.engine, queue));
        let known = std::mem::take(&mut self.engine.queue_mut(queue).clock.known);
        let access = Access { epoch: known.next(), kind: AccessKind::Use, stream, site: current_site() };
        self.late.note(access.epoch, &known);
        let judged = self.check_touches(&known, access, work);
        self.engine.queue_mut(queue).clock.known = known;
        match work {
            _ if judged.is_err() => {}
            Work::Memory(MemoryOp::WriteValue { .. }) => self.engine.release_value(queue),
            Work::Memory(MemoryOp::WaitValue { .. }) => self.engine.awaits_value(queue),
            Work::HostFunction { .. } | Work::Callback { .. } => self.forget_discards(),
            _ => {}
        }
        judged
    }

    /// Checks ops that are about to be enqueued one after the other, all or none of them. Where findings do not stop a call,
    /// each is checked when its turn comes.
    pub(crate) fn check_ahead(&mut self, queue: QueueId, works: &[Work]) -> Status {
        if !self.findings.fails_calls() {
            return Ok(());
        }
        // Brings the queue's clock up to what an op of it would know.
        self.enqueue(queue, Work::Join)?;
        let stream = Some(stream_info(&self.engine, queue));
        let known = self.engine.queue(queue).clock.known.clone();
        let mut found = Vec::new();
        for work in works {
            let access = Access { epoch: known.next(), kind: AccessKind::Use, stream, site: current_site() };
            found.extend(self.watch(&known, access, work, Books::Closed));
        }
        self.findings.judge(found)
    }

    /// Checks ops that stand behind a queue's newest and have no order among themselves, so that each is a timeline of its
    /// own. What comes next in the queue comes behind them all.
    pub(crate) fn check_batch(&mut self, queue: QueueId, works: &[Work]) -> Status {
        if !self.findings.is_on() {
            return Ok(());
        }
        let stream = Some(stream_info(&self.engine, queue));
        let before = self.engine.queue(queue).clock.known.clone();
        let mut accesses = Vec::with_capacity(works.len());
        for _ in works {
            let mut own = self.engine.timelines.start();
            let access = Access { epoch: own.next(), kind: AccessKind::Use, stream, site: current_site() };
            self.late.note(access.epoch, &before);
            self.engine.queue_mut(queue).clock.known.include(access.epoch);
            own.advance();
            self.engine.timelines.end(&own);
            accesses.push(access);
        }
        let mut drafts = Drafts::new();
        if self.findings.fails_calls() {
            let mut found = Vec::new();
            for (work, access) in works.iter().zip(&accesses) {
                found.extend(self.watch(&before, access.clone(), work, Books::Draft(&mut drafts)));
            }
            self.findings.judge(found)?;
        }
        for (work, access) in works.iter().zip(accesses) {
            let found = self.watch(&before, access, work, Books::Open);
            self.findings.judge(found)?;
        }
        Ok(())
    }

    fn check_touches(&mut self, known: &Known, access: Access, work: &Work) -> Status {
        // Nothing is to be remembered of a call that fails, so that remembering is a second pass.
        if self.findings.fails_calls() {
            let found = self.watch(known, access.clone(), work, Books::Closed);
            self.findings.judge(found)?;
        }
        let found = self.watch(known, access, work, Books::Open);
        self.findings.judge(found)
    }

    fn watch(&mut self, known: &Known, access: Access, work: &Work, books: Books<'_>) -> Vec<FindingKind> {
        let World { memory, virtual_memory, engine, findings, late, .. } = self;
        let (found, followers) = (Vec::new(), HashSet::new());
        let mut watch =
            Watch { memory, virtual_memory, engine, known, access, findings, books, found, followers, late };
        work.touches(|touch| watch.touch(touch));
        watch.found
    }
}

impl World {
    /// Forgets all discards: a host function may write the bytes unseen.
    pub(super) fn forget_discards(&mut self) {
        if !self.managed_memory.is_used() {
            return;
        }
        let World { memory, virtual_memory, .. } = self;
        for allocation in memory.iter_mut().filter(|allocation| allocation.is_managed()) {
            if let Some(shadow) = shadow_mut(allocation, virtual_memory) {
                shadow.discarded = Ranges::default();
            }
        }
    }
}

/// What becomes of accesses once they have been compared with those that are remembered.
pub(super) enum Books<'a> {
    /// They are remembered.
    Open,
    /// They are not.
    Closed,
    /// They are remembered apart, for the rest of a batch that may yet fail.
    Draft(&'a mut Drafts),
}

/// What a batch would do, by the shadow that would remember it.
pub(super) type Drafts = HashMap<*const Shadow, Shadow>;

/// One op under watch.
pub(super) struct Watch<'a> {
    pub(super) memory: &'a mut Registry,
    pub(super) virtual_memory: &'a mut VirtualMemory,
    pub(super) engine: &'a mut Engine,
    pub(super) known: &'a Known,
    /// The op's accesses, but for their kind.
    pub(super) access: Access,
    pub(super) findings: &'a Findings,
    pub(super) books: Books<'a>,
    pub(super) found: Vec<FindingKind>,
    /// What was enqueued behind it before it was looked at.
    pub(super) followers: HashSet<Epoch>,
    /// Kernels that have yet to run.
    pub(super) late: &'a Late,
}

impl Watch<'_> {
    fn touch(&mut self, touch: Touch) {
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
    pub(super) fn kernel_reads(&mut self, range: Range<u64>, kind: AccessKind) {
        let bytes = range.end - range.start;
        self.each(range.start, bytes, kind);
        let missing = self.unwritten(range.start, bytes);
        if !missing.is_empty() {
            self.found_unwritten(kind, &missing);
        }
    }

    /// A kernel has written bytes, which are addresses.
    pub(super) fn kernel_writes(&mut self, range: Range<u64>, kind: AccessKind) {
        let bytes = range.end - range.start;
        self.each(range.start, bytes, kind);
        self.mark(range.start, bytes, true);
    }

    /// Books an access to everything that the driver knows of a stretch; what it does not know is the program's own.
    fn each(&mut self, address: u64, bytes: u64, kind: AccessKind) {
        self.access.kind = kind;
        let (mut at, end) = (address, address + bytes);
        while at < end
            && let Some(allocation) = self.memory.containing_mut(at)
        {
            let behind = end.min(allocation.end());
            let range = at - allocation.base..behind - allocation.base;
            let mut conflicts = Vec::new();
            let mut is_early = false;
            if let Some(tracked) = &allocation.tracked {
                is_early = !self.known.is_unsure() && !self.known.includes(tracked.born.epoch);
            }
            if let Some(shadow) = shadow_mut(allocation, self.virtual_memory) {
                match &mut self.books {
                    Books::Closed => shadow.conflicts(range.clone(), &self.access, self.known, &mut conflicts),
                    Books::Draft(drafts) => {
                        shadow.conflicts(range.clone(), &self.access, self.known, &mut conflicts);
                        let draft = drafts.entry(std::ptr::from_ref(shadow)).or_default();
                        draft.touch(range.clone(), &self.access, self.known, &mut conflicts);
                    }
                    Books::Open if self.known.is_unsure() => {}
                    Books::Open => {
                        shadow.touch(range.clone(), &self.access, self.known, &mut conflicts);
                        if let Some(over) = self.engine.timelines.over() {
                            shadow.forget(over);
                        }
                    }
                }
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
            }
            at = behind;
        }
    }

    fn found_race(&mut self, address: u64, Conflict { first, bytes }: Conflict) {
        let Some(allocation) = self.memory.containing(address).and_then(Allocation::info) else { return };
        let caller = self.findings.caller();
        let second = self.access.operation(caller.as_ref());
        let is_batch = first.site.as_ref().map(|site| site.call) == second.call && second.call.is_some();
        let missing = if is_batch { MissingWait::SeparateCalls } else { missing(first.stream, self.access.stream) };
        let first = first.operation(None);
        // The rows of one copy are touched one after the other, and so are pages that are discarded and prefetched in one
        // go; the pair is the same.
        let is_known = self.found.iter().any(|kind| {
            matches!(kind, FindingKind::Race { first: other, allocation: there, .. }
                if other.call == first.call && other.access.is_like(first.access) && there.id == allocation.id)
        });
        if !is_known {
            self.found.push(FindingKind::Race { first, second, allocation, bytes, missing });
        }
    }

    fn found_early(&mut self, address: u64, bytes: Range<u64>) {
        let Some(found) = self.memory.containing(address) else { return };
        let (Some(allocation), Some(tracked)) = (found.info(), &found.tracked) else { return };
        let missing = missing_since_birth(&tracked.born, self.access.stream);
        let user = self.access.operation(self.findings.caller().as_ref());
        let is_known = self.found.iter().any(|kind| {
            matches!(kind, FindingKind::UseBeforeAllocation { allocation: there, .. } if there.id == allocation.id)
        });
        if !is_known {
            self.found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes, missing });
        }
    }

    /// Passes on with a copy which of its bytes nobody has written, or reports them where the host can read them.
    fn carry(&mut self, from: SimAddress, to: SimAddress, bytes: u64) {
        let missing = self.unwritten(from.address(), bytes);
        if missing.is_empty() {
            return self.mark(to.address(), bytes, true);
        }
        let reaches_host = to.side() == Side::Host
            || self.memory.containing(to.address()).is_none_or(|to| to.is_host_accessible() || to.is_managed());
        if reaches_host {
            self.found_unwritten(AccessKind::Read, &missing);
        }
        self.mark(to.address(), bytes, true);
        for gap in missing {
            self.mark(to.address() + (gap.start - from.address()), gap.end - gap.start, false);
        }
    }

    /// A word that nobody has written is about to decide when a stream goes on.
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
        let Some(found) = self.memory.containing(first.start) else { return };
        // Of managed memory nothing else is known, because the host writes it unseen.
        let is_managed = found.is_managed();
        let Some(allocation) = found.info() else { return };
        let bytes = first.start - found.base..first.end - found.base;
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

    /// The stretches of memory that nobody has written, as addresses. The host writes its own memory without being seen.
    fn unwritten(&mut self, address: u64, bytes: u64) -> Vec<Range<u64>> {
        let (mut at, end) = (address, address + bytes);
        let mut missing = Vec::new();
        if self.late.is_behind(self.known) {
            return missing;
        }
        while at < end
            && let Some(allocation) = self.memory.containing_mut(at)
        {
            let (base, behind) = (allocation.base, end.min(allocation.end()));
            let is_managed = allocation.is_managed();
            let is_hosts = allocation.side == Side::Host || allocation.is_host_accessible() || is_managed;
            let (start, range) = (allocation.place(at), at - base..behind - base);
            let miss = |gap: Range<u64>| missing.push(gap.start + base..gap.end + base);
            match shadow_mut(allocation, self.virtual_memory) {
                Some(shadow) if is_managed => {
                    let host = self.engine.timelines.host();
                    shadow.lost(&range, start, host).into_iter().for_each(miss);
                }
                Some(shadow) if !is_hosts => shadow.written.gaps(range, miss),
                _ => {}
            }
            at = behind;
        }
        missing
    }

    /// Books bytes as worth nothing until they are written again.
    fn discard(&mut self, address: u64, bytes: u64) {
        if let Some(allocation) = self.memory.containing_mut(address).filter(|_| matches!(self.books, Books::Open)) {
            let start = address - allocation.base;
            if let Some(shadow) = shadow_mut(allocation, self.virtual_memory) {
                shadow.discarded.add(start..start + bytes);
            }
        }
    }

    /// Books bytes as written, or as no better than unwritten.
    fn mark(&mut self, address: u64, bytes: u64, written: bool) {
        let (mut at, end) = (address, address + bytes);
        while matches!(self.books, Books::Open)
            && at < end
            && let Some(allocation) = self.memory.containing_mut(at)
        {
            let (base, behind) = (allocation.base, end.min(allocation.end()));
            if let Some(shadow) = shadow_mut(allocation, self.virtual_memory) {
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

/// What is remembered of an allocation; of a mapping, of the memory behind it.
pub(super) fn shadow_mut<'a>(
    allocation: &'a mut Allocation,
    virtual_memory: &'a mut VirtualMemory,
) -> Option<&'a mut Shadow> {
    match &allocation.backing {
        Backing::Mapped(mapping) => virtual_memory.shadow_mut(mapping),
        _ => allocation.tracked.as_mut().map(|tracked| &mut tracked.shadow),
    }
}

/// A stream for a report.
pub(super) fn stream_info(engine: &Engine, queue: QueueId) -> StreamInfo {
    let queue = engine.queue(queue);
    StreamInfo { id: queue.owner.traits.id, kind: queue.owner.traits.kind, device: queue.owner.device }
}

/// What would order a use behind the allocation. What a thread allocates is there for its streams at once; only another
/// thread can come too early.
pub(super) fn missing_since_birth(born: &Access, user: Option<StreamInfo>) -> MissingWait {
    match born.stream {
        Some(stream) => missing(Some(stream), user),
        None => MissingWait::HostAfterHost,
    }
}

/// What would order two operations, by where they are.
pub(super) fn missing(first: Option<StreamInfo>, second: Option<StreamInfo>) -> MissingWait {
    match (first, second) {
        (Some(first), Some(second)) => MissingWait::StreamAfterStream { first, second },
        (Some(first), None) => MissingWait::HostAfterStream { first },
        (None, Some(second)) => MissingWait::StreamAfterHost { second },
        (None, None) => MissingWait::HostAfterHost,
    }
}
