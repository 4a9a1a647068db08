//! The wait that is missing between two operations.

use crate::check::report::MissingWait;
use crate::memory::shadow::{Operation, StreamInfo};

/// The wait that would order a use behind the allocation, by the stream that allocated. Memory that a thread
/// allocates is there for its streams at once; only another thread can come too early.
pub(in crate::check) fn missing_since_birth(born: Option<StreamInfo>, user: Option<StreamInfo>) -> MissingWait {
    match born {
        Some(stream) => missing(Some(stream), user),
        None => MissingWait::HostAfterHost,
    }
}

/// The edge that would order two operations, if both are nodes of one launch of a graph.
pub(in crate::check) fn missing_edge(first: &Operation, second: &Operation) -> Option<MissingWait> {
    let (from, to) = (first.node.as_ref()?, second.node.as_ref()?);
    let is_one_launch = first.call.is_some() && first.call == second.call;
    is_one_launch.then_some(MissingWait::GraphEdge { from: from.node, to: to.node })
}

/// Two operations; nodes of one launch in the order in which they were added, whichever of them ran first.
pub(in crate::check) fn by_addition(first: Operation, second: Operation) -> (Operation, Operation) {
    let added = |operation: &Operation| operation.node.as_ref().map(|node| node.added);
    match missing_edge(&first, &second) {
        Some(_) if added(&second) < added(&first) => (second, first),
        _ => (first, second),
    }
}

/// The wait that would order two operations, by their streams.
pub(in crate::check) fn missing(first: Option<StreamInfo>, second: Option<StreamInfo>) -> MissingWait {
    match (first, second) {
        (Some(first), Some(second)) => MissingWait::StreamAfterStream { first, second },
        (Some(first), None) => MissingWait::HostAfterStream { first },
        (None, Some(second)) => MissingWait::StreamAfterHost { second },
        (None, None) => MissingWait::HostAfterHost,
    }
}
