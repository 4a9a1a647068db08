//! The report of a trace: its counts, as data and as text.

use std::fmt;

use serde::Serialize;
use warploom_sys::Function;

use super::{CallCount, KernelCount, Memory, Moved};

/// Calls and bytes of a machine, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TraceReport {
    /// The functions that were called, in the order of the driver's list.
    pub calls: Vec<CallCount>,
    /// Bytes copied, prefetched and filled by ops that are done.
    pub moved: Vec<Moved>,
    /// Kernels whose launches have ended, in the order of their first.
    pub kernels: Vec<KernelCount>,
    /// The number of events in the timeline, if there is one.
    pub timeline: Option<Kept>,
}

/// The events of a timeline, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Kept {
    /// Events that are in the timeline.
    pub kept: u64,
    /// Events for which there was no room.
    pub dropped: u64,
}

impl TraceReport {
    /// Number of calls of a function.
    #[must_use]
    pub fn calls_of(&self, function: Function) -> u64 {
        self.calls.iter().find(|count| count.function == function).map_or(0, |count| count.calls)
    }

    /// Bytes that were copied from one memory to another.
    #[must_use]
    pub fn bytes_copied(&self, from: Memory, to: Memory) -> u64 {
        self.sum(|moved| moved.from == Some(from) && moved.to == to)
    }

    /// Bytes of a memory that were filled with a value.
    #[must_use]
    pub fn bytes_filled(&self, memory: Memory) -> u64 {
        self.sum(|moved| moved.from.is_none() && moved.to == memory)
    }

    fn sum(&self, wanted: impl Fn(&Moved) -> bool) -> u64 {
        self.moved.iter().filter(|moved| wanted(moved)).map(|moved| moved.bytes).sum()
    }
}

/// Three tables: calls, the most frequent first, bytes, and kernels, the longest first.
impl fmt::Display for TraceReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: u64 = self.calls.iter().map(|count| count.calls).sum();
        writeln!(formatter, "calls: {total}")?;
        let mut calls: Vec<&CallCount> = self.calls.iter().collect();
        calls.sort_by_key(|count| std::cmp::Reverse(count.calls));
        for count in calls {
            write!(formatter, "  {:>9}  {}", count.calls, count.function)?;
            for (index, failures) in count.failed.iter().enumerate() {
                write!(
                    formatter,
                    "{}{} {}",
                    if index == 0 { ", of these " } else { ", " },
                    failures.calls,
                    failures.code
                )?;
            }
            writeln!(formatter)?;
        }
        writeln!(formatter, "bytes: {}", self.sum(|_| true))?;
        for moved in &self.moved {
            let Moved { from, to, operations, bytes } = moved;
            match from {
                Some(from) => writeln!(formatter, "  {bytes:>15}  {from}→{to}, in {operations} copies")?,
                None => writeln!(formatter, "  {bytes:>15}  filled on {to}, in {operations} fills")?,
            }
        }
        let launches: u64 = self.kernels.iter().map(|kernel| kernel.launches).sum();
        writeln!(formatter, "kernels: {launches}")?;
        let mut kernels: Vec<&KernelCount> = self.kernels.iter().collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.time_ns));
        for KernelCount { name, launches, time_ns, .. } in kernels {
            writeln!(formatter, "  {launches:>9}  {name}, {} µs of virtual time", time_ns / 1000)?;
        }
        match self.timeline {
            Some(Kept { kept, dropped: 0 }) => writeln!(formatter, "timeline: {kept} events"),
            Some(Kept { kept, dropped }) => {
                writeln!(
                    formatter,
                    "timeline: {kept} events; {dropped} more were dropped, as there was no room for them"
                )
            }
            None => Ok(()),
        }
    }
}
