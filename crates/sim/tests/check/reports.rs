//! Findings as data, as text, and given to a hook.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sim::{Backtraces, Checks, Finding, FindingKind, Frame, Machine, Mode, Operation, Order};
use warploom_testkit::sys::types::CUstream;
use warploom_testkit::{TestResult, call};

/// A machine with a context, two streams and 64 bytes to race for.
struct Rig {
    machine: Machine,
    driver: Driver,
    streams: [CUstream; 2],
    memory: u64,
}

impl Rig {
    fn new(checks: Checks) -> TestResult<Rig> {
        let machine = Machine::builder().mode(Mode::Deterministic(Order::Lazy)).checks(checks).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let (mut context, mut memory, mut streams) = (null_mut(), 0, [null_mut(); 2]);
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        for stream in &mut streams {
            call!(driver.cuStreamCreate(stream, 1))?;
        }
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
        Ok(Rig { machine, driver, streams, memory })
    }

    #[inline(never)]
    fn write_on_the_first_stream(&self) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuMemsetD8Async(self.memory, 1, 32, self.streams[0]))
    }

    #[inline(never)]
    fn write_on_the_second_stream(&self) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuMemsetD8Async(self.memory + 16, 2, 32, self.streams[1]))
    }

    fn race(&self) -> Result<(), Error> {
        self.write_on_the_first_stream()?;
        self.write_on_the_second_stream()
    }

    fn only_race(&self) -> (Operation, Operation) {
        let findings = self.machine.findings();
        match findings.as_slice() {
            [Finding { kind: FindingKind::Race { first, second, .. }, .. }] => (first.clone(), second.clone()),
            other => panic!("{other:?}"),
        }
    }
}

fn names(frames: &[Frame], function: &str) -> bool {
    frames.iter().any(|frame| {
        frame.function.ends_with(function)
            && frame.file.as_ref().is_some_and(|file| file.ends_with("reports.rs"))
            && frame.line.is_some()
    })
}

#[test]
fn a_finding_is_data_for_other_programs() -> TestResult {
    let rig = Rig::new(Checks::report().backtraces(Backtraces::Off))?;
    rig.race()?;
    let (first, second) = rig.only_race();
    let [first_id, second_id] = [first, second].map(|operation| operation.stream.map(|stream| stream.id));
    let stream = |id: Option<u64>| json!({ "id": id, "kind": "non_blocking", "device": 0 });
    let operation = |call: u64, function: &str, access: &str, stream: Value| json!({ "call": call, "function": function, "access": access, "stream": stream, "backtrace": [] });
    let expected = json!({
        "kind": "race",
        "first": operation(8, "cuMemsetD8Async", "write", stream(first_id)),
        "second": operation(9, "cuMemsetD8Async", "write", stream(second_id)),
        "allocation": {
            "address": rig.memory,
            "bytes": 64,
            "id": 1,
            "device": 0,
            "made": operation(7, "cuMemAlloc_v2", "allocate", Value::Null),
        },
        "bytes": { "start": 16, "end": 32 },
        "missing": { "wait": "stream_after_stream", "first": stream(first_id), "second": stream(second_id) },
        "call": 9,
    });
    assert_eq!(serde_json::to_value(&rig.machine.findings()[0])?, expected);
    Ok(())
}

#[test]
fn every_kind_has_its_tag() -> TestResult {
    let rig = Rig::new(Checks::report().backtraces(Backtraces::Off))?;
    let (driver, stream) = (&rig.driver, rig.streams[0]);
    let mut bytes = [0_u8; 64];
    let refused = [
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), rig.memory, 64)),
        call!(driver.cuMemsetD8Async(rig.memory, 0, 65, stream)),
        call!(driver.cuMemsetD8Async(0xdead_0000, 0, 1, stream)),
        call!(driver.cuMemFreeHost(bytes.as_mut_ptr().cast())),
        call!(driver.cuEventQuery(null_mut())),
    ];
    assert_eq!(refused.map(|result| result.is_ok()), [true, false, false, false, false]);
    let mut pooled = 0;
    call!(driver.cuMemAllocAsync(&mut pooled, 64, stream))?;
    call!(driver.cuMemsetD8Async(pooled, 0, 64, rig.streams[1]))?;
    call!(driver.cuMemFreeAsync(pooled, stream))?;
    assert!(call!(driver.cuMemFreeAsync(pooled, stream)).is_err());
    assert!(call!(driver.cuMemFreeHost(std::ptr::without_provenance_mut(rig.memory as usize))).is_err());
    let tag = |finding: &Finding| Ok(serde_json::to_value(finding)?["kind"].as_str().unwrap_or_default().to_owned());
    let tags: Vec<String> = rig.machine.findings().iter().map(tag).collect::<TestResult<_>>()?;
    let expected = [
        "uninitialised_read",
        "out_of_bounds",
        "wild_pointer",
        "invalid_free",
        "handle_misuse",
        "use_before_allocation",
        "use_after_free",
        "double_free",
        "wrong_free",
    ];
    assert_eq!(tags, expected);
    let leak = serde_json::to_value(&rig.machine.leaks()[0])?;
    assert_eq!((&leak["kind"], &leak["end"], &leak["call"]), (&json!("leak"), &json!("machine"), &Value::Null));
    assert_eq!(leak["what"]["memory"]["bytes"], 64);
    Ok(())
}

#[test]
fn both_calls_of_a_race_can_show_who_called() -> TestResult {
    let rig = Rig::new(Checks::report().backtraces(Backtraces::All))?;
    rig.race()?;
    let (first, second) = rig.only_race();
    assert!(names(&first.backtrace, "write_on_the_first_stream"), "{first:?}");
    assert!(names(&second.backtrace, "write_on_the_second_stream"), "{second:?}");
    for frame in first.backtrace.iter().chain(&second.backtrace) {
        assert!(!frame.function.starts_with("warploom_sim::"), "{frame:?}");
    }
    let text = rig.machine.findings()[0].to_string();
    let lines: Vec<&str> = text.lines().collect();
    let place =
        |words: &str| lines.iter().position(|line| line.contains(words)).ok_or(format!("no {words} in\n{text}"));
    let order = [
        "first, cuMemsetD8Async (call 8):",
        "write_on_the_first",
        "second, cuMemsetD8Async (call 9):",
        "write_on_the_second",
        "allocated, cuMemAlloc_v2 (call 7):",
    ];
    let places = order.into_iter().map(place).collect::<Result<Vec<usize>, String>>()?;
    assert!(places.is_sorted(), "{text}");
    Ok(())
}

#[test]
fn without_more_the_call_that_was_found_shows_who_called() -> TestResult {
    let rig = Rig::new(Checks::report())?;
    rig.race()?;
    let (first, second) = rig.only_race();
    assert_eq!(first.backtrace, []);
    assert!(names(&second.backtrace, "write_on_the_second_stream"), "{second:?}");
    Ok(())
}

#[test]
fn backtraces_can_be_left_out() -> TestResult {
    let rig = Rig::new(Checks::report().backtraces(Backtraces::Off))?;
    rig.race()?;
    let (first, second) = rig.only_race();
    assert_eq!((first.backtrace, second.backtrace), (Vec::new(), Vec::new()));
    assert_eq!(rig.machine.findings()[0].to_string().lines().count(), 2, "what is wrong, and what is missing");
    Ok(())
}

#[test]
fn a_hook_for_findings_may_use_the_machine() -> TestResult {
    type Told = Arc<Mutex<Vec<(Finding, usize, bool)>>>;
    let told = Told::default();
    // The sink is part of the machine, so that what it holds of the machine has to go before the machine can.
    let place: Arc<Mutex<Option<(Machine, Driver)>>> = Arc::default();
    let (sink, reached) = (Arc::clone(&told), Arc::clone(&place));
    let rig = Rig::new(Checks::report().on_finding(move |finding| {
        let reached = reached.lock().expect("nobody panics with it").clone();
        let Some((machine, driver)) = reached else { return };
        let works = call!(driver.cuCtxSynchronize()).is_ok();
        sink.lock().expect("nobody panics with it").push((finding.clone(), machine.findings().len(), works));
    }))?;
    *place.lock().expect("nobody panics with it") = Some((rig.machine.clone(), rig.driver.clone()));
    rig.race()?;
    *place.lock().expect("nobody panics with it") = None;
    let expected = (rig.machine.findings()[0].clone(), 1, true);
    assert_eq!(*told.lock().expect("nobody panics with it"), [expected]);
    Ok(())
}

#[test]
fn a_thousand_findings_are_kept_and_the_rest_counted() -> TestResult {
    let told: Arc<Mutex<usize>> = Arc::default();
    let sink = Arc::clone(&told);
    let count = move |_: &Finding| *sink.lock().expect("nobody panics with it") += 1;
    let rig = Rig::new(Checks::report().backtraces(Backtraces::Off).on_finding(count))?;
    for _ in 0..503 {
        rig.race()?;
    }
    // Each write but the very first races with the other stream's last.
    assert_eq!((rig.machine.findings().len(), rig.machine.dropped_findings()), (1000, 5));
    assert_eq!(*told.lock().expect("nobody panics with it"), 1000);
    assert_eq!(rig.machine.take_findings().len(), 1000);
    rig.race()?;
    assert_eq!((rig.machine.findings().len(), rig.machine.dropped_findings()), (2, 5));
    assert_eq!(*told.lock().expect("nobody panics with it"), 1002);
    Ok(())
}

#[test]
fn taken_findings_are_not_shown_again() -> TestResult {
    let rig = Rig::new(Checks::report())?;
    rig.race()?;
    let taken = rig.machine.take_findings();
    assert_eq!((taken.len(), rig.machine.findings().len(), rig.machine.take_findings().len()), (1, 0, 0));
    Ok(())
}

#[test]
fn machines_find_for_themselves() -> TestResult {
    let (first, second) = (Rig::new(Checks::report())?, Rig::new(Checks::report())?);
    // Both have a buffer and streams like the other's, and the same thread calls both.
    first.write_on_the_first_stream()?;
    second.write_on_the_second_stream()?;
    assert_eq!((first.machine.findings(), second.machine.findings()), (Vec::new(), Vec::new()));
    first.write_on_the_second_stream()?;
    assert_eq!((first.machine.findings().len(), second.machine.findings().len()), (1, 0));
    Ok(())
}

#[test]
fn a_machine_that_does_not_check_finds_nothing() -> TestResult {
    let rig = Rig::new(Checks::off())?;
    rig.race()?;
    let Rig { machine, .. } = &rig;
    assert_eq!((machine.findings(), machine.leaks(), machine.calls()), (Vec::new(), Vec::new(), 0));
    Ok(())
}
