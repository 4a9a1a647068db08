//! Accesses of the host to page-locked and managed memory, which are no driver calls.

use std::ops::Range;

use warploom_engine::Known;

use super::order::missing;
use crate::check::checker::{Checker, Parts};
use crate::check::report::FindingKind;
use crate::memory::shadow::{Access, AccessKind};

impl Checker {
    /// Checks and remembers an access of the host to one allocation, which goes on until the step that it
    /// gives is over.
    pub(crate) fn check_host_access(&self, parts: &mut Parts<'_>, bytes: &Range<u64>, kind: AccessKind) -> Known {
        let (findings, Parts { memory, virtual_memory, timelines, .. }) = (&self.findings, parts);
        let Some(allocation) = memory.containing_mut(bytes.start).filter(|_| findings.is_on()) else {
            return Known::default();
        };
        let range = bytes.start - allocation.base..bytes.end - allocation.base;
        let (known, step) = timelines.host_begins();
        let access = Access::new(step.newest(), kind, None);
        let (mut conflicts, mut lost) = (Vec::new(), Vec::new());
        let place = allocation.place(bytes.start);
        if let Some(shadow) = virtual_memory.shadow_of(allocation) {
            shadow.touch(range.clone(), &access, &known, &mut conflicts);
            if kind == AccessKind::Write {
                shadow.discarded.remove(range);
            } else if conflicts.is_empty() {
                lost = shadow.lost(&range, place, &known);
            }
        }
        let Some(allocation) = allocation.info() else { return step };
        if let Some(first) = lost.first().cloned() {
            let (user, allocation) = (access.operation(findings.caller().as_ref()), allocation.clone());
            let total = lost.iter().map(|part| part.end - part.start).sum();
            findings.add(FindingKind::UninitialisedRead { user, allocation, bytes: first, total, discarded: true });
        }
        for conflict in conflicts {
            let second = access.operation(findings.caller().as_ref());
            let missing = missing(conflict.first.stream, None);
            let (first, allocation) = (conflict.first.operation(None), allocation.clone());
            findings.add(FindingKind::Race { first, second, allocation, bytes: conflict.bytes, missing });
        }
        step
    }
}
