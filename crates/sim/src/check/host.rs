//! Accesses of the host to page-locked and managed memory.

use std::ops::Range;

use warploom_engine::Known;

use super::report::FindingKind;
use super::watch::{missing, shadow_mut};
use crate::machine::world::World;
use crate::memory::shadow::{Access, AccessKind, current_site};

impl World {
    /// Books an access of the host's to one allocation, which goes on until the step that it gives is over.
    pub(crate) fn host_touches(&mut self, bytes: &Range<u64>, kind: AccessKind) -> Known {
        let World { memory, virtual_memory, engine, findings, .. } = self;
        let Some(allocation) = memory.containing_mut(bytes.start).filter(|_| findings.is_on()) else {
            return Known::default();
        };
        let range = bytes.start - allocation.base..bytes.end - allocation.base;
        let (known, step) = engine.timelines.host_begins();
        let access = Access { epoch: step.newest(), kind, stream: None, site: current_site() };
        let (mut conflicts, mut lost) = (Vec::new(), Vec::new());
        let place = allocation.place(bytes.start);
        if let Some(shadow) = shadow_mut(allocation, virtual_memory) {
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
