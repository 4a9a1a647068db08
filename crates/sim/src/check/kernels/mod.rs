//! Checks of kernels when they have ended: only then is it known which bytes they touched.
//!
//! Every other op is compared when it is enqueued, with the accesses that were enqueued before. A kernel is
//! compared when it has ended, with the accesses enqueued before it and since. Of the latter, those that knew
//! the kernel when they were enqueued are ordered behind it. While a kernel that comes before an op has not
//! run, bytes that the op reads cannot be called unwritten.
//!
//! Memory that is freed before the kernel has ended is compared then, too: unless the free is ordered behind
//! the kernel, touching it is a use after free.
//!
//! Atomic and volatile accesses do not race with each other. The order that threads make with them is not
//! seen here.

use std::ops::Range;
use std::sync::Arc;

use warploom_engine::{Known, Work};

use super::bodies::BodyPlace;
use super::checker::{Checker, Parts};
use super::pending_kernels::{PendingFree, UnorderedFree};
use super::report::{FindingKind, KernelFault, KernelHazard, RacedMemory};
use super::streams::{Recording, Watch, missing, missing_edge};
use crate::memory::shadow::{Access, AccessKind, NodeSite, StreamInfo, Touched};
use crate::memory::{Registry, Touch};

/// A kernel's place among all other ops.
#[derive(Debug)]
pub(crate) struct Watched {
    access: Access,
    known: Known,
    /// For a node inside a conditional node, whose place it shares: its place in the body.
    body: Option<Arc<BodyPlace>>,
}

impl Watched {
    /// The place of a node inside a conditional node: the same, for a report under its own name, and its own
    /// in the body.
    pub(crate) fn part(&self, node: Option<&Arc<NodeSite>>, body: BodyPlace) -> Self {
        let mut access = self.access.clone();
        if let Some(site) = &mut access.site {
            site.node = node.cloned();
        }
        Self { access, known: self.known.clone(), body: Some(Arc::new(body)) }
    }

    /// Its place in the body of a conditional node, if it is inside of one.
    pub(crate) fn body(&self) -> Option<&Arc<BodyPlace>> {
        self.body.as_ref()
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }
}

impl Checker {
    /// Remembers the place of a kernel that is about to be enqueued behind all that `known` includes.
    pub(crate) fn watch_kernel(&mut self, stream: StreamInfo, known: Known) -> Watched {
        let access = Access::new(known.next(), AccessKind::Use, Some(stream));
        self.pending.add(access.epoch);
        Watched { access, known, body: None }
    }

    /// Checks and remembers an op inside a conditional node.
    pub(crate) fn check_part(&mut self, parts: &mut Parts<'_>, watched: &Watched, op: &impl Work<Touch = Touch>) {
        let followers = self.pending.followers(watched.access.epoch);
        let (access, known) = (watched.access.clone(), &watched.known);
        let mut watch = Watch::new(self, parts, known, access, Recording::On, followers);
        watch.body = watched.body.as_deref();
        op.touches(|touch| watch.touch(touch));
        let found = watch.found;
        found.into_iter().for_each(|kind| self.findings.add(kind));
    }

    /// Forgets a conditional node that has ended. One inside another shares its place, and goes with it.
    pub(crate) fn forget_kernel(&mut self, watched: &Watched) {
        if watched.body.is_none() {
            self.pending.take(watched.access.epoch);
        }
    }

    /// Checks the accesses of a kernel that has ended to memory that was freed meanwhile, and takes them out
    /// of `touched`.
    pub(crate) fn check_frees(&mut self, watched: &Watched, touched: &mut Touched) {
        for free in self.pending.take_frees(watched.access.epoch) {
            self.found_freed(&watched.access, touched, &free);
            touched.forget(&free.addresses);
        }
    }

    /// Checks a kernel that has ended, by the bytes that it has touched.
    pub(crate) fn check_ended(
        &mut self,
        parts: &mut Parts<'_>,
        watched: Watched,
        touched: Touched,
        faults: Vec<KernelFault>,
        hazards: Vec<KernelHazard>,
    ) {
        let Watched { access, known, body } = watched;
        let followers = match &body {
            Some(_) => self.pending.followers(access.epoch),
            None => self.pending.take(access.epoch),
        };
        hazards.into_iter().for_each(|found| self.found_hazard(parts.memory, &access, found));
        faults.into_iter().for_each(|fault| self.found_fault(parts.memory, &access, fault));
        let mut watch = Watch::new(self, parts, &known, access, Recording::On, followers);
        watch.body = body.as_deref();
        let kinds = [AccessKind::Read, AccessKind::WaitValue].into_iter().zip(&touched.reads);
        for (kind, ranges) in kinds {
            ranges.parts(&(0..u64::MAX), |range| watch.kernel_reads(range, kind));
        }
        let kinds = [AccessKind::Write, AccessKind::WriteValue].into_iter().zip(&touched.writes);
        for (kind, ranges) in kinds {
            ranges.parts(&(0..u64::MAX), |range| watch.kernel_writes(range, kind));
        }
        let found = watch.found;
        found.into_iter().for_each(|kind| self.findings.add(kind));
    }

    /// Reports that a kernel touched memory whose free is not ordered behind it.
    fn found_freed(&self, access: &Access, touched: &Touched, free: &PendingFree) {
        let Some(UnorderedFree { allocation, free: operation, stream }) = &free.unordered else { return };
        let Some((bytes, kind)) = touched.first_in(&free.addresses) else { return };
        let user = Access { kind, ..access.clone() }.operation(None);
        let missing = missing_edge(&user, operation).unwrap_or_else(|| missing(access.stream, *stream));
        self.findings.add(FindingKind::UseAfterFree {
            user,
            free: operation.clone(),
            allocation: allocation.clone(),
            bytes: bytes.start - allocation.address..bytes.end - allocation.address,
            missing: Some(missing),
        });
    }

    /// Reports a hazard between the threads of a kernel.
    fn found_hazard(&self, memory: &Registry, access: &Access, found: KernelHazard) {
        let user = access.operation(None);
        self.findings.add(match found {
            KernelHazard::Race(mut race) => {
                name_memory(memory, &mut race.memory, &mut race.bytes);
                FindingKind::KernelRace { user, race: Box::new(race) }
            }
            KernelHazard::Copy(mut copy) => {
                name_memory(memory, &mut copy.memory, &mut copy.bytes);
                FindingKind::UnfinishedCopy { user, copy: Box::new(copy) }
            }
            KernelHazard::Heap(misuse) => FindingKind::HeapMisuse { user, misuse: Box::new(misuse) },
            KernelHazard::Absent(visit) => FindingKind::AbsentBlock { user, visit: Box::new(visit) },
            KernelHazard::SharedRead(read) => FindingKind::UninitialisedShared { user, read: Box::new(read) },
            KernelHazard::Barrier(barrier) => FindingKind::BarrierDivergence { user, barrier: Box::new(barrier) },
        });
    }

    fn found_fault(&self, memory: &Registry, access: &Access, mut fault: KernelFault) {
        if let Some(address) = fault.address {
            let freed = memory.freed.containing(address);
            match (memory.nearest(address), freed) {
                (Some((0, found)), _) => fault.near = found.info(),
                (_, Some(freed)) => (fault.near, fault.freed) = (Some(freed.info()), Some(freed.free())),
                (Some((_, found)), None) => fault.near = found.info(),
                (None, None) => {}
            }
        }
        let user = access.operation(None);
        self.findings.add(FindingKind::KernelFault { user, fault: Box::new(fault) });
    }
}

/// Names the allocation of global memory, and turns addresses into its bytes.
fn name_memory(registry: &Registry, memory: &mut RacedMemory, bytes: &mut Range<u64>) {
    let found = match memory {
        RacedMemory::Global => registry.containing(bytes.start).and_then(|found| found.info_at(bytes.start)),
        _ => None,
    };
    if let Some(allocation) = found {
        *bytes = bytes.start - allocation.address..bytes.end - allocation.address;
        *memory = RacedMemory::Allocation(allocation);
    }
}
