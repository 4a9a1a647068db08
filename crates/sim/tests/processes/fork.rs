//! Children of `fork`, which have no driver, and children that are started anew, which do.
#![expect(unsafe_code, reason = "forks")]

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sys::types::CUresult;
use warploom_testkit::process::{Channel, Child, run_part};
use warploom_testkit::{Gate, Primary, Stream, TestResult, answers, call, code_of, driver_tests};

use crate::handles::{INTERPROCESS, event, event_handle, open_event};

/// After this many seconds a child is taken for one that hangs, and ended by the kernel.
const SECONDS: u32 = 20;

#[test]
fn child() -> TestResult {
    run_part(&[("await", await_record)])
}

/// Runs a body in a child of this process; `true` if it held there, in time.
fn holds_in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing but the body, which calls the driver, and functions that end it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes a number.
        unsafe { libc::alarm(SECONDS) };
        let holds = body();
        // SAFETY: ends the child without what the parent has to do at its end.
        unsafe { libc::_exit(if holds { 0 } else { 1 }) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child that was just made, and writes to a variable of this function's.
    let ended = unsafe { libc::waitpid(child, &mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// `true` if calls answer that there is no driver.
fn has_no_driver(driver: &Driver) -> bool {
    let (mut count, mut stream, mut address) = (0, null_mut(), 0);
    [
        call!(driver.cuDeviceGetCount(&mut count)),
        call!(driver.cuStreamCreate(&mut stream, 0)),
        call!(driver.cuMemAlloc_v2(&mut address, 64)),
    ]
    .into_iter()
    .all(|answer| code_of(answer) == CUresult::CUDA_ERROR_NOT_INITIALIZED)
}

/// Waits for a record of the parent.
fn await_record(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let event = open_event(driver, handle)?;
    answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    parent.signal()?;
    call!(driver.cuEventSynchronize(event))?;
    Ok(call!(driver.cuEventDestroy_v2(event))?)
}

driver_tests! {
    /// SYS-11
    fn a_child_of_fork_has_no_driver_and_a_started_one_has(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (event, stream, gate) = (event(driver, INTERPROCESS)?, Stream::new(driver)?, Gate::new(driver)?);
        gate.hold(stream.raw)?;
        call!(driver.cuEventRecord(event, stream.raw))?;
        assert!(holds_in_child(|| has_no_driver(driver)));
        // The child had a copy of the event and of its record, and has changed neither.
        let started = Child::start(driver, "fork::child", "await")?;
        started.channel().send(&event_handle(driver, event)?, &[])?;
        started.channel().wait()?;
        gate.open();
        started.join()?;
        stream.synchronize()?;
        call!(driver.cuEventDestroy_v2(event))?;
    }
}
