//! Blocks that a program hands out itself: lent, and taken back.

use std::ops::Range;

use warploom_engine::Known;

use crate::check::checker::{Checker, Parts};
use crate::check::pending_kernels::UnorderedFree;
use crate::check::report::FindingKind;
use crate::check::streams::{missing, missing_since_birth};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::memory::shadow::{Access, AccessKind, Block, Conflict, StreamInfo};

impl Checker {
    /// Lends bytes of an allocation: they come after the allocation, and after all who had them before. They
    /// are uninitialised.
    pub(crate) fn check_lend(
        &mut self,
        parts: &mut Parts<'_>,
        addresses: &Range<u64>,
        stream: StreamInfo,
        known: &Known,
    ) -> Status {
        let (findings, Parts { memory, virtual_memory, .. }) = (&self.findings, parts);
        let id = memory.next_id();
        let allocation = memory.containing_mut(addresses.start).ok_or(INVALID_VALUE)?;
        if addresses.end > allocation.end() || addresses.is_empty() {
            return Err(INVALID_VALUE);
        }
        let (base, side, whole) = (allocation.base, allocation.side, allocation.info());
        let bytes = addresses.start - base..addresses.end - base;
        let tracked = allocation.tracked.as_mut().ok_or(INVALID_VALUE)?;
        let blocks = tracked.blocks.get_or_insert_default();
        if blocks.overlaps(&bytes) {
            return Err(INVALID_VALUE);
        }
        let born = Access::new(known.next(), AccessKind::Allocate, Some(stream));
        let lender = born.operation(findings.caller().as_ref());
        let mut found = Vec::new();
        if !known.is_unsure() {
            if let Some(allocation) = whole.filter(|_| !known.includes(tracked.born.epoch)) {
                let missing = missing_since_birth(tracked.born.stream, Some(stream));
                let user = lender.clone();
                found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes: bytes.clone(), missing });
            }
            for released in blocks.released(&bytes).filter(|released| !known.includes(released.free.epoch)) {
                let allocation = released.block.info(base, side);
                found.push(FindingKind::Race {
                    first: released.free.operation(None),
                    second: lender.clone(),
                    bytes: 0..allocation.bytes,
                    allocation,
                    missing: missing(released.free.stream, Some(stream)),
                });
            }
        }
        findings.judge(found)?;
        blocks.lend(Block { bytes: bytes.clone(), id, born });
        if let Some(shadow) = virtual_memory.shadow_of(allocation) {
            shadow.renew(bytes);
        }
        Ok(())
    }

    /// Takes the block back that starts at an address, after all its uses.
    pub(crate) fn check_release(
        &mut self,
        parts: &mut Parts<'_>,
        address: u64,
        stream: StreamInfo,
        known: &Known,
    ) -> Status {
        let (Self { findings, pending }, Parts { memory, virtual_memory, .. }) = (self, parts);
        let allocation = memory.containing_mut(address).ok_or(INVALID_VALUE)?;
        let (base, side) = (allocation.base, allocation.side);
        let blocks = allocation.tracked.as_ref().and_then(|tracked| tracked.blocks.as_ref());
        let block = blocks.and_then(|blocks| blocks.lent_at(address - base)).ok_or(INVALID_VALUE)?.clone();
        let access = Access::new(known.next(), AccessKind::Free, Some(stream));
        let (info, free) = (block.info(base, side), access.operation(findings.caller().as_ref()));
        let mut conflicts = Vec::new();
        if let Some(shadow) = virtual_memory.shadow_of(allocation).filter(|_| !known.is_unsure()) {
            shadow.conflicts(block.bytes.clone(), &access, known, &mut conflicts);
        }
        let mut found = Vec::new();
        if conflicts.is_empty() && !known.is_unsure() && !known.includes(block.born.epoch) {
            let (user, allocation) = (free.clone(), info.clone());
            let missing = missing_since_birth(block.born.stream, Some(stream));
            found.push(FindingKind::UseBeforeAllocation { user, allocation, bytes: 0..info.bytes, missing });
        }
        for Conflict { first, bytes } in conflicts {
            found.push(FindingKind::UseAfterFree {
                user: first.operation(None),
                free: free.clone(),
                allocation: info.clone(),
                bytes: bytes.start - block.bytes.start..bytes.end - block.bytes.start,
                missing: Some(missing(first.stream, Some(stream))),
            });
        }
        findings.judge(found)?;
        pending.free(&(address..address + info.bytes), known, || {
            Some(UnorderedFree { allocation: info.clone(), free: free.clone(), stream: Some(stream) })
        });
        if let Some(blocks) = allocation.tracked.as_mut().and_then(|tracked| tracked.blocks.as_mut()) {
            blocks.release(block.bytes.start, access);
        }
        if let Some(shadow) = virtual_memory.shadow_of(allocation) {
            shadow.renew(block.bytes);
        }
        Ok(())
    }
}
