//! Random programs: the race detector against a search of every path.

use std::ptr::null_mut;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Backtraces, Checks, FindingKind, Machine, Mode, Order};
use warploom_testkit::sys::types::{CUevent, CUstream};
use warploom_testkit::{Primary, TestResult, call};

use crate::model::{LEGACY, Model, STREAMS};

const BUFFERS: usize = 3;
/// The buffer that the host can touch, too.
const PINNED: usize = 2;
const LEN: u64 = 48;

#[derive(Clone, Debug)]
enum Step {
    Fill { stream: usize, buffer: usize, at: u64, len: u64 },
    Copy { stream: usize, from: (usize, u64), to: (usize, u64), len: u64 },
    Download { buffer: usize, at: u64, len: u64 },
    Record { event: usize, stream: usize },
    Wait { stream: usize, event: usize },
    SyncStream(usize),
    QueryStream(usize),
    SyncEvent(usize),
    QueryEvent(usize),
    SyncContext,
    Host { at: u64, len: u64, writes: bool },
    Recreate(usize),
}

fn place() -> impl Strategy<Value = (u64, u64)> {
    (0..LEN, 1..=LEN).prop_map(|(at, len)| (at, len.min(LEN - at)))
}

fn step() -> impl Strategy<Value = Step> {
    let (stream, event, buffer) = (0..STREAMS, 0..3usize, 0..BUFFERS);
    prop_oneof![
        6 => (stream.clone(), buffer.clone(), place())
            .prop_map(|(stream, buffer, (at, len))| Step::Fill { stream, buffer, at, len }),
        5 => (stream.clone(), (buffer.clone(), 0..LEN / 2), (buffer.clone(), 0..LEN / 2), 1..=LEN / 2)
            .prop_map(|(stream, from, to, len)| Step::Copy { stream, from, to, len }),
        1 => (buffer, place()).prop_map(|(buffer, (at, len))| Step::Download { buffer, at, len }),
        4 => (event.clone(), stream.clone()).prop_map(|(event, stream)| Step::Record { event, stream }),
        4 => (stream.clone(), event.clone()).prop_map(|(stream, event)| Step::Wait { stream, event }),
        1 => stream.clone().prop_map(Step::SyncStream),
        1 => stream.prop_map(Step::QueryStream),
        1 => event.clone().prop_map(Step::SyncEvent),
        1 => event.prop_map(Step::QueryEvent),
        1 => Just(Step::SyncContext),
        2 => (place(), any::<bool>()).prop_map(|((at, len), writes)| Step::Host { at, len, writes }),
        1 => (1..5usize).prop_map(Step::Recreate),
    ]
}

/// A machine on which programs run one after the other.
struct Bed {
    machine: Machine,
    driver: Driver,
}

impl Bed {
    fn new(mode: Mode) -> TestResult<Bed> {
        let machine = Machine::builder().mode(mode).checks(Checks::report().backtraces(Backtraces::Off)).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        Ok(Bed { machine, driver })
    }
}

/// A program while it runs, and what the model makes of it.
struct Run<'a> {
    machine: &'a Machine,
    driver: &'a Driver,
    streams: [CUstream; STREAMS],
    events: [CUevent; 3],
    buffers: [u64; BUFFERS],
    model: Model,
    _primary: Primary,
}

impl<'a> Run<'a> {
    fn new(Bed { machine, driver }: &'a Bed) -> TestResult<Run<'a>> {
        let primary = Primary::of(driver, 0)?;
        // Of the program before.
        machine.take_findings();
        let mut run = Run {
            machine,
            driver,
            streams: [null_mut(); STREAMS],
            events: [null_mut(); 3],
            buffers: [0; BUFFERS],
            model: Model::default(),
            _primary: primary,
        };
        run.streams[5] = std::ptr::without_provenance_mut(2);
        for stream in 1..5 {
            call!(driver.cuStreamCreate(&mut run.streams[stream], flags(stream)))?;
        }
        for event in &mut run.events {
            call!(driver.cuEventCreate(event, 0))?;
        }
        for buffer in &mut run.buffers[..PINNED] {
            call!(driver.cuMemAlloc_v2(buffer, LEN as usize))?;
        }
        let mut pinned = null_mut();
        call!(driver.cuMemAllocHost_v2(&mut pinned, LEN as usize))?;
        run.buffers[PINNED] = pinned.addr() as u64;
        Ok(run)
    }

    fn step(&mut self, step: &Step) -> TestResult {
        let Run { machine, driver, streams, events, buffers, model, .. } = self;
        let node = match *step {
            Step::Fill { stream, buffer, at, len } => {
                call!(driver.cuMemsetD8Async(buffers[buffer] + at, 1, len as usize, streams[stream]))?;
                let node = model.enqueue(stream, None);
                model.touch(node, buffer, at..at + len, true);
                node
            }
            Step::Copy { stream, from: (from, start), to: (to, at), len } => {
                let (source, target) = (buffers[from] + start, buffers[to] + at);
                call!(driver.cuMemcpyAsync(target, source, len as usize, streams[stream]))?;
                let node = model.enqueue(stream, None);
                model.touch(node, from, start..start + len, false);
                model.touch(node, to, at..at + len, true);
                if from == PINNED && to == PINNED {
                    // From host memory to host memory the call waits.
                    model.nodes[node].call = Some(machine.calls());
                    model.host([node]);
                }
                node
            }
            Step::Download { buffer, at, len } => {
                let mut bytes = [0_u8; LEN as usize];
                call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), buffers[buffer] + at, len as usize))?;
                let node = model.enqueue(LEGACY, None);
                model.touch(node, buffer, at..at + len, false);
                model.host([node]);
                node
            }
            Step::Host { at, len, writes } => {
                drop(machine.host_access(buffers[PINNED] + at, len, writes)?);
                let node = model.host([]);
                model.touch(node, PINNED, at..at + len, writes);
                return Ok(());
            }
            Step::Record { event, stream } => {
                call!(driver.cuEventRecord(events[event], streams[stream]))?;
                model.record(event, stream);
                return Ok(());
            }
            Step::Wait { stream, event } => {
                call!(driver.cuStreamWaitEvent(streams[stream], events[event], 0))?;
                model.wait(stream, event);
                return Ok(());
            }
            Step::SyncStream(stream) => {
                call!(driver.cuStreamSynchronize(streams[stream]))?;
                model.idle(stream);
                return Ok(());
            }
            Step::QueryStream(stream) => {
                if call!(driver.cuStreamQuery(streams[stream])).is_ok() {
                    model.idle(stream);
                }
                return Ok(());
            }
            Step::SyncEvent(event) => {
                call!(driver.cuEventSynchronize(events[event]))?;
                model.reached(event);
                return Ok(());
            }
            Step::QueryEvent(event) => {
                if call!(driver.cuEventQuery(events[event])).is_ok() {
                    model.reached(event);
                }
                return Ok(());
            }
            Step::SyncContext => {
                call!(driver.cuCtxSynchronize())?;
                model.all_idle();
                return Ok(());
            }
            Step::Recreate(stream) => {
                call!(driver.cuStreamDestroy_v2(streams[stream]))?;
                call!(driver.cuStreamCreate(&mut streams[stream], flags(stream)))?;
                model.destroy(stream);
                return Ok(());
            }
        };
        model.nodes[node].call = Some(machine.calls());
        Ok(())
    }

    /// The pairs of calls that the machine says race; the host's own accesses have no number.
    fn reported(&self) -> Vec<(Option<u64>, Option<u64>)> {
        let findings = self.machine.findings().into_iter();
        findings
            .filter_map(|finding| match finding.kind {
                FindingKind::Race { first, second, .. } => Some((first.call, second.call)),
                FindingKind::UninitialisedRead { .. } => None,
                other => panic!("{other}"),
            })
            .collect()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (model, reported) = (&self.model, self.reported());
        let races = model.races();
        let call = |node: usize| model.nodes[node].call;
        for pair in &reported {
            let is_real = races.iter().any(|(first, second)| (call(*first), call(*second)) == *pair);
            prop_assert!(is_real, "{pair:?} is no race; races are {races:?}");
        }
        for (first, second) in &races {
            // Behind the one that was reported instead, the first is ordered itself.
            let is_found = reported.iter().any(|(one, other)| {
                *other == call(*second)
                    && (0..*second).any(|node| call(node) == *one && (node == *first || model.is_before(*first, node)))
            });
            prop_assert!(is_found, "{first} and {second} race, and nobody said so: {reported:?}");
        }
        Ok(())
    }
}

fn flags(stream: usize) -> u32 {
    u32::from(stream > 2)
}

/// Every race that is reported is one, and every op that races with anything is reported with the nearest
/// that it races with: on 10,000 programs, in one of these modes each.
fn races_are_found(modes: [Mode; 3]) -> TestResult {
    let beds = modes.into_iter().map(Bed::new).collect::<TestResult<Vec<Bed>>>()?;
    let mut runner = TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let programs = (0..beds.len(), prop::collection::vec(step(), 1..40));
    runner.run(&programs, |(bed, steps)| {
        let mut run = Run::new(&beds[bed]).expect("a context");
        for step in &steps {
            run.step(step).expect("a right call");
        }
        run.compare()
    })?;
    Ok(())
}

#[test]
fn races_are_found_exactly_where_work_runs_in_order() -> TestResult {
    races_are_found([Mode::Sync, Mode::Threads, Mode::Deterministic(Order::Eager)])
}

#[test]
fn races_are_found_exactly_where_work_runs_late_or_in_any_order() -> TestResult {
    races_are_found([Order::Lazy, Order::Seeded(1), Order::Seeded(2)].map(Mode::Deterministic))
}
