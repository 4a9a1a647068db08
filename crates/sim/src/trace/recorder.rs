//! The recorder of a machine's calls and ops.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use warploom_engine::{OpId, Period};
use warploom_record::{KernelWork, LaunchShape, MemorySeries};
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::calls::Calls;
use super::events::Events;
use super::kernels::Kernels;
use super::memory_use::{InUse, MemoryUses};
use super::moved::Ways;
use super::{Activity, HostCall, Kept, Span, Timeline, Trace, TraceReport};
use crate::process::home::lock_briefly_held;
use crate::process::thread;

pub(crate) struct Recorder {
    began: Instant,
    calls: Calls,
    ways: Ways,
    kernels: Mutex<Kernels>,
    /// Of a trace with a timeline.
    events: Option<Mutex<Events>>,
    /// Of a trace with a timeline.
    memory: Mutex<MemoryUses>,
    /// Unfinished ops by which a stream waits for an event.
    waits: Mutex<HashMap<OpId, Wait>>,
}

/// A stream's wait for a record of an event, and its beginning.
#[derive(Clone, Copy)]
struct Wait {
    activity: Activity,
    since: u64,
}

/// A call in progress.
pub(crate) struct Called<'a> {
    recorder: &'a Recorder,
    function: Function,
    number: u64,
    /// The call that the thread was in already, if this one was made by a host function that runs inside it.
    outer: u64,
    start: u64,
}

/// A launch that has ended.
pub(crate) struct KernelRun<'a> {
    pub(crate) name: &'a str,
    pub(crate) shape: LaunchShape,
    pub(crate) work: KernelWork,
}

/// An op that is done.
pub(crate) struct Ended<'a> {
    pub(crate) id: OpId,
    pub(crate) activity: Option<Activity>,
    /// Copies that it entailed.
    pub(crate) copies: &'a [Activity],
    pub(crate) device: u16,
    pub(crate) stream: u64,
    pub(crate) call: u64,
    /// `true` if it ran, and was not passed over.
    pub(crate) ran: bool,
    /// Virtual time at which the stream had done everything before.
    pub(crate) stream_idle: u64,
    pub(crate) period: Period,
}

impl Recorder {
    pub(crate) fn new(trace: Trace, devices: usize) -> Self {
        Self {
            began: Instant::now(),
            calls: Calls::new(),
            ways: Ways::new(devices),
            kernels: Mutex::default(),
            events: trace.events.map(|limit| Mutex::new(Events::new(limit))),
            memory: Mutex::default(),
            waits: Mutex::default(),
        }
    }

    fn events(&self) -> Option<MutexGuard<'_, Events>> {
        lock_briefly_held(self.events.as_ref()?)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes that a call has begun.
    pub(crate) fn called(&self, function: Function, number: u64) -> Called<'_> {
        self.calls.add(function);
        let start = if self.events.is_some() { self.now() } else { 0 };
        Called { recorder: self, function, number, outer: thread::enter_call(number), start }
    }

    /// Counts a launch that has ended; its entry in the timeline.
    pub(crate) fn kernel(&self, run: &KernelRun<'_>, period: Period) -> Option<Activity> {
        let mut kernels = lock_briefly_held(&self.kernels)?;
        let kernel = kernels.add(run.name, run.work, period);
        // Shapes are kept for spans; a trace of counts needs the same memory however long it runs.
        let shape = if self.events.is_some() { kernels.shape(run.shape) } else { 0 };
        Some(Activity::Kernel { kernel, shape })
    }

    /// `true` if memory in use is recorded.
    pub(crate) fn samples_memory(&self) -> bool {
        self.events.is_some()
    }

    /// Notes the memory in use at a virtual time, if there is a timeline.
    pub(crate) fn memory_in_use(&self, time: u64, all: impl Iterator<Item = InUse>) {
        if self.samples_memory()
            && let Some(mut memory) = lock_briefly_held(&self.memory)
        {
            memory.add(time, all);
        }
    }

    /// Memory in use over time.
    pub(crate) fn memory(&self) -> Vec<MemorySeries> {
        lock_briefly_held(&self.memory).map_or_else(Vec::new, |memory| memory.series())
    }

    /// Notes that an op is done.
    pub(crate) fn ended(&self, ended: &Ended<'_>) {
        let mut period = ended.period;
        let activity = match ended.activity {
            Some(activity) => activity,
            None => {
                let Some(wait) = self.waits.lock().remove(&ended.id) else { return };
                period.start = wait.since.max(ended.stream_idle).min(period.end);
                wait.activity
            }
        };
        if !ended.ran {
            return;
        }
        self.ways.add(&activity);
        ended.copies.iter().for_each(|copy| self.ways.add(copy));
        self.add_span((ended.device, ended.stream, ended.call), period, activity);
    }

    /// Notes an op for which there was no need in the engine, by the call that this thread is in.
    pub(crate) fn passed(&self, device: u16, stream: u64, period: Period, activity: Activity) {
        self.add_span((device, stream, thread::current_call()), period, activity);
    }

    /// Notes that the launch of a graph is over, by the device, stream and call that it was on.
    pub(crate) fn launched(&self, place: (u16, u64, u64), period: Period, activity: Activity) {
        self.add_span(place, period, activity);
    }

    fn add_span(&self, (device, stream, call): (u16, u64, u64), period: Period, activity: Activity) {
        let Some(mut events) = self.events() else { return };
        let (start_ns, end_ns) = (period.start, period.end);
        // A wait that delayed nothing is not shown.
        if !(matches!(activity, Activity::Wait { .. }) && start_ns >= end_ns) {
            events.add_span(Span { device, stream, call, start_ns, end_ns, activity });
        }
    }

    /// Says of an op that it is a stream's wait for an event, from virtual time `since` on.
    pub(crate) fn waits(&self, op: OpId, activity: Activity, since: u64) {
        if self.events.is_some() {
            self.waits.lock().insert(op, Wait { activity, since });
        }
    }

    pub(crate) fn report(&self) -> TraceReport {
        let timeline = self.events().map(|events| Kept { kept: events.kept() as u64, dropped: events.dropped() });
        let kernels = lock_briefly_held(&self.kernels).map_or_else(Vec::new, |kernels| kernels.counts().to_vec());
        TraceReport { calls: self.calls.counts(), moved: self.ways.counts(), kernels, timeline }
    }

    pub(crate) fn timeline(&self, devices: Vec<String>) -> Option<Timeline> {
        let kernels = lock_briefly_held(&self.kernels)?;
        Some(self.events()?.timeline(devices, &kernels))
    }
}

impl Called<'_> {
    /// Notes that the call returns.
    pub(crate) fn returns(self, code: CUresult) {
        thread::leave_call(self.outer);
        self.recorder.calls.add_answer(self.function, code);
        if let Some(mut events) = self.recorder.events() {
            let (function, number, thread) = (self.function, self.number, thread::key().number());
            let call = HostCall { function, code, number, thread, start_ns: self.start, end_ns: self.recorder.now() };
            events.add_call(call);
        }
    }
}
