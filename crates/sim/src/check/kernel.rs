//! Kernels: what they touch is known only when they have run.
//!
//! Every other op says what it touches when it is enqueued, and is compared with what was enqueued before. A kernel is
//! compared when it has ended, with what was enqueued before it and with what came since; of the latter, all that knew the
//! kernel when it was enqueued is ordered behind it. While a kernel that comes before an op has not run, nobody can say
//! that bytes are unwritten which that op reads.
//!
//! Memory that is freed before the kernel has ended is compared then, too: unless something puts the free behind the kernel,
//! touching it is a use after free.
//!
//! Accesses that are made to meet others (atomic, volatile) do not race with each other. Threads that hand memory on by
//! such means order what they do in ways that are not seen here.

use std::collections::HashSet;
use std::ops::Range;

use warploom_engine::{Epoch, Known};

use super::outside::nearest;
use super::report::{FindingKind, KernelFault, KernelHazard, RacedMemory};
use super::watch::{Books, Watch, missing, stream_info};
use crate::machine::world::{Work, World};
use crate::memory::Allocation;
use crate::memory::shadow::{Access, AccessKind, AllocationInfo, Operation, StreamInfo, Touched, current_site};
use warploom_engine::QueueId;

/// A kernel's place among everything else.
#[derive(Debug)]
pub(crate) struct Watched {
    access: Access,
    known: Known,
}

/// Kernels that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Late(Vec<LateKernel>);

#[derive(Debug)]
struct LateKernel {
    epoch: Epoch,
    /// What was enqueued since and is ordered behind it.
    followers: HashSet<Epoch>,
    /// Memory that was freed since.
    frees: Vec<LateFree>,
}

/// Memory that is freed while a kernel has not ended, which may yet touch it or have done so.
#[derive(Clone, Debug)]
pub(super) struct LateFree {
    pub(super) addresses: Range<u64>,
    /// What and by whom, if nothing orders the free behind the kernel.
    pub(super) unordered: Option<(AllocationInfo, Operation, Option<StreamInfo>)>,
}

impl Late {
    /// An op is enqueued, behind all that it knows.
    pub(super) fn note(&mut self, epoch: Epoch, known: &Known) {
        for kernel in self.0.iter_mut().filter(|kernel| known.includes(kernel.epoch)) {
            kernel.followers.insert(epoch);
        }
    }

    /// Whether a kernel that comes before has yet to run.
    pub(super) fn is_behind(&self, known: &Known) -> bool {
        self.0.iter().any(|kernel| known.includes(kernel.epoch))
    }

    fn add(&mut self, epoch: Epoch) {
        self.0.push(LateKernel { epoch, followers: HashSet::new(), frees: Vec::new() });
    }

    fn take(&mut self, epoch: Epoch) -> HashSet<Epoch> {
        let at = self.0.iter().position(|kernel| kernel.epoch == epoch);
        at.map(|at| self.0.swap_remove(at).followers).unwrap_or_default()
    }

    fn take_frees(&mut self, epoch: Epoch) -> Vec<LateFree> {
        let kernel = self.0.iter_mut().find(|kernel| kernel.epoch == epoch);
        kernel.map(|kernel| std::mem::take(&mut kernel.frees)).unwrap_or_default()
    }

    /// Memory is freed, behind all that is known; `free` says what a report needs.
    pub(super) fn free(
        &mut self,
        addresses: &Range<u64>,
        known: &Known,
        free: impl Fn() -> Option<(AllocationInfo, Operation, Option<StreamInfo>)>,
    ) {
        for kernel in &mut self.0 {
            let is_ordered = known.is_unsure() || known.includes(kernel.epoch);
            let unordered = if is_ordered { None } else { free() };
            kernel.frees.push(LateFree { addresses: addresses.clone(), unordered });
        }
    }
}

impl World {
    /// Remembers where a kernel stands that is about to be enqueued.
    pub(crate) fn watch_kernel(&mut self, queue: QueueId, work: &mut Work) {
        let Work::Task(task) = work else { return };
        if !self.findings.is_on() {
            return;
        }
        let known = self.engine.queue(queue).clock.known.clone();
        let stream = Some(stream_info(&self.engine, queue));
        let access = Access { epoch: known.next(), kind: AccessKind::Use, stream, site: current_site() };
        self.late.add(access.epoch);
        task.watch(Watched { access, known });
    }

    /// Checks what a kernel that has ended did to memory that was freed meanwhile, and leaves that out of what it touched.
    pub(crate) fn check_frees(&mut self, watched: &Watched, touched: &mut Touched) {
        for free in self.late.take_frees(watched.access.epoch) {
            self.found_freed(&watched.access, touched, &free);
            touched.forget(&free.addresses);
        }
    }

    /// Checks a kernel that has ended, by what it has touched.
    pub(crate) fn check_ended(
        &mut self,
        watched: Watched,
        touched: Touched,
        fault: Option<KernelFault>,
        inside: Vec<KernelHazard>,
    ) {
        let Watched { access, known } = watched;
        let followers = self.late.take(access.epoch);
        inside.into_iter().for_each(|found| self.found_inside(&access, found));
        if let Some(fault) = fault {
            self.found_fault(&access, fault);
        }
        let World { memory, virtual_memory, engine, findings, late, .. } = self;
        let found = Vec::new();
        let (books, known) = (Books::Open, &known);
        let mut watch =
            Watch { memory, virtual_memory, engine, known, access, findings, books, found, followers, late };
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

    /// Reports that a kernel touched memory whose free nothing puts behind it.
    fn found_freed(&self, access: &Access, touched: &Touched, free: &LateFree) {
        let Some((allocation, operation, stream)) = &free.unordered else { return };
        let Some((bytes, kind)) = touched.first_in(&free.addresses) else { return };
        self.findings.add(FindingKind::UseAfterFree {
            user: Access { kind, ..access.clone() }.operation(None),
            free: operation.clone(),
            allocation: allocation.clone(),
            bytes: bytes.start - allocation.address..bytes.end - allocation.address,
            missing: Some(missing(access.stream, *stream)),
        });
    }

    /// Reports what was found among the threads of a kernel.
    fn found_inside(&self, access: &Access, found: KernelHazard) {
        let user = access.operation(None);
        self.findings.add(match found {
            KernelHazard::Race(mut race) => {
                self.name_memory(&mut race.memory, &mut race.bytes);
                FindingKind::KernelRace { user, race: Box::new(race) }
            }
            KernelHazard::Copy(mut copy) => {
                self.name_memory(&mut copy.memory, &mut copy.bytes);
                FindingKind::UnfinishedCopy { user, copy: Box::new(copy) }
            }
            KernelHazard::Heap(misuse) => FindingKind::HeapMisuse { user, misuse: Box::new(misuse) },
            KernelHazard::Absent(visit) => FindingKind::AbsentBlock { user, visit: Box::new(visit) },
            KernelHazard::SharedRead(read) => FindingKind::UninitialisedShared { user, read: Box::new(read) },
            KernelHazard::Barrier(barrier) => FindingKind::BarrierDivergence { user, barrier: Box::new(barrier) },
        });
    }

    /// Says which allocation global memory is of, and which of its bytes they are.
    fn name_memory(&self, memory: &mut RacedMemory, bytes: &mut Range<u64>) {
        let found = match memory {
            RacedMemory::Global => self.memory.containing(bytes.start).and_then(Allocation::info),
            _ => None,
        };
        if let Some(allocation) = found {
            *bytes = bytes.start - allocation.address..bytes.end - allocation.address;
            *memory = RacedMemory::Allocation(allocation);
        }
    }

    fn found_fault(&self, access: &Access, mut fault: KernelFault) {
        if let Some(address) = fault.address {
            let freed = self.memory.freed.containing(address);
            match (nearest(self, address), freed) {
                (Some((0, found)), _) => fault.near = found.info(),
                (_, Some(freed)) => (fault.near, fault.freed) = (Some(freed.info()), Some(freed.free())),
                (Some((_, found)), None) => fault.near = found.info(),
                (None, None) => {}
            }
        }
        let user = access.operation(None);
        self.findings.add(FindingKind::KernelFault { user, fault: Box::new(fault) });
    }

    /// Books all of a new allocation as written.
    pub(crate) fn mark_written(&mut self, base: u64) {
        let Some(allocation) = self.memory.at_mut(base) else { return };
        let size = allocation.size;
        if let Some(tracked) = &mut allocation.tracked {
            tracked.shadow.written.add(0..size);
        }
    }
}
