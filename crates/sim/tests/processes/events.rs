//! Events that two processes share.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Duration;

use proptest::prelude::*;
use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sim::{LogKind, Machine, Mode, Order};
use warploom_sys::types::{CUresult, CUstreamCaptureMode};
use warploom_testkit::process::{Channel, Child, run_part};
use warploom_testkit::{Gate, MACHINE, Primary, Stream, TestResult, answers, call, driver_tests};

use crate::handles::{Bytes, DISABLE_TIMING, INTERPROCESS, code, event, event_handle, open_event, polled};

const ENTRY: &str = "events::child";

#[test]
fn child() -> TestResult {
    run_part(&[
        ("await", await_record),
        ("record", record),
        ("capture", capture),
        ("never recorded", never_recorded),
        ("ping", ping),
        ("export held", export_held),
        ("outlive", outlive),
        ("record beside", record_beside),
    ])
}

/// Starts a child with the handle of an event.
fn start(driver: &Driver, part: &str, handle: Bytes) -> TestResult<Child> {
    let child = Child::start(driver, ENTRY, part)?;
    child.channel().send(&handle, &[])?;
    Ok(child)
}

/// Waits in a stream for a record that the parent has not reached yet.
fn await_record(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (event, stream) = (open_event(driver, handle)?, Stream::new(driver)?);
    answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    call!(driver.cuStreamWaitEvent(stream.raw, event, 0))?;
    answers!(driver.cuStreamQuery(stream.raw), CUDA_ERROR_NOT_READY);
    // Long enough to find a wait that ends by itself.
    std::thread::sleep(Duration::from_millis(50));
    answers!(driver.cuStreamQuery(stream.raw), CUDA_ERROR_NOT_READY);
    parent.signal()?;
    call!(driver.cuEventSynchronize(event))?;
    answers!(driver.cuEventQuery(event), CUDA_SUCCESS);
    stream.synchronize()?;
    Ok(call!(driver.cuEventDestroy_v2(event))?)
}

/// Records an event of the parent behind a gate that the parent opens.
fn record(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (event, stream, gate) = (open_event(driver, handle)?, Stream::new(driver)?, Gate::new(driver)?);
    gate.hold(stream.raw)?;
    call!(driver.cuEventRecord(event, stream.raw))?;
    parent.signal()?;
    parent.wait()?;
    gate.open();
    stream.synchronize()?;
    parent.wait()?;
    Ok(call!(driver.cuEventDestroy_v2(event))?)
}

fn never_recorded(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (one, two) = (open_event(driver, handle)?, open_event(driver, handle)?);
    assert_ne!(one, two, "an event opened twice is two events");
    let stream = Stream::new(driver)?;
    call!(driver.cuStreamWaitEvent(stream.raw, one, 0))?;
    stream.synchronize()?;
    answers!(driver.cuEventQuery(one), CUDA_SUCCESS);
    answers!(driver.cuEventSynchronize(one), CUDA_SUCCESS);
    assert_eq!(code(event_handle(driver, one)), CUresult::CUDA_ERROR_INVALID_HANDLE);
    let mut time = 0.0;
    answers!(driver.cuEventElapsedTime_v2(&mut time, one, two), CUDA_ERROR_INVALID_HANDLE);
    for event in [one, two] {
        call!(driver.cuEventDestroy_v2(event))?;
    }
    Ok(())
}

fn capture(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (event, stream) = (open_event(driver, handle)?, Stream::new(driver)?);
    let (mode, mut graph) = (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL, null_mut());
    call!(driver.cuStreamBeginCapture_v2(stream.raw, mode))?;
    answers!(driver.cuStreamWaitEvent(stream.raw, event, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    answers!(driver.cuStreamEndCapture(stream.raw, &mut graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    Ok(call!(driver.cuEventDestroy_v2(event))?)
}

/// Records an event of the parent whose own record is not reached.
fn record_beside(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (event, stream, other) = (open_event(driver, handle)?, Stream::new(driver)?, Stream::new(driver)?);
    call!(driver.cuStreamWaitEvent(stream.raw, event, 0))?;
    call!(driver.cuEventRecord(event, other.raw))?;
    std::thread::sleep(Duration::from_millis(50));
    answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    for stream in [&stream, &other] {
        answers!(driver.cuStreamQuery(stream.raw), CUDA_ERROR_NOT_READY);
    }
    parent.signal()?;
    stream.synchronize()?;
    call!(driver.cuEventSynchronize(event))?;
    Ok(call!(driver.cuEventDestroy_v2(event))?)
}

/// Number of times that two processes wait for each other.
const ROUNDS: usize = 20;

/// Waits for a record of the parent and answers with its own, again and again.
fn ping(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let (theirs, stream) = (open_event(driver, parent.receive_array()?)?, Stream::new(driver)?);
    let own = event(driver, INTERPROCESS)?;
    parent.send(&event_handle(driver, own)?, &[])?;
    for _ in 0..ROUNDS {
        parent.wait()?;
        call!(driver.cuStreamWaitEvent(stream.raw, theirs, 0))?;
        call!(driver.cuEventRecord(own, stream.raw))?;
        parent.signal()?;
    }
    stream.synchronize()?;
    parent.wait()?;
    for event in [own, theirs] {
        call!(driver.cuEventDestroy_v2(event))?;
    }
    Ok(())
}

/// Exports an event with a record that is never reached.
fn export_held(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let (event, stream, gate) = (event(driver, INTERPROCESS)?, Stream::new(driver)?, Gate::new(driver)?);
    gate.hold(stream.raw)?;
    call!(driver.cuEventRecord(event, stream.raw))?;
    parent.send(&event_handle(driver, event)?, &[])?;
    parent.wait()
}

/// Uses an event that its maker destroys meanwhile.
fn outlive(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let (event, stream) = (open_event(driver, handle)?, Stream::new(driver)?);
    parent.signal()?;
    parent.wait()?;
    call!(driver.cuEventRecord(event, stream.raw))?;
    call!(driver.cuEventSynchronize(event))?;
    answers!(driver.cuEventQuery(event), CUDA_SUCCESS);
    // As long as this process has it open, the handle is good.
    let again = open_event(driver, handle)?;
    for event in [event, again] {
        call!(driver.cuEventDestroy_v2(event))?;
    }
    Ok(())
}

driver_tests! {
    /// EVT-2, EVT-3
    fn a_wait_in_another_process_ends_with_the_record(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (event, stream, gate) = (event(driver, INTERPROCESS)?, Stream::new(driver)?, Gate::new(driver)?);
        gate.hold(stream.raw)?;
        call!(driver.cuEventRecord(event, stream.raw))?;
        let child = start(driver, "await", event_handle(driver, event)?)?;
        child.channel().wait()?;
        // From here on this process makes no call, and its record is reached all the same.
        gate.open();
        child.join()?;
        stream.synchronize()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    /// EVT-2, EVT-3
    fn a_record_of_the_importer_is_one_of_the_exporter(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (event, stream) = (event(driver, INTERPROCESS)?, Stream::new(driver)?);
        call!(driver.cuEventRecord(event, stream.raw))?;
        call!(driver.cuEventSynchronize(event))?;
        let child = start(driver, "record", event_handle(driver, event)?)?;
        child.channel().wait()?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
        call!(driver.cuStreamWaitEvent(stream.raw, event, 0))?;
        answers!(driver.cuStreamQuery(stream.raw), CUDA_ERROR_NOT_READY);
        child.channel().signal()?;
        assert_eq!(polled(|| call!(driver.cuEventQuery(event))), CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
        // A record of its own is the newest again.
        call!(driver.cuEventRecord(event, stream.raw))?;
        call!(driver.cuEventSynchronize(event))?;
        child.channel().signal()?;
        child.join()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn a_record_of_one_process_does_not_replace_that_of_another(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (event, stream, gate) = (event(driver, INTERPROCESS)?, Stream::new(driver)?, Gate::new(driver)?);
        gate.hold(stream.raw)?;
        call!(driver.cuEventRecord(event, stream.raw))?;
        let child = start(driver, "record beside", event_handle(driver, event)?)?;
        child.channel().wait()?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
        gate.open();
        child.join()?;
        stream.synchronize()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    // Those of other events replace each other.
    fn records_of_an_event_for_several_processes_follow_each_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (event, gate) = (event(driver, INTERPROCESS)?, Gate::new(driver)?);
        let [held, idle, waiting] = [Stream::new(driver)?, Stream::new(driver)?, Stream::new(driver)?];
        gate.hold(held.raw)?;
        call!(driver.cuEventRecord(event, held.raw))?;
        call!(driver.cuEventRecord(event, idle.raw))?;
        call!(driver.cuStreamWaitEvent(waiting.raw, event, 0))?;
        std::thread::sleep(Duration::from_millis(50));
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
        for stream in [&idle, &waiting] {
            answers!(driver.cuStreamQuery(stream.raw), CUDA_ERROR_NOT_READY);
        }
        gate.open();
        waiting.synchronize()?;
        idle.synchronize()?;
        answers!(driver.cuEventQuery(event), CUDA_SUCCESS);
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn an_event_without_a_record_is_waited_for_by_no_process(driver) {
        let _primary = Primary::of(driver, 0)?;
        let event = event(driver, INTERPROCESS)?;
        start(driver, "never recorded", event_handle(driver, event)?)?.join()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn an_event_for_several_processes_is_not_captured(driver) {
        let _primary = Primary::of(driver, 0)?;
        let event = event(driver, INTERPROCESS)?;
        start(driver, "capture", event_handle(driver, event)?)?.join()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn processes_wait_for_each_other_in_turn(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (own, stream) = (event(driver, INTERPROCESS)?, Stream::new(driver)?);
        let child = start(driver, "ping", event_handle(driver, own)?)?;
        let theirs = open_event(driver, child.channel().receive_array()?)?;
        for _ in 0..ROUNDS {
            call!(driver.cuEventRecord(own, stream.raw))?;
            child.channel().signal()?;
            child.channel().wait()?;
            call!(driver.cuStreamWaitEvent(stream.raw, theirs, 0))?;
        }
        stream.synchronize()?;
        child.channel().signal()?;
        child.join()?;
        for event in [own, theirs] {
            call!(driver.cuEventDestroy_v2(event))?;
        }
    }

    fn an_event_outlives_the_process_that_made_it_where_it_is_open(driver) {
        let _primary = Primary::of(driver, 0)?;
        let event = event(driver, INTERPROCESS)?;
        let child = start(driver, "outlive", event_handle(driver, event)?)?;
        child.channel().wait()?;
        call!(driver.cuEventDestroy_v2(event))?;
        child.channel().signal()?;
        child.join()?;
    }

    fn handles_of_other_events_and_in_the_same_process_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (plain, shared) = (event(driver, DISABLE_TIMING)?, event(driver, INTERPROCESS)?);
        assert_eq!(code(event_handle(driver, plain)), CUresult::CUDA_ERROR_INVALID_HANDLE);
        let handle = event_handle(driver, shared)?;
        assert_eq!(event_handle(driver, shared)?, handle, "an event has one handle");
        assert_eq!(code(open_event(driver, handle)), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(code(open_event(driver, [0; 64])), CUresult::CUDA_ERROR_MAP_FAILED);
        answers!(driver.cuIpcGetEventHandle(null_mut(), shared), CUDA_ERROR_INVALID_VALUE);
        for event in [plain, shared] {
            call!(driver.cuEventDestroy_v2(event))?;
        }
    }
}

/// A machine that gives a wait up early.
fn impatient(mode: Mode) -> TestResult<(Machine, Driver)> {
    let topology = Topology::preset(MACHINE)?;
    let machine = Machine::builder().topology(topology).mode(mode).patience(Duration::from_millis(200)).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

#[test]
fn a_wait_for_a_process_that_lives_is_no_deadlock() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy), Mode::Sync] {
        let (machine, driver) = impatient(mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let event = event(driver, INTERPROCESS)?;
        let child = start(driver, "record", event_handle(driver, event)?)?;
        child.channel().wait()?;
        let channel = child.channel();
        std::thread::scope(|scope| {
            let opener = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(700));
                channel.signal().is_ok()
            });
            call!(driver.cuEventSynchronize(event))?;
            assert!(opener.join().is_ok_and(|sent| sent));
            TestResult::Ok(())
        })?;
        child.channel().signal()?;
        child.join()?;
        assert!(machine.log().iter().all(|entry| entry.kind != LogKind::Deadlock), "{:?}", machine.log());
        call!(driver.cuEventDestroy_v2(event))?;
    }
    Ok(())
}

/// The H200 hangs here.
#[test]
fn a_wait_for_the_record_of_a_killed_process_is_a_deadlock() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = impatient(mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let child = Child::start(driver, ENTRY, "export held")?;
        let event = open_event(driver, child.channel().receive_array()?)?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
        let pid = child.pid();
        child.kill()?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
        answers!(driver.cuEventSynchronize(event), CUDA_ERROR_TIMEOUT);
        let log = machine.log();
        let entry = log.iter().find(|entry| entry.kind == LogKind::Deadlock).ok_or("it is reported")?;
        assert!(entry.reason.contains(&format!("process {pid}, which ended")), "{entry}");
    }
    Ok(())
}

#[test]
fn altered_and_stale_handles_of_events_are_refused() -> TestResult {
    let (_machine, driver) = impatient(Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let child = Child::start(driver, ENTRY, "export held")?;
    let handle: Bytes = child.channel().receive_array()?;
    proptest!(ProptestConfig::with_cases(200), |(at in 0..64_usize, change in 1..=u8::MAX)| {
        let mut altered = handle;
        altered[at] ^= change;
        prop_assert_eq!(code(open_event(driver, altered)), CUresult::CUDA_ERROR_MAP_FAILED);
    });
    let event = open_event(driver, handle)?;
    call!(driver.cuEventDestroy_v2(event))?;
    child.kill()?;
    assert_eq!(code(open_event(driver, handle)), CUresult::CUDA_ERROR_MAP_FAILED);
    Ok(())
}

extern "C" fn sleep(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn more_records_than_other_processes_can_see_are_waited_for() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (_machine, driver) = impatient(mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let (event, stream) = (event(driver, INTERPROCESS)?, Stream::new(driver)?);
        call!(driver.cuLaunchHostFunc(stream.raw, Some(sleep), null_mut()))?;
        for _ in 0..3000 {
            call!(driver.cuEventRecord(event, stream.raw))?;
        }
        call!(driver.cuEventSynchronize(event))?;
        call!(driver.cuEventDestroy_v2(event))?;
    }
    Ok(())
}
