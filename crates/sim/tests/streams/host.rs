//! Host functions and callbacks.
#![expect(unsafe_code, reason = "turns the data of a host function back into the closure it is")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUevent, CUresult, CUstream};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests};

use crate::latch::{Latch, NOT_READY, SUCCESS, event, legacy, per_thread, stays, stream};

type Function = Box<dyn FnOnce(CUstream, CUresult) + Send>;

extern "C" fn host(data: *mut c_void) {
    told(null_mut(), SUCCESS, data);
}

extern "C" fn told(stream: CUstream, status: CUresult, data: *mut c_void) {
    // SAFETY: made by `boxed`, and given to the driver to be called once.
    let function = unsafe { Box::from_raw(data.cast::<Function>()) };
    function(stream, status);
}

fn boxed(function: impl FnOnce(CUstream, CUresult) + Send + 'static) -> *mut c_void {
    Box::into_raw(Box::new(Box::new(function) as Function)).cast()
}

fn launch(driver: &Driver, on: CUstream, function: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    call!(driver.cuLaunchHostFunc(on, Some(host), boxed(|_, _| function())))
}

fn add(driver: &Driver, on: CUstream, f: impl FnOnce(CUstream, CUresult) + Send + 'static) -> Result<(), Error> {
    call!(driver.cuStreamAddCallback(on, Some(told), boxed(f), 0))
}

/// Handles to take along to another thread.
#[derive(Clone, Copy)]
struct Handles {
    own: CUstream,
    other: CUstream,
    event: CUevent,
    spare: CUevent,
}
// SAFETY: handles are numbers to whoever holds them.
unsafe impl Send for Handles {}

driver_tests! {
    fn host_functions_and_callbacks_run_in_stream_order(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let made = stream(driver, 1)?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |text: &'static str| {
            let log = Arc::clone(&log);
            move || log.lock().expect("nobody panics").push(text.to_owned())
        };
        let note_call = |number: u32| {
            let log = Arc::clone(&log);
            move |stream: CUstream, status: CUresult| {
                log.lock().expect("nobody panics").push(format!("{number} {:#x} {status}", stream.addr()));
            }
        };
        latch.block(made)?;
        add(driver, made, note_call(1))?;
        launch(driver, made, note("between"))?;
        add(driver, made, note_call(2))?;
        stays(NOT_READY, "the stream", || call!(driver.cuStreamQuery(made)));
        assert!(log.lock().expect("nobody panics").is_empty());
        latch.open();
        call!(driver.cuStreamSynchronize(made))?;
        let name = format!("{:#x} {SUCCESS}", made.addr());
        assert_eq!(*log.lock().expect("nobody panics"), [format!("1 {name}"), "between".to_owned(), format!("2 {name}")]);
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_callback_is_told_the_stream_as_it_was_named(driver) {
        let _primary = Primary::of(driver, 0)?;
        let names = Arc::new(Mutex::new(Vec::new()));
        for on in [null_mut(), legacy(), per_thread()] {
            let names = Arc::clone(&names);
            add(driver, on, move |stream, _| names.lock().expect("nobody panics").push(stream.addr()))?;
            call!(driver.cuStreamSynchronize(on))?;
        }
        assert_eq!(*names.lock().expect("nobody panics"), [0, 1, 2]);
    }

    fn a_host_function_needs_a_function_and_no_flags(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 1)?;
        answers!(driver.cuLaunchHostFunc(made, None, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamAddCallback(made, None, null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        for flags in [1, 2, 0x8000_0000] {
            answers!(driver.cuStreamAddCallback(made, Some(told), null_mut(), flags), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuStreamQuery(made))?;
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_host_function_may_only_name_streams_and_events(driver) {
        let primary = Primary::of(driver, 0)?;
        let (own, other) = (stream(driver, 1)?, stream(driver, 1)?);
        let (first, spare) = (event(driver, 0)?, event(driver, 0)?);
        let handles = Handles { own, other, event: first, spare };
        let context = primary.context.addr();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let inside = {
            let (driver, answers) = (driver.clone(), Arc::clone(&answers));
            move || {
                let handles = handles;
                let Handles { own, other, event, spare } = handles;
                let driver = &driver;
                let context = std::ptr::without_provenance_mut(context);
                let mut current = null_mut();
                let (mut version, mut count, mut memory) = (0, 0, 0);
                let not_permitted = CUresult::CUDA_ERROR_NOT_PERMITTED;
                answers.lock().expect("nobody panics").extend([
                    ("version", SUCCESS, code_of(call!(driver.cuDriverGetVersion(&mut version)))),
                    ("init", SUCCESS, code_of(call!(driver.cuInit(0)))),
                    ("count", not_permitted, code_of(call!(driver.cuDeviceGetCount(&mut count)))),
                    ("current", not_permitted, code_of(call!(driver.cuCtxGetCurrent(&mut current)))),
                    ("set current", not_permitted, code_of(call!(driver.cuCtxSetCurrent(context)))),
                    ("synchronize", not_permitted, code_of(call!(driver.cuCtxSynchronize()))),
                    ("allocate", not_permitted, code_of(call!(driver.cuMemAlloc_v2(&mut memory, 16)))),
                    ("query other", SUCCESS, code_of(call!(driver.cuStreamQuery(other)))),
                    ("query own", NOT_READY, code_of(call!(driver.cuStreamQuery(own)))),
                    ("query default", not_permitted, code_of(call!(driver.cuStreamQuery(null_mut())))),
                    ("synchronize other", SUCCESS, code_of(call!(driver.cuStreamSynchronize(other)))),
                    ("query event", SUCCESS, code_of(call!(driver.cuEventQuery(event)))),
                    ("record", SUCCESS, code_of(call!(driver.cuEventRecord(event, other)))),
                    ("synchronize event", SUCCESS, code_of(call!(driver.cuEventSynchronize(event)))),
                    ("wait", SUCCESS, code_of(call!(driver.cuStreamWaitEvent(other, event, 0)))),
                    ("create", not_permitted, code_of(call!(driver.cuEventCreate(&mut null_mut(), 0)))),
                    ("launch", SUCCESS, code_of(launch(driver, other, || {}))),
                    ("destroy event", SUCCESS, code_of(call!(driver.cuEventDestroy_v2(spare)))),
                ]);
            }
        };
        launch(driver, own, inside)?;
        call!(driver.cuStreamSynchronize(own))?;
        call!(driver.cuStreamSynchronize(other))?;
        let answers = std::mem::take(&mut *answers.lock().expect("nobody panics"));
        assert_eq!(answers.len(), 18);
        for (what, expected, found) in answers {
            assert_eq!(found, expected, "{what}");
        }
        // The same thread may call again once the host function is over.
        call!(driver.cuDeviceGetCount(&mut 0))?;
        call!(driver.cuStreamDestroy_v2(own))?;
        call!(driver.cuStreamDestroy_v2(other))?;
        call!(driver.cuEventDestroy_v2(first))?;
    }

    threads fn host_functions_run_one_at_a_time(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (first, second) = (stream(driver, 1)?, stream(driver, 1)?);
        let came = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(None));
        {
            let (came, seen) = (Arc::clone(&came), Arc::clone(&seen));
            launch(driver, first, move || {
                std::thread::sleep(Duration::from_millis(100));
                *seen.lock().expect("nobody panics") = Some(came.load(Ordering::SeqCst));
            })?;
        }
        std::thread::sleep(Duration::from_millis(10));
        launch(driver, second, move || came.store(true, Ordering::SeqCst))?;
        stays(NOT_READY, "the first", || call!(driver.cuStreamQuery(first)));
        call!(driver.cuStreamSynchronize(first))?;
        call!(driver.cuStreamSynchronize(second))?;
        assert_eq!(*seen.lock().expect("nobody panics"), Some(false));
        call!(driver.cuStreamDestroy_v2(first))?;
        call!(driver.cuStreamDestroy_v2(second))?;
    }
}

#[test]
fn a_host_function_that_waits_for_itself_is_reported() -> TestResult {
    use warploom_testkit::sim::{LogKind, Machine, Mode};
    for mode in warploom_testkit::ASYNCHRONOUS.iter().copied().chain([Mode::Sync]) {
        let machine = Machine::builder().mode(mode).patience(Duration::from_millis(100)).start()?;
        let driver = &Driver::open(&machine)?;
        driver.initialize()?;
        let _primary = Primary::of(driver, 0)?;
        let own = stream(driver, 1)?;
        let handles = Handles { own, other: own, event: null_mut(), spare: null_mut() };
        let answer = Arc::new(Mutex::new(SUCCESS));
        let inside = {
            let (driver, answer) = (driver.clone(), Arc::clone(&answer));
            move || {
                let handles = handles;
                let own = handles.own;
                *answer.lock().expect("nobody panics") = code_of(call!(driver.cuStreamSynchronize(own)));
            }
        };
        launch(driver, own, inside)?;
        call!(driver.cuStreamSynchronize(own))?;
        assert_eq!(*answer.lock().expect("nobody panics"), CUresult::CUDA_ERROR_TIMEOUT, "{mode:?}");
        assert!(machine.log().iter().any(|entry| entry.kind == LogKind::Deadlock), "{mode:?}");
    }
    Ok(())
}

#[test]
fn a_machine_can_go_while_a_host_function_is_stuck() -> TestResult {
    use warploom_testkit::sim::Machine;
    let machine = Machine::builder().patience(Duration::from_millis(50)).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let release = Arc::new(AtomicBool::new(false));
    {
        let driver = &driver;
        // Not a `Primary`: releasing the context would wait for the host function, as it should.
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let release = Arc::clone(&release);
        launch(driver, stream(driver, 1)?, move || {
            while !release.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        })?;
    }
    drop(driver);
    drop(machine);
    release.store(true, Ordering::SeqCst);
    Ok(())
}
