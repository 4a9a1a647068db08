//! Findings in a line each, from their typed parts, with the bench's own names for streams and memory.

use warploom_testkit::driver::Function;
use warploom_testkit::sim::{FindingKind, Leaked, MissingWait, Operation};

use super::bench::Bench;

/// An operation: `cuMemsetD8Async on A`, or `memset 1 on A` for the node with that number of a graph.
fn by(bench: &Bench, operation: &Operation) -> String {
    let function = operation.function.map_or("the host", named);
    let who =
        operation.node.as_ref().map_or_else(|| function.to_owned(), |node| format!("{} {}", node.kind, node.node));
    match &operation.stream {
        Some(stream) => format!("{who} on {}", bench.stream_name(stream)),
        None => who,
    }
}

/// An operation with what it does: `cuMemsetD8Async on A writes`.
fn does(bench: &Bench, operation: &Operation) -> String {
    format!("{} {}", by(bench, operation), operation.access)
}

fn missing(bench: &Bench, missing: &MissingWait) -> String {
    match missing {
        MissingWait::StreamAfterStream { first, second } => {
            format!("{} after {}", bench.stream_name(second), bench.stream_name(first))
        }
        MissingWait::HostAfterStream { first } => format!("host after {}", bench.stream_name(first)),
        MissingWait::StreamAfterHost { second } => format!("{} after host", bench.stream_name(second)),
        MissingWait::GraphEdge { from, to } => format!("edge from {from} to {to}"),
        MissingWait::SeparateCalls => "separate calls".to_owned(),
        MissingWait::HostAfterHost => "host after host".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A finding in a line.
pub(crate) fn line(bench: &Bench, kind: &FindingKind) -> String {
    let (by, does) = (|operation| by(bench, operation), |operation| does(bench, operation));
    let name = |allocation| bench.name_of(allocation);
    match kind {
        FindingKind::Race { first, second, allocation, bytes, missing: wait } => {
            let (first, second, wait) = (does(first), does(second), missing(bench, wait));
            format!("race: {first}, {second} {bytes:?} of {}; {wait}", name(allocation))
        }
        FindingKind::UseAfterFree { user, free, allocation, bytes, missing: wait } => {
            let wait = wait.as_ref().map_or_else(|| "too late".to_owned(), |wait| missing(bench, wait));
            format!("use after free: {} {bytes:?} of {}, {}; {wait}", does(user), name(allocation), does(free))
        }
        FindingKind::UseBeforeAllocation { user, allocation, bytes, missing: wait } => {
            let (user, made, wait) = (does(user), by(&allocation.made), missing(bench, wait));
            format!("use before allocation: {user} {bytes:?} of {} of {made}; {wait}", name(allocation))
        }
        FindingKind::DoubleFree { second, first, allocation } => {
            format!("double free: {} of {}, {}", by(second), name(allocation), by(first))
        }
        FindingKind::WrongFree { free, allocation, right } => {
            format!("wrong free: {} of {}, not {}", by(free), name(allocation), right.name())
        }
        FindingKind::InvalidFree { free, address, inside: Some(allocation) } => {
            format!("invalid free: {} of {} + {}", by(free), name(allocation), address - allocation.address)
        }
        FindingKind::InvalidFree { free, .. } => format!("invalid free: {} of nothing", by(free)),
        FindingKind::OutOfBounds { user, allocation, wanted, outside } => {
            format!("out of bounds: {} {wanted:?} of {}, {outside} outside", does(user), name(allocation))
        }
        FindingKind::WildPointer { user, bytes, .. } => format!("wild pointer: {} {bytes} bytes", does(user)),
        FindingKind::UninitialisedRead { user, allocation, bytes, total, .. } => {
            format!("uninitialised: {} {bytes:?} of {}, {total} in all", does(user), name(allocation))
        }
        FindingKind::HandleMisuse { user, wanted, problem, destroyed, .. } => {
            let destroyed = destroyed.as_ref().map_or_else(String::new, |call| format!(" by {}", by(call)));
            format!("handle misuse: {} wants {wanted:?}, {problem:?}{destroyed}", by(user))
        }
        FindingKind::Leak { what, made, end } => {
            let what = match what {
                Leaked::Memory(allocation) => format!("{} bytes, {}", allocation.bytes, name(allocation)),
                Leaked::Object { kind, .. } => format!("{kind:?}"),
                Leaked::Reservation { bytes, .. } => format!("reservation of {bytes} bytes"),
                other => format!("{other:?}"),
            };
            format!("leak: {what} of {}, {end:?}", by(made))
        }
        other => format!("{other:?}"),
    }
}

/// The words that a finding's text must contain, the name of every participant included.
pub(crate) fn essentials(kind: &FindingKind) -> Vec<String> {
    let call = |operation: &Operation| match (operation.function, operation.call) {
        (Some(function), Some(call)) => format!("{} (call {call})", named(function)),
        _ => "the host's own access".to_owned(),
    };
    match kind {
        FindingKind::Race { first, second, allocation, bytes, .. } => {
            let advice = "\n  missing: ".to_owned();
            vec![call(first), call(second), call(&allocation.made), format!("bytes {bytes:?}"), advice]
        }
        FindingKind::UseAfterFree { user, free, allocation, bytes, .. } => {
            vec![call(user), call(free), call(&allocation.made), format!("bytes {bytes:?}")]
        }
        FindingKind::UseBeforeAllocation { user, allocation, bytes, .. } => {
            vec![call(user), call(&allocation.made), format!("bytes {bytes:?}"), "\n  missing: ".to_owned()]
        }
        FindingKind::DoubleFree { second, first, allocation } => {
            vec![call(second), call(first), call(&allocation.made)]
        }
        FindingKind::WrongFree { free, allocation, right } => {
            vec![call(free), call(&allocation.made), right.name().to_owned()]
        }
        FindingKind::InvalidFree { free, address, .. } => vec![call(free), format!("{address:#x}")],
        FindingKind::OutOfBounds { user, allocation, wanted, outside } => {
            vec![call(user), call(&allocation.made), format!("bytes {wanted:?}"), format!("{outside} of them")]
        }
        FindingKind::WildPointer { user, address, bytes } => {
            vec![call(user), format!("{bytes} bytes at {address:#x}")]
        }
        FindingKind::UninitialisedRead { user, allocation, bytes, total, .. } => {
            vec![call(user), call(&allocation.made), format!("bytes {bytes:?}"), format!("({total} bytes in all)")]
        }
        FindingKind::HandleMisuse { user, handle, destroyed, .. } => {
            let named = [call(user), format!("{handle:#x}")];
            named.into_iter().chain(destroyed.as_ref().map(call)).collect()
        }
        FindingKind::Leak { made, .. } => vec![call(made)],
        _ => Vec::new(),
    }
}

/// A function as findings name it. The program's own allocator is found by `cuGetExportTable`.
fn named(function: Function) -> &'static str {
    if function == Function::cuGetExportTable { "the program's own allocator" } else { function.name() }
}
