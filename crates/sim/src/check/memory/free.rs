//! Frees: use after free, double and wrong frees.

use warploom_engine::Known;
use warploom_sys::Function;

use crate::check::checker::{Checker, Parts};
use crate::check::pending_kernels::UnorderedFree;
use crate::check::report::FindingKind;
use crate::check::streams::{missing, missing_edge, missing_since_birth};
use crate::ffi::status::Status;
use crate::memory::shadow::{Access, AccessKind, Conflict, StreamInfo};
use crate::memory::{Allocation, Backing, Registry};

impl Checker {
    /// Checks that every access to an allocation is ordered before a free: in a stream, or by the host, now.
    /// `known` includes all that comes before the free.
    pub(crate) fn check_free(
        &mut self,
        parts: &mut Parts<'_>,
        base: u64,
        stream: Option<StreamInfo>,
        known: &Known,
    ) -> Status {
        if !known.is_unsure() {
            self.judge_free(parts, base, stream, known)?;
        }
        self.note_free(parts, base, stream, known);
        Ok(())
    }

    /// Checks a free by a node of a launch that may yet be refused, without remembering it.
    pub(crate) fn check_draft_free(
        &mut self,
        parts: &mut Parts<'_>,
        base: u64,
        stream: StreamInfo,
        known: &Known,
    ) -> Status {
        if known.is_unsure() { Ok(()) } else { self.judge_free(parts, base, Some(stream), known) }
    }

    /// Remembers a free for kernels that have not ended.
    fn note_free(&mut self, parts: &mut Parts<'_>, base: u64, stream: Option<StreamInfo>, known: &Known) {
        let (Self { findings, pending }, Parts { memory, virtual_memory, .. }) = (self, parts);
        let Some(allocation) = memory.at(base) else { return };
        let is_last = virtual_memory.is_only_mapping(&allocation.backing);
        pending.free(&(base..allocation.end()), known, || {
            let access = Access::new(known.next(), AccessKind::Free, stream);
            let allocation = allocation.info().filter(|_| is_last)?;
            let free = access.operation(findings.caller().as_ref());
            Some(UnorderedFree { allocation, free, stream })
        });
    }

    fn judge_free(&self, parts: &mut Parts<'_>, base: u64, stream: Option<StreamInfo>, known: &Known) -> Status {
        let (findings, Parts { memory, virtual_memory, .. }) = (&self.findings, parts);
        let Some(allocation) = memory.at_mut(base) else { return Ok(()) };
        let access = Access::new(known.next(), AccessKind::Free, stream);
        let mut conflicts = Vec::new();
        let (base, size, side) = (allocation.base, allocation.size, allocation.side);
        // Unmapping one of several mappings ends no memory, only a way to it.
        let is_last = virtual_memory.is_only_mapping(&allocation.backing);
        if let Some(shadow) = virtual_memory.shadow_of(allocation).filter(|_| is_last) {
            shadow.conflicts(0..size, &access, known, &mut conflicts);
        }
        let born = allocation.tracked.as_ref().map(|tracked| &tracked.born);
        let early =
            born.filter(|born| !known.includes(born.epoch)).map(|born| missing_since_birth(born.stream, stream));
        // A block that went back in the order of another stream.
        let blocks = allocation.tracked.as_ref().and_then(|tracked| tracked.blocks.as_ref());
        let whole = 0..size;
        let released = blocks.into_iter().flat_map(|blocks| blocks.released(&whole));
        let unordered: Vec<_> = released.filter(|released| !known.includes(released.free.epoch)).cloned().collect();
        if conflicts.is_empty() && early.is_none() && unordered.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        if let Some(allocation) = allocation.info() {
            let free = access.operation(findings.caller().as_ref());
            // Behind a use it would be behind the allocation, too: one wait is missing, not two.
            if let Some(missing) = early.filter(|_| conflicts.is_empty()) {
                let missing = missing_edge(&allocation.made, &free).unwrap_or(missing);
                let (user, allocation) = (free.clone(), allocation.clone());
                found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes: 0..size, missing });
            }
            for released in unordered {
                let (user, block) = (released.free.operation(None), released.block.info(base, side));
                let missing = Some(missing(released.free.stream, stream));
                let (free, bytes) = (free.clone(), 0..block.bytes);
                found.push(FindingKind::UseAfterFree { user, free, allocation: block, bytes, missing });
            }
            for Conflict { first, bytes } in conflicts {
                let (wait, user) = (missing(first.stream, stream), first.operation(None));
                let missing = Some(missing_edge(&user, &free).unwrap_or(wait));
                let (free, allocation) = (free.clone(), allocation.clone());
                found.push(FindingKind::UseAfterFree { user, free, allocation, bytes, missing });
            }
        }
        findings.judge(found)
    }

    /// Reports why this call cannot free an address.
    pub(crate) fn found_bad_free(&self, memory: &Registry, address: u64) {
        if !self.findings.is_on() {
            return;
        }
        let free = self.findings.operation(AccessKind::Free);
        let kind = match (memory.at(address), memory.freed.at(address)) {
            (Some(found), _) => {
                let Some(allocation) = found.info() else { return };
                FindingKind::WrongFree { free, allocation, right: right_function(found) }
            }
            (None, Some(freed)) => {
                FindingKind::DoubleFree { second: free, first: freed.free(), allocation: freed.info() }
            }
            (None, None) => {
                let inside = memory.containing(address).and_then(Allocation::info);
                FindingKind::InvalidFree { free, address, inside }
            }
        };
        self.findings.add(kind);
    }
}

/// The function that frees an allocation.
fn right_function(allocation: &Allocation) -> Function {
    match allocation.backing {
        Backing::Device | Backing::Managed(_) => Function::cuMemFree_v2,
        Backing::PageLocked(_) => Function::cuMemFreeHost,
        Backing::Registered { .. } => Function::cuMemHostUnregister,
        Backing::Pool(_) | Backing::Graph(_) => Function::cuMemFreeAsync,
        Backing::Mapped(_) => Function::cuMemUnmap,
        Backing::Imported(_) => Function::cuIpcCloseMemHandle,
        Backing::Variable(_) => Function::cuModuleUnload,
    }
}
