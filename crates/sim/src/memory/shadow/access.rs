//! One remembered access, and the pairs of accesses that conflict.

use std::ops::Range;

use warploom_engine::Epoch;

use super::operation::{AccessKind, AllocationInfo, GraphNode, Operation, StreamInfo};
use super::site::{self, NodeSite, Site, Trace};
use crate::memory::sim_address::Side;

/// An access to some bytes: its kind, its step of a timeline, its stream and its call.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) epoch: Epoch,
    pub(crate) kind: AccessKind,
    /// None if the host did it itself.
    pub(crate) stream: Option<StreamInfo>,
    /// None if it was no call.
    pub(crate) site: Option<Site>,
}

// One for each tracked range at least, and one for each stream that reads a range at the same time as others.
const _: () = assert!(size_of::<Access>() <= 72, "an access is small");

/// An earlier access that a new one is not ordered behind.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub(crate) first: Access,
    /// The first stretch of bytes that both touch.
    pub(crate) bytes: Range<u64>,
}

impl AccessKind {
    fn writes(self) -> bool {
        matches!(self, AccessKind::Write | AccessKind::WriteValue | AccessKind::Free)
    }

    /// `true` if it is made to meet another of its sort.
    fn meets(self) -> bool {
        matches!(self, AccessKind::WaitValue | AccessKind::WriteValue)
    }

    /// `true` if both are the same, or parts of one op.
    pub(crate) fn is_like(self, other: AccessKind) -> bool {
        let moves = |kind| matches!(kind, AccessKind::Prefetch | AccessKind::Discard);
        self == other || moves(self) && moves(other)
    }

    /// `true` if two accesses of the same bytes need an order.
    ///
    /// Memory may be used while it is prefetched. A discard conflicts with all other accesses but another
    /// discard.
    pub(crate) fn conflicts(self, other: AccessKind) -> bool {
        use AccessKind::{Discard, Free, Prefetch};
        match (self, other) {
            (Discard, Discard) => return false,
            (Discard, _) | (_, Discard) => return true,
            (Prefetch, other) | (other, Prefetch) => return other == Free,
            _ => {}
        }
        (self.writes() || other.writes()) && !(self.meets() && other.meets())
    }

    /// `true` if every later access that conflicts with `earlier` conflicts with this one, too, so that
    /// behind this one `earlier` need not be remembered.
    pub(crate) fn covers(self, earlier: AccessKind) -> bool {
        use AccessKind::{Discard, Prefetch, WaitValue, Write};
        self == earlier
            || self == Write && earlier != Discard
            || earlier == WaitValue && !matches!(self, Prefetch | Discard)
    }
}

impl Access {
    /// An access of the call that this thread is in.
    #[inline]
    pub(crate) fn new(epoch: Epoch, kind: AccessKind, stream: Option<StreamInfo>) -> Self {
        Self { epoch, kind, stream, site: site::current() }
    }

    /// The access for a report. `fallback` is the backtrace where none was remembered.
    pub(crate) fn operation(&self, fallback: Option<&Trace>) -> Operation {
        let trace = self.site.as_ref().and_then(|site| site.trace.as_deref()).or(fallback);
        Operation {
            process: None,
            call: self.site.as_ref().map(|site| site.call),
            function: self.site.as_ref().map(|site| site.function),
            access: self.kind,
            stream: self.stream,
            node: self.site.as_ref().and_then(|site| site.node.as_deref()).map(GraphNode::from),
            backtrace: trace.map(Trace::frames).unwrap_or_default(),
        }
    }
}

impl Operation {
    /// A call that is remembered for an object or an allocation as a whole.
    pub(crate) fn of_call(access: AccessKind, site: &Site) -> Self {
        Self {
            process: None,
            call: Some(site.call),
            function: Some(site.function),
            access,
            stream: None,
            node: None,
            backtrace: site.trace.as_deref().map(Trace::frames).unwrap_or_default(),
        }
    }
}

impl From<&NodeSite> for GraphNode {
    fn from(site: &NodeSite) -> Self {
        let NodeSite { graph, node, kind, added } = site;
        let backtrace = added.trace.as_deref().map(Trace::frames).unwrap_or_default();
        Self { graph: *graph, node: *node, kind, added: added.call, function: added.function, backtrace }
    }
}

impl AllocationInfo {
    /// An allocation for a report.
    #[inline]
    pub(crate) fn new((address, bytes): (u64, u64), id: u64, side: Side, born: &Access) -> Self {
        let device = match side {
            Side::Device(device) => Some(device),
            Side::Host => None,
        };
        Self { address, bytes, id, device, made: born.operation(None) }
    }
}

#[cfg(test)]
mod tests {
    use AccessKind::{Discard, Free, Prefetch, Read, WaitValue, Write, WriteValue};

    use super::*;

    #[test]
    fn forgotten_accesses_are_never_needed() {
        let all = [Read, Write, WaitValue, WriteValue, Prefetch, Discard];
        for (newer, earlier) in all.into_iter().flat_map(|newer| all.map(|earlier| (newer, earlier))) {
            if newer.covers(earlier) {
                for later in all.into_iter().filter(|later| later.conflicts(earlier)) {
                    assert!(later.conflicts(newer), "{later:?} races with {earlier:?}, which {newer:?} would hide");
                }
            }
        }
    }

    #[test]
    fn memory_is_used_while_it_is_prefetched_and_left_alone_while_it_is_discarded() {
        for other in [Read, Write, WaitValue, WriteValue, Prefetch] {
            assert!(!Prefetch.conflicts(other) && !other.conflicts(Prefetch) || other == Discard, "{other:?}");
            assert!(Discard.conflicts(other) && other.conflicts(Discard), "{other:?}");
        }
        assert!(!Discard.conflicts(Discard) && Free.conflicts(Prefetch) && Free.conflicts(Discard));
    }

    #[test]
    fn readers_do_not_conflict_and_values_are_made_to_meet() {
        assert!(!Read.conflicts(Read) && !Read.conflicts(WaitValue) && !WriteValue.conflicts(WaitValue));
        assert!(Read.conflicts(Write) && Write.conflicts(Write) && Read.conflicts(WriteValue));
        assert!(Write.conflicts(WaitValue));
    }
}
