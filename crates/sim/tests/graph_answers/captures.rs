//! Steps that capture work of streams into a graph.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use warploom_testkit::sys::types::*;

use crate::program::Program;
use crate::rig::{code, count};

/// Calls while a stream is captured.
#[derive(Clone, Copy, Debug)]
enum Work {
    Fill,
    Kernel,
    Copy,
    Host,
    Fork,
    Join,
    Record,
    External,
    Info,
    Synchronize,
    Query,
    Allocate,
    Launch,
}

const COMMON: [Work; 7] = [Work::Fill, Work::Kernel, Work::Kernel, Work::Copy, Work::Host, Work::Fork, Work::Join];
const REST: [Work; 7] =
    [Work::Record, Work::External, Work::Info, Work::Synchronize, Work::Query, Work::Allocate, Work::Launch];

impl Program<'_> {
    pub(crate) fn capture(&mut self, graph: usize) {
        self.capture_with(graph, false, 10);
    }

    /// Captures with all calls that there are, which mostly ends it.
    pub(crate) fn capture_all(&mut self, graph: usize) {
        self.capture_with(graph, false, 50);
    }

    pub(crate) fn capture_into(&mut self, graph: usize) {
        self.capture_with(graph, true, 10);
    }

    fn capture_with(&mut self, graph: usize, is_into: bool, rest: usize) {
        if is_into && self.graphs[graph].inside.is_some() {
            return;
        }
        let (driver, mut raw) = (self.driver, null_mut());
        let mode = CUstreamCaptureMode(self.random.pick(&[0, 1, 2]));
        let origin = self.random.pick(&self.streams);
        let began = if is_into {
            let after = Vec::from_iter(self.any_node(graph).map(|node| node.raw));
            let (list, len, raw) = (after.as_ptr(), after.len(), self.graphs[graph].raw);
            code!(driver.cuStreamBeginCaptureToGraph(origin, raw, list, null(), len, mode))
        } else {
            code!(driver.cuStreamBeginCapture_v2(origin, mode))
        };
        let mut answers = vec![format!("mode {} {began}", mode.0)];
        let mut joined = vec![origin];
        for _ in 0..1 + self.random.below(7) {
            let work = if self.chance(rest) { self.random.pick(&REST) } else { self.random.pick(&COMMON) };
            let place = self.random.below(joined.len());
            let codes = self.captured(work, place, &mut joined);
            if is_into && matches!(work, Work::Allocate) && codes != [0] {
                self.mark(graph);
            }
            answers.push(format!("{work:?} {place} {codes:?}"));
        }
        if self.chance(80) {
            for (place, stream) in joined.iter().enumerate().skip(1) {
                answers.push(format!("Join {place} {:?}", self.join(*stream, origin)));
            }
        }
        let ended = code!(driver.cuStreamEndCapture(origin, &mut raw));
        answers.push(format!("end {ended}, graph: {}", !raw.is_null()));
        let mut concerned = vec![graph];
        if ended == 0 && !raw.is_null() {
            let captured = if is_into { graph } else { self.new_graph(raw, None, None) };
            concerned.insert(0, captured);
            answers.push(format!("{:?}", self.learn(captured)));
        } else if is_into {
            self.lose(graph);
        }
        for stream in self.streams.clone() {
            let mut status = CUstreamCaptureStatus(9);
            code!(driver.cuStreamIsCapturing(stream, &mut status));
            self.is_over |= status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        }
        let name = if is_into { "capture to it" } else { "capture" };
        self.answer(&concerned, format!("{name}: {}", answers.join(", ")));
        self.create_events().expect("an event is created outside captures");
    }

    /// Makes a call on one of the streams that take part in a capture.
    fn captured(&mut self, work: Work, place: usize, joined: &mut Vec<CUstream>) -> Vec<u32> {
        let (driver, stream, event) = (self.driver, joined[place], self.any_event());
        let code = match work {
            Work::Fill => {
                let (cell, value) = (self.cell(), self.random.below(9) as u32);
                code!(driver.cuMemsetD32Async(cell, value, 1, stream))
            }
            Work::Kernel => self.with_kernel(|program, params| {
                let (driver, arguments) = (program.driver, params.kernelParams);
                code!(driver.cuLaunchKernel(params.func, 1, 1, 1, 1, 1, 1, 0, stream, arguments, null_mut()))
            }),
            Work::Copy => {
                let cell = self.cell();
                code!(driver.cuMemcpyDtoDAsync_v2(cell, self.memory, 4, stream))
            }
            Work::Host => {
                let counter = Arc::as_ptr(&self.counter).cast_mut().cast();
                code!(driver.cuLaunchHostFunc(stream, Some(count), counter))
            }
            Work::Fork => {
                let fork = self.random.pick(&self.streams);
                let codes = self.join(stream, fork);
                if codes == [0, 0] && !joined.contains(&fork) {
                    joined.push(fork);
                }
                return codes;
            }
            Work::Join => return self.join(stream, joined[0]),
            Work::Record => code!(driver.cuEventRecord(event, stream)),
            Work::External => code!(driver.cuEventRecordWithFlags(event, stream, 1)),
            Work::Info => {
                let mut status = CUstreamCaptureStatus(9);
                return vec![code!(driver.cuStreamIsCapturing(stream, &mut status)), status.0];
            }
            Work::Synchronize => code!(driver.cuStreamSynchronize(stream)),
            Work::Query => code!(driver.cuStreamQuery(stream)),
            Work::Allocate => code!(driver.cuMemAllocAsync(&mut 0, 64, stream)),
            Work::Launch => match self.any_launchable() {
                Some(exec) => code!(driver.cuGraphLaunch(self.execs[exec].raw, stream)),
                None => return Vec::new(),
            },
        };
        vec![code]
    }

    /// Has a stream wait for another.
    fn join(&mut self, from: CUstream, to: CUstream) -> Vec<u32> {
        let (driver, event) = (self.driver, self.any_event());
        vec![code!(driver.cuEventRecord(event, from)), code!(driver.cuStreamWaitEvent(to, event, 0))]
    }
}
