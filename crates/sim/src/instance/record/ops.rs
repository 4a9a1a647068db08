//! The ops of a timeline as columns of a record.

use std::collections::HashMap;
use std::hash::Hash;

use warploom_record::{End, Moved, Op, OpKind, Record, Stream, Way};

use crate::trace::{Activity, Memory, Span, Timeline, TraceReport};

/// Adds streams, ways, ops and moved bytes.
pub(super) fn add(record: &mut Record, timeline: &Timeline, report: &TraceReport) {
    let mut spans: Vec<&Span> = timeline.spans.iter().collect();
    // The launch of a graph comes before the nodes inside it.
    spans.sort_by_key(|span| (span.start_ns, !matches!(span.activity, Activity::Graph { .. })));
    let (mut streams, mut ways, mut events) = (Indexes::default(), Indexes::default(), Indexes::default());
    for span in spans {
        let stream = streams.index((span.device, span.stream)) as u32;
        let mut way = |from: Option<Memory>, to: Memory| ways.index((from, to));
        let host = Memory::Host;
        let (kind, subject, amount) = match span.activity {
            Activity::Copy { from, to, bytes } => (OpKind::Copy, way(Some(from), to), bytes),
            Activity::Fill { to, bytes } => (OpKind::Fill, way(None, to), bytes),
            Activity::Prefetch { to, bytes } => (OpKind::Prefetch, way(None, to), bytes),
            Activity::Discard { bytes, to } => (OpKind::Discard, way(None, to.unwrap_or(host)), bytes),
            Activity::Kernel { kernel, shape } => (OpKind::Kernel, kernel.into(), shape.into()),
            Activity::Graph { executable, nodes } => (OpKind::Graph, executable.into(), nodes.into()),
            Activity::Record { event, serial } => (OpKind::Record, events.index(event) + 1, serial),
            Activity::Wait { event, serial } => (OpKind::Wait, events.index(event) + 1, serial),
            Activity::HostFunction => (OpKind::HostFunction, 0, 0),
            Activity::WriteValue => (OpKind::WriteValue, 0, 0),
            Activity::WaitValue => (OpKind::WaitValue, 0, 0),
            Activity::Task => (OpKind::Other, 0, 0),
        };
        let (start_ns, time_ns) = (span.start_ns, span.end_ns - span.start_ns);
        record.ops.push(Op { kind, start_ns, time_ns, stream, call: span.call, subject, amount });
    }
    record.streams = streams.all.into_iter().map(|(device, id)| Stream { device, id }).collect();
    record.ways = ways.all.into_iter().map(|(from, to)| Way { from: from.map(end), to: end(to) }).collect();
    let moved = report.moved.iter();
    record.moved = moved
        .map(|moved| Moved {
            from: moved.from.map(end),
            to: end(moved.to),
            operations: moved.operations,
            bytes: moved.bytes,
        })
        .collect();
}

fn end(memory: Memory) -> End {
    match memory {
        Memory::Host => End::Host,
        Memory::Device(ordinal) => End::Device(ordinal),
    }
}

/// Values in the order of their first use, and their indexes.
struct Indexes<T> {
    all: Vec<T>,
    by_value: HashMap<T, u64>,
}

impl<T> Default for Indexes<T> {
    fn default() -> Self {
        Self { all: Vec::new(), by_value: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Indexes<T> {
    fn index(&mut self, value: T) -> u64 {
        let Self { all, by_value } = self;
        *by_value.entry(value).or_insert_with(|| {
            all.push(value);
            all.len() as u64 - 1
        })
    }
}
