//! Machines and children of `fork`.
#![expect(unsafe_code, reason = "forks")]

use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warploom_driver::Driver;
use warploom_sim::trace::Trace;
use warploom_sim::{Machine, Mode, Order};
use warploom_sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call, code_of};

/// After this long a child is taken for one that hangs, and ended by the kernel.
const SECONDS: u32 = 20;

/// Held by the test that runs: a child has copies of the locks of the whole process, those of other tests
/// included.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a body in a child of this process; whether it held there, in time.
fn holds_in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing but the body and functions that end it, and does not return into the
    // harness.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes a number.
        unsafe { libc::alarm(SECONDS) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: ends the child without what the parent has to do at its end.
        unsafe { libc::_exit(if outcome.is_ok_and(|holds| holds) { 0 } else { 1 }) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child that was just made, and writes to a variable of this function's.
    let ended = unsafe { libc::waitpid(child, &mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// `true` if a sample of functions from all families returns `CUDA_ERROR_NOT_INITIALIZED`.
fn is_dead(driver: &Driver) -> bool {
    let (mut number, mut pointer, mut address) = (0, null_mut(), 0);
    let mut text = std::ptr::null();
    [
        call!(driver.cuInit(0)),
        call!(driver.cuDriverGetVersion(&mut number)),
        call!(driver.cuGetErrorName(CUresult::CUDA_SUCCESS, &mut text)),
        call!(driver.cuDeviceGetCount(&mut number)),
        call!(driver.cuCtxSynchronize()),
        call!(driver.cuCtxSetCurrent(null_mut())),
        call!(driver.cuStreamCreate(&mut pointer, 0)),
        call!(driver.cuStreamSynchronize(null_mut())),
        call!(driver.cuEventDestroy_v2(null_mut())),
        call!(driver.cuMemAlloc_v2(&mut address, 64)),
        call!(driver.cuMemFree_v2(0)),
    ]
    .into_iter()
    .all(|answer| code_of(answer) == CUresult::CUDA_ERROR_NOT_INITIALIZED)
}

/// Brings a machine up and moves some bytes with it.
fn works(driver: &Driver) -> TestResult {
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    let (sent, mut received, mut address, mut stream) = ([7_u8; 256], [0_u8; 256], 0, null_mut());
    call!(driver.cuStreamCreate(&mut stream, 0))?;
    call!(driver.cuMemAlloc_v2(&mut address, 256))?;
    call!(driver.cuMemcpyHtoDAsync_v2(address, sent.as_ptr().cast(), 256, stream))?;
    call!(driver.cuMemcpyDtoHAsync_v2(received.as_mut_ptr().cast(), address, 256, stream))?;
    call!(driver.cuStreamSynchronize(stream))?;
    call!(driver.cuMemFree_v2(address))?;
    call!(driver.cuStreamDestroy_v2(stream))?;
    if sent == received { Ok(()) } else { Err("the bytes did not arrive".into()) }
}

fn start(mode: Mode) -> TestResult<(Machine, Driver)> {
    let patience = Duration::from_secs(600);
    let machine = Machine::builder().mode(mode).patience(patience).trace(Trace::timeline()).start()?;
    let driver = Driver::open(&machine)?;
    Ok((machine, driver))
}

#[test]
fn no_call_works_or_hangs_in_a_child_of_a_busy_process() -> TestResult {
    let _alone = ALONE.lock();
    let (machine, driver) = start(Mode::Threads)?;
    works(&driver)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    works(&driver).expect("the parent's machine goes on");
                    // A thread that ends has locks of its own to take.
                    std::thread::scope(|inner| {
                        inner.spawn(|| code_of(call!(driver.cuStreamQuery(null_mut()))));
                    });
                }
            });
        }
        let holds = (0..200).all(|_| {
            holds_in_child(|| {
                drop((machine.clone(), driver.clone()));
                is_dead(&driver)
                    && machine.log().is_empty()
                    && machine.unfinished_ops() == 0
                    && machine.trace().is_none()
            })
        });
        stop.store(true, Ordering::Relaxed);
        assert!(holds);
    });
    Ok(())
}

#[test]
fn a_child_can_let_its_last_handle_of_a_machine_go() -> TestResult {
    let _alone = ALONE.lock();
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = start(mode)?;
        works(&driver)?;
        let mut handles = Some((machine, driver));
        assert!(holds_in_child(|| {
            drop(handles.take());
            true
        }));
        let (_, driver) = handles.ok_or("the parent keeps its own")?;
        works(&driver)?;
    }
    Ok(())
}

#[test]
fn an_uninitialised_machine_is_the_childs_own() -> TestResult {
    let _alone = ALONE.lock();
    let (machine, driver) = start(Mode::Threads)?;
    assert!(holds_in_child(|| {
        let is_foreign_at_first = !machine.is_of_this_process();
        works(&driver).is_ok() && is_foreign_at_first && machine.is_of_this_process()
    }));
    assert!(machine.is_of_this_process());
    works(&driver)
}

#[test]
fn a_grandchild_is_a_child_of_a_process_that_used_the_machine() -> TestResult {
    let _alone = ALONE.lock();
    let (_machine, driver) = start(Mode::Threads)?;
    assert!(holds_in_child(|| works(&driver).is_ok() && holds_in_child(|| is_dead(&driver))));
    Ok(())
}

#[test]
fn a_child_of_a_process_without_executors_can_start_a_machine_of_its_own() -> TestResult {
    let _alone = ALONE.lock();
    let (_machine, driver) = start(Mode::Sync)?;
    works(&driver)?;
    assert!(holds_in_child(|| {
        let Ok((own, its_driver)) = start(Mode::Threads) else { return false };
        works(&its_driver).is_ok() && own.is_of_this_process() && is_dead(&driver)
    }));
    Ok(())
}
