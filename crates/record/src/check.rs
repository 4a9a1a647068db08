//! Checks of a record from a file: columns of one length, and indexes of entries that exist.

use crate::ops::OpKind;
use crate::{Calls, MemorySeries, Op, Ops, Record};

/// The first problem of a record, in words; a page needs a record without any.
pub(crate) fn problem(record: &Record) -> Option<String> {
    ops(&record.ops, record).or_else(|| calls(&record.calls)).or_else(|| record.memory.iter().find_map(series))
}

fn ops(ops: &Ops, record: &Record) -> Option<String> {
    let Ops { kind, start, time, stream, call, subject, amount } = ops;
    let lengths =
        [kind.chars().count(), start.len(), time.len(), stream.len(), call.len(), subject.len(), amount.len()];
    if lengths.iter().any(|length| *length != lengths[0]) {
        return Some(format!("columns of ops have different lengths: {lengths:?}"));
    }
    if let Some(letter) = kind.chars().find(|letter| OpKind::by_letter(*letter).is_none()) {
        return Some(format!("`{letter}` is no kind of op"));
    }
    ops.iter().find_map(|op| self::op(&op, record))
}

fn op(op: &Op, record: &Record) -> Option<String> {
    let missing = |what: &str, index: u64, len: usize| {
        (index >= len as u64).then(|| format!("an op names {what} {index} of {len}"))
    };
    missing("stream", op.stream.into(), record.streams.len()).or_else(|| match op.kind {
        OpKind::Kernel => missing("kernel", op.subject, record.kernels.len())
            .or_else(|| missing("shape", op.amount, record.shapes.len())),
        OpKind::Copy | OpKind::Fill | OpKind::Prefetch | OpKind::Discard => {
            missing("way", op.subject, record.ways.len())
        }
        _ => None,
    })
}

fn calls(calls: &Calls) -> Option<String> {
    let Calls { names, function, code, number, thread, start, time } = calls;
    let lengths = [function.len(), code.len(), number.len(), thread.len(), start.len(), time.len()];
    if lengths.iter().any(|length| *length != lengths[0]) {
        return Some(format!("columns of calls have different lengths: {lengths:?}"));
    }
    let beyond = function.iter().chain(code).find(|index| **index as usize >= names.len());
    beyond.map(|index| format!("a call names name {index} of {}", names.len()))
}

fn series(series: &MemorySeries) -> Option<String> {
    let lengths = [series.time_ns.len(), series.peak.len(), series.last.len()];
    lengths
        .iter()
        .any(|length| *length != lengths[0])
        .then(|| format!("columns of the memory series {:?} have different lengths: {lengths:?}", series.name))
}
