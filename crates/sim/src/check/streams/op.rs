//! Checks of ops when they are enqueued.

use std::collections::HashSet;

use warploom_engine::{Known, Work};

use super::watch::{Drafts, Recording, Watch};
use crate::check::checker::{Checker, Parts};
use crate::check::report::FindingKind;
use crate::ffi::status::Status;
use crate::memory::Touch;
use crate::memory::shadow::{Access, AccessKind, Ranges, StreamInfo};

impl Checker {
    /// Checks an op that is about to be enqueued behind all that `known` includes.
    pub(crate) fn check_op(
        &mut self,
        parts: &mut Parts<'_>,
        stream: StreamInfo,
        known: &Known,
        op: &impl Work<Touch = Touch>,
    ) -> Status {
        let access = Access::new(known.next(), AccessKind::Use, Some(stream));
        self.pending.note(access.epoch, known);
        // Nothing is to be remembered of a call that fails, so that remembering is a second pass.
        if self.findings.fails_calls() {
            let found = self.watch(parts, known, access.clone(), op, Recording::Off);
            self.findings.judge(found)?;
        }
        let found = self.watch(parts, known, access, op, Recording::On);
        self.findings.judge(found)
    }

    /// Checks ops that are about to be enqueued one after the other, all or none of them, without remembering
    /// them.
    pub(crate) fn check_ahead(
        &mut self,
        parts: &mut Parts<'_>,
        stream: StreamInfo,
        known: &Known,
        ops: &[impl Work<Touch = Touch>],
    ) -> Status {
        let mut found = Vec::new();
        for op in ops {
            let access = Access::new(known.next(), AccessKind::Use, Some(stream));
            found.extend(self.watch(parts, known, access, op, Recording::Off));
        }
        self.findings.judge(found)
    }

    /// Checks an op of a launch that may yet be refused. Its accesses are remembered apart. Bytes that other
    /// nodes of the launch write are not known, so that none is called unwritten.
    pub(crate) fn check_draft(
        &mut self,
        parts: &mut Parts<'_>,
        stream: StreamInfo,
        known: &Known,
        op: &impl Work<Touch = Touch>,
        drafts: &mut Drafts,
    ) -> Status {
        let access = Access::new(known.next(), AccessKind::Use, Some(stream));
        let mut found = self.watch(parts, known, access, op, Recording::Draft(drafts));
        found.retain(|kind| !matches!(kind, FindingKind::UninitialisedRead { .. }));
        self.findings.judge(found)
    }

    /// Checks ops that stand behind a queue's newest and have no order among themselves, so that each is a
    /// timeline of its own. The next op of the queue comes behind them all: `known`, the queue's clock,
    /// includes them afterwards.
    pub(crate) fn check_batch(
        &mut self,
        parts: &mut Parts<'_>,
        stream: StreamInfo,
        known: &mut Known,
        ops: &[impl Work<Touch = Touch>],
    ) -> Status {
        let before = known.clone();
        let mut accesses = Vec::with_capacity(ops.len());
        for _ in ops {
            let mut own = parts.timelines.start();
            let access = Access::new(own.next(), AccessKind::Use, Some(stream));
            self.pending.note(access.epoch, &before);
            known.include(access.epoch);
            own.advance();
            parts.timelines.end(&own);
            accesses.push(access);
        }
        let mut drafts = Drafts::new();
        if self.findings.fails_calls() {
            let mut found = Vec::new();
            for (op, access) in ops.iter().zip(&accesses) {
                found.extend(self.watch(parts, &before, access.clone(), op, Recording::Draft(&mut drafts)));
            }
            self.findings.judge(found)?;
        }
        for (op, access) in ops.iter().zip(accesses) {
            let found = self.watch(parts, &before, access, op, Recording::On);
            self.findings.judge(found)?;
        }
        Ok(())
    }

    /// `true` if a finding stops the call that it is found in.
    pub(crate) fn fails_calls(&self) -> bool {
        self.findings.fails_calls()
    }

    /// Forgets all discards: a host function may write the bytes unseen.
    pub(crate) fn forget_discards(parts: &mut Parts<'_>) {
        let Parts { memory, virtual_memory, .. } = parts;
        for allocation in memory.iter_mut().filter(|allocation| allocation.is_managed()) {
            if let Some(shadow) = virtual_memory.shadow_of(allocation) {
                shadow.discarded = Ranges::default();
            }
        }
    }

    fn watch(
        &self,
        parts: &mut Parts<'_>,
        known: &Known,
        access: Access,
        op: &impl Work<Touch = Touch>,
        recording: Recording<'_>,
    ) -> Vec<FindingKind> {
        let mut watch = Watch::new(self, parts, known, access, recording, HashSet::new());
        op.touches(|touch| watch.touch(touch));
        watch.found
    }
}
