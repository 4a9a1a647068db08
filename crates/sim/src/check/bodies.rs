//! Bodies of conditional nodes: the accesses of their nodes, compared with each other.
//!
//! Compared with everything outside, a node of a body stands where its conditional node stands. Compared with
//! the other nodes of the body, it is a step of one of the body's own timelines, the chains of its plan. The
//! runs of a loop follow each other, so that each run is compared on its own.
//!
//! ```text
//!   launch ─▶ … ─▶ conditional node ─▶ …          one step for everything inside
//!                      │
//!                      ├─ run 1: chain 0 ─▶ step ─▶ step    compared with each other
//!                      │         chain 1 ─▶ step
//!                      └─ run 2: …
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_engine::{Epoch, Known};

use crate::memory::shadow::{Access, Conflict, NodeSite, Shadow};

/// One run of a body.
#[derive(Debug)]
pub(crate) struct BodyRun {
    accesses: Mutex<Accesses>,
    reported: Arc<ReportedPairs>,
}

/// The pairs of nodes whose race was reported in an earlier run of the body, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct ReportedPairs(Mutex<HashSet<(usize, usize)>>);

#[derive(Debug, Default)]
struct Accesses {
    /// The accesses of the nodes that were compared so far, by address.
    shadow: Shadow,
    /// The clocks before the steps.
    before: HashMap<Epoch, Known>,
}

/// The place of a node in a run of a body.
#[derive(Debug)]
pub(crate) struct BodyPlace {
    run: Arc<BodyRun>,
    epoch: Epoch,
    /// The place of its conditional node, if that is inside another body.
    outer: Option<Arc<BodyPlace>>,
}

impl BodyRun {
    /// A run, in which no pair is reported a second time.
    pub(crate) fn new(reported: &Arc<ReportedPairs>) -> Arc<Self> {
        Arc::new(Self { accesses: Mutex::default(), reported: Arc::clone(reported) })
    }

    /// The place of a step behind all that `known` includes, the next of its own timeline.
    pub(crate) fn place(self: &Arc<Self>, known: &Known, outer: Option<&Arc<BodyPlace>>) -> BodyPlace {
        let epoch = known.next();
        self.accesses.lock().before.insert(epoch, known.clone());
        BodyPlace { run: Arc::clone(self), epoch, outer: outer.cloned() }
    }
}

impl Accesses {
    /// `true` if one of two steps comes before the other, or nothing can be said of their order.
    fn are_ordered(&self, one: Epoch, other: Epoch) -> bool {
        let is_before =
            |first, second| self.before.get(&second).is_none_or(|known| known.is_unsure() || known.includes(first));
        is_before(one, other) || is_before(other, one)
    }
}

impl BodyPlace {
    /// Records an access to a range of addresses. Gives the accesses of other nodes of the body, and of the
    /// bodies around it, that conflict with it and have no order with it.
    pub(super) fn touch(&self, addresses: &Range<u64>, access: &Access) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let mut place = Some(self);
        while let Some(BodyPlace { run, epoch, outer }) = place {
            let accesses = &mut *run.accesses.lock();
            let (own, mut found) = (Access { epoch: *epoch, ..access.clone() }, Vec::new());
            // Kernels are compared when they have ended, in any order: so nothing is forgotten, and both
            // directions are looked at.
            accesses.shadow.touch(addresses.clone(), &own, &Known::default(), &mut found);
            found.retain(|conflict| !accesses.are_ordered(conflict.first.epoch, *epoch));
            found.retain(|conflict| run.reported.add(&conflict.first, access));
            conflicts.append(&mut found);
            place = outer.as_deref();
        }
        conflicts
    }
}

impl ReportedPairs {
    /// Adds the nodes of two accesses; `false` if they are there. Accesses without a node are never there.
    fn add(&self, first: &Access, second: &Access) -> bool {
        let node = |access: &Access| {
            access.site.as_ref()?.node.as_ref().map(|node| std::ptr::from_ref::<NodeSite>(node).addr())
        };
        match (node(first), node(second)) {
            (Some(first), Some(second)) => self.0.lock().insert((first.min(second), first.max(second))),
            _ => true,
        }
    }
}
