//! The two ends of an allocation's life.

use warploom_engine::{Known, QueueId};
use warploom_sys::Function;

use super::report::FindingKind;
use super::watch::{missing, missing_since_birth, shadow_mut, stream_info};
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::shadow::{Access, AccessKind, Conflict, Tracked, current_site};
use crate::memory::{Allocation, Backing};

impl World {
    /// Records a new allocation: from now on, or, if it was made in the order of a queue, for whoever comes behind that.
    pub(crate) fn add_allocation(&mut self, mut allocation: Allocation, queue: Option<QueueId>) {
        if self.findings.is_on() {
            let (epoch, stream) = match queue {
                // The queue's next op is the allocation's own.
                Some(queue) => (self.engine.queue(queue).clock.known.next(), Some(stream_info(&self.engine, queue))),
                None => (self.engine.timelines.host_makes(), None),
            };
            let born = Access { epoch, kind: AccessKind::Allocate, stream, site: current_site() };
            allocation.tracked = Some(Tracked::new(born));
        }
        if allocation.is_managed() {
            self.managed_memory.renew(&self.memory, &allocation);
        }
        self.memory.insert(allocation);
    }

    /// Checks that everything done to an allocation is ordered before a free: in a queue, or by the host, now.
    pub(crate) fn check_free(&mut self, base: u64, queue: Option<QueueId>) -> Status {
        if !self.findings.is_on() {
            return Ok(());
        }
        let known = match queue {
            Some(queue) => self.known_before_next(queue),
            None => self.engine.timelines.host().clone(),
        };
        if !known.is_unsure() {
            self.judge_free(base, queue, &known)?;
        }
        self.note_free(base, queue, &known);
        Ok(())
    }

    /// Remembers a free for kernels that have not ended.
    fn note_free(&mut self, base: u64, queue: Option<QueueId>, known: &Known) {
        let World { memory, virtual_memory, engine, findings, late, .. } = self;
        let Some(allocation) = memory.at(base) else { return };
        let is_last = virtual_memory.is_only_mapping(&allocation.backing);
        let stream = queue.map(|queue| stream_info(engine, queue));
        late.free(&(base..allocation.end()), known, || {
            let access = Access { epoch: known.next(), kind: AccessKind::Free, stream, site: current_site() };
            let allocation = allocation.info().filter(|_| is_last)?;
            Some((allocation, access.operation(findings.caller().as_ref()), stream))
        });
    }

    fn judge_free(&mut self, base: u64, queue: Option<QueueId>, known: &Known) -> Status {
        let World { memory, virtual_memory, engine, findings, .. } = self;
        let stream = queue.map(|queue| stream_info(engine, queue));
        let Some(allocation) = memory.at_mut(base) else { return Ok(()) };
        let access = Access { epoch: known.next(), kind: AccessKind::Free, stream, site: current_site() };
        let mut conflicts = Vec::new();
        let size = allocation.size;
        // Unmapping one of several mappings ends no memory, only a way to it.
        let is_last = virtual_memory.is_only_mapping(&allocation.backing);
        if let Some(shadow) = shadow_mut(allocation, virtual_memory).filter(|_| is_last) {
            shadow.conflicts(0..size, &access, known, &mut conflicts);
        }
        let born = allocation.tracked.as_ref().map(|tracked| &tracked.born);
        let early = born.filter(|born| !known.includes(born.epoch)).map(|born| missing_since_birth(born, stream));
        if conflicts.is_empty() && early.is_none() {
            return Ok(());
        }
        let mut found = Vec::new();
        if let Some(allocation) = allocation.info() {
            let free = access.operation(findings.caller().as_ref());
            // Behind a use it would be behind the allocation, too: one wait is missing, not two.
            if let Some(missing) = early.filter(|_| conflicts.is_empty()) {
                let (user, allocation) = (free.clone(), allocation.clone());
                found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes: 0..size, missing });
            }
            for Conflict { first, bytes } in conflicts {
                let missing = Some(missing(first.stream, stream));
                let user = first.operation(None);
                let (free, allocation) = (free.clone(), allocation.clone());
                found.push(FindingKind::UseAfterFree { user, free, allocation, bytes, missing });
            }
        }
        findings.judge(found)
    }
}

/// What frees an allocation.
fn right_function(allocation: &Allocation) -> Function {
    match allocation.backing {
        Backing::Device | Backing::Managed(_) => Function::cuMemFree_v2,
        Backing::PageLocked(_) => Function::cuMemFreeHost,
        Backing::Registered { .. } => Function::cuMemHostUnregister,
        Backing::Pool(_) => Function::cuMemFreeAsync,
        Backing::Mapped(_) => Function::cuMemUnmap,
        Backing::Variable(_) => Function::cuModuleUnload,
    }
}

impl Call<'_> {
    /// Reports why an address cannot be freed by this call.
    pub(crate) fn found_bad_free(&self, world: &World, address: u64) {
        if !world.findings.is_on() {
            return;
        }
        let free = self.operation(AccessKind::Free);
        let kind = match (world.memory.at(address), world.memory.freed.at(address)) {
            (Some(found), _) => {
                let Some(allocation) = found.info() else { return };
                FindingKind::WrongFree { free, allocation, right: right_function(found) }
            }
            (None, Some(freed)) => {
                FindingKind::DoubleFree { second: free, first: freed.free(), allocation: freed.info() }
            }
            (None, None) => FindingKind::InvalidFree {
                free,
                address,
                inside: world.memory.containing(address).and_then(Allocation::info),
            },
        };
        world.findings.add(kind);
    }
}
