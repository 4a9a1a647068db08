//! A timeline in Chrome's trace event format.
//!
//! Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` open it.
//!
//! A process of the format is a device, or the host; a thread of it is a stream, or a thread of the
//! program's. Ops of a batch have no order and may overlap, which one thread of the format cannot show: they
//! spread over several rows of their stream. So do the nodes of a graph, below the launch that they belong
//! to. An arrow leads from the record of an event to a stream that the event held up.

use litemap::LiteMap;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Activity, HostCall, KernelCount, Span, Timeline};

/// One event of the format. Times are microseconds.
#[derive(Default, Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Of the end of an arrow: what encloses it, and not what follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments<'a>>,
}

/// The arguments of an event, as a viewer shows them.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Name { name: &'a str },
    Place { sort_index: u32 },
    Call { number: u64, answer: &'a str },
    Op { stream: u64, call: u64, bytes: u64 },
}

/// The host is the first process, so device `n` is number `n + 2`: some viewers have plans of their own for
/// number 0.
const HOST: u32 = 1;

struct Writer<W> {
    to: W,
    is_first: bool,
    /// Rows so far; each has a number of its own in the whole file.
    rows: u32,
}

impl Timeline {
    /// Writes the timeline in Chrome's trace event format: JSON that Perfetto and `chrome://tracing` open.
    ///
    /// A call's time is real and counts from the start of the machine; an op's is virtual. On a machine with
    /// threads of its own virtual time is never behind real time, so both stand on one scale. Give it a
    /// buffered writer.
    pub fn write_chrome(&self, to: impl Write) -> io::Result<()> {
        let mut writer = Writer { to, is_first: true, rows: 0 };
        write!(
            writer.to,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped\":{}}},\"traceEvents\":[",
            self.dropped
        )?;
        self.write_calls(&mut writer)?;
        self.write_spans(&mut writer)?;
        writer.to.write_all(b"\n]}\n")?;
        writer.to.flush()
    }

    fn write_calls<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.process(HOST, "host: calls, in real time")?;
        let mut threads: LiteMap<u64, Vec<&HostCall>> = LiteMap::new();
        for call in &self.calls {
            threads.entry(call.thread).or_default().push(call);
        }
        for (thread, mut calls) in threads {
            let row = writer.row(HOST, &format!("thread {thread}"))?;
            // A call that was made inside another comes after it.
            calls.sort_by_key(|call| (call.start_ns, std::cmp::Reverse(call.end_ns)));
            for call in calls {
                let answer = call.code.to_string();
                writer.event(&Event {
                    name: call.function.name(),
                    cat: Some("call"),
                    ph: "X",
                    ts: micros(call.start_ns),
                    dur: Some(micros(call.end_ns - call.start_ns)),
                    pid: HOST,
                    tid: row,
                    args: Some(Arguments::Call { number: call.number, answer: &answer }),
                    ..Event::default()
                })?;
            }
        }
        Ok(())
    }

    fn write_spans<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        for (ordinal, name) in self.devices.iter().enumerate() {
            writer.process(process_of(ordinal as u16), &format!("device {ordinal}: {name}, in virtual time"))?;
        }
        let mut arrows = Arrows::new(&self.spans);
        let mut streams: LiteMap<(u16, u64), Vec<&Span>> = LiteMap::new();
        for span in &self.spans {
            streams.entry((span.device, span.stream)).or_default().push(span);
        }
        for ((device, stream), spans) in streams {
            for (index, spans) in rows(spans).into_iter().enumerate() {
                let name = match index {
                    0 => format!("stream {stream}"),
                    _ => format!("stream {stream}, side by side {}", index + 1),
                };
                let row = writer.row(process_of(device), &name)?;
                for span in spans {
                    writer.span(row, span, &self.kernels)?;
                    if let Some((ids, end)) = arrows.at(span) {
                        for id in ids {
                            writer.arrow(row, span, id, end)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn process_of(device: u16) -> u32 {
    HOST + 1 + u32::from(device)
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

/// Spreads the spans of a stream over as few rows as show them without overlap.
fn rows(mut spans: Vec<&Span>) -> Vec<Vec<&Span>> {
    // A launch of a graph comes before the nodes inside it.
    spans.sort_by_key(|span| (span.start_ns, !matches!(span.activity, Activity::Graph { .. }), span.end_ns));
    let mut rows: Vec<Vec<&Span>> = Vec::new();
    for span in spans {
        let is_free = |row: &&mut Vec<&Span>| row.last().is_none_or(|last| last.end_ns <= span.start_ns);
        match rows.iter_mut().find(is_free) {
            Some(row) => row.push(span),
            None => rows.push(vec![span]),
        }
    }
    rows
}

/// One of the two ends of an arrow.
#[derive(Clone, Copy)]
enum ArrowEnd {
    Start,
    Finish,
}

/// A record of an event: its handle and serial number.
type Record = (u64, u64);

/// The arrows that have both ends in the timeline: one for each wait.
struct Arrows {
    starts: HashMap<Record, Vec<u64>>,
    /// Those that have not been drawn to their end.
    finishes: HashMap<Record, Vec<u64>>,
}

impl Arrows {
    fn new(spans: &[Span]) -> Self {
        let mut starts: HashMap<Record, Vec<u64>> = HashMap::new();
        for span in spans {
            if let Activity::Record { event, serial } = span.activity {
                starts.insert((event, serial), Vec::new());
            }
        }
        let mut count = 0;
        for span in spans {
            if let Activity::Wait { event, serial } = span.activity
                && let Some(arrows) = starts.get_mut(&(event, serial))
            {
                count += 1;
                arrows.push(count);
            }
        }
        Self { finishes: starts.clone(), starts }
    }

    /// The arrows with an end at a span.
    fn at(&mut self, span: &Span) -> Option<(Vec<u64>, ArrowEnd)> {
        match span.activity {
            Activity::Record { event, serial } => Some((self.starts.remove(&(event, serial))?, ArrowEnd::Start)),
            Activity::Wait { event, serial } => {
                Some((self.finishes.get_mut(&(event, serial))?.pop().into_iter().collect(), ArrowEnd::Finish))
            }
            _ => None,
        }
    }
}

impl<W: Write> Writer<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.to.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut self.to, event).map_err(io::Error::from)
    }

    fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        let about = |what, args| Event { name: what, ph: "M", pid, args: Some(args), ..Event::default() };
        self.event(&about("process_name", Arguments::Name { name }))?;
        self.event(&about("process_sort_index", Arguments::Place { sort_index: pid }))
    }

    /// Begins a row of a process; its number.
    fn row(&mut self, pid: u32, name: &str) -> io::Result<u32> {
        self.rows += 1;
        let tid = self.rows;
        let about = |what, args| Event { name: what, ph: "M", pid, tid, args: Some(args), ..Event::default() };
        self.event(&about("thread_name", Arguments::Name { name }))?;
        self.event(&about("thread_sort_index", Arguments::Place { sort_index: tid }))?;
        Ok(tid)
    }

    fn span(&mut self, row: u32, span: &Span, kernels: &[KernelCount]) -> io::Result<()> {
        let kernel = match span.activity {
            Activity::Kernel { kernel, .. } => kernels.get(kernel as usize),
            _ => None,
        };
        let name = kernel.map_or_else(|| span.activity.to_string(), |kernel| kernel.name.clone());
        self.event(&Event {
            name: &name,
            cat: Some("op"),
            ph: "X",
            ts: micros(span.start_ns),
            dur: Some(micros(span.end_ns - span.start_ns)),
            pid: process_of(span.device),
            tid: row,
            args: Some(Arguments::Op { stream: span.stream, call: span.call, bytes: span.activity.bytes() }),
            ..Event::default()
        })
    }

    /// Ends of arrows lie inside their spans, and no arrow leads back in time: a wait that held something up
    /// ends no earlier than the record it was for.
    fn arrow(&mut self, row: u32, span: &Span, id: u64, end: ArrowEnd) -> io::Result<()> {
        let (ph, bp, at) = match end {
            ArrowEnd::Start => ("s", None, span.start_ns),
            ArrowEnd::Finish => ("f", Some("e"), span.end_ns - 1),
        };
        let (pid, ts) = (process_of(span.device), micros(at));
        self.event(&Event {
            name: "event",
            cat: Some("event"),
            ph,
            ts,
            pid,
            tid: row,
            id: Some(id),
            bp,
            ..Event::default()
        })
    }
}
