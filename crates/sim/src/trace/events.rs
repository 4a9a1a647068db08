//! Events of a timeline: calls in real time, ops in virtual time.

use serde::Serialize;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::calls::{code_name, function_name};
use super::kernels::Kernels;
use super::{Activity, KernelCount, LaunchShape};

/// An op of a stream, in virtual time.
///
/// Ops of one stream follow each other, except for those of a batch, which have no order among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Span {
    /// The ordinal of the stream's device.
    pub device: u16,
    /// The stream's number, which `cuStreamGetId` shows.
    pub stream: u64,
    /// The number of the call that enqueued it, as in [`HostCall::number`].
    pub call: u64,
    /// The start, in nanoseconds of virtual time.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
    /// Its activity.
    pub activity: Activity,
}

/// A call of the program's, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HostCall {
    /// The function.
    #[serde(serialize_with = "function_name")]
    pub function: Function,
    /// Its answer.
    #[serde(serialize_with = "code_name")]
    pub code: CUresult,
    /// Calls are numbered from 1, in the order in which they began, as in findings; those that only find
    /// functions have number 0.
    pub number: u64,
    /// Threads are numbered in the order in which they first used a simulated machine.
    pub thread: u64,
    /// The start, in nanoseconds since the machine was started.
    pub start_ns: u64,
    /// The return of the call.
    pub end_ns: u64,
}

// The documentation of `Trace::limit` names these.
const _: () = assert!(size_of::<Span>() <= 64 && size_of::<HostCall>() <= 40);

/// The calls and ops of a machine, with their times.
///
/// Both lists are in the order in which calls returned and ops ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Timeline {
    /// The machine's devices, by name, in the order of their ordinals.
    pub devices: Vec<String>,
    /// The kernels that ran, counted.
    pub kernels: Vec<KernelCount>,
    /// The shapes that they were launched in.
    pub shapes: Vec<LaunchShape>,
    /// The ops that are done.
    pub spans: Vec<Span>,
    /// The calls that have returned.
    pub calls: Vec<HostCall>,
    /// Events that were not kept, because there were more than the trace's limit.
    pub dropped: u64,
}

/// Collects events up to a limit.
#[derive(Default)]
pub(super) struct Events {
    limit: usize,
    spans: Vec<Span>,
    calls: Vec<HostCall>,
    dropped: u64,
}

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.kept() < self.limit;
        self.dropped += u64::from(!has_room);
        has_room
    }

    pub(super) fn add_span(&mut self, span: Span) {
        if self.has_room() {
            self.spans.push(span);
        }
    }

    pub(super) fn add_call(&mut self, call: HostCall) {
        if self.has_room() {
            self.calls.push(call);
        }
    }

    pub(super) fn kept(&self) -> usize {
        self.spans.len() + self.calls.len()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn timeline(&self, devices: Vec<String>, kernels: &Kernels) -> Timeline {
        Timeline {
            devices,
            kernels: kernels.counts().to_vec(),
            shapes: kernels.shapes().to_vec(),
            spans: self.spans.clone(),
            calls: self.calls.clone(),
            dropped: self.dropped,
        }
    }
}
