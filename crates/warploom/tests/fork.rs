//! Calls in a child made by `fork` (SYS-11).
#![cfg(unix)]
#![expect(unsafe_code, reason = "forks")]

use std::sync::Mutex;

use warploom::sys::types::CUresult;
use warploom::{Error, Function, driver};
use warploom_testkit::driver_tests;

/// After this long a child is taken for one that hangs, and ended by the kernel.
const SECONDS: u32 = 20;

/// Held by the test that runs: a child has copies of the locks of the whole process, those of other tests
/// included.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a body in a child of this process. `true` if it returned `true` there, in time.
fn holds_in_child(body: impl FnOnce(u32) -> bool) -> bool {
    let parent = std::process::id();
    // SAFETY: the child calls nothing but the body and functions that end it, and does not return into the
    // harness.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes a number.
        unsafe { libc::alarm(SECONDS) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(parent)));
        // SAFETY: ends the child without what the parent has to do at its end.
        unsafe { libc::_exit(i32::from(!outcome.unwrap_or(false))) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child that was just made, and writes to a variable of this function's.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

driver_tests! {
    /// SYS-11: the error names the call and both processes, and keeps the driver's code.
    fn a_call_in_a_forked_child_is_an_error_of_its_own(driver) {
        let _alone = ALONE.lock();
        let context = driver.device(0)?.context()?;
        assert!(holds_in_child(|parent| {
            let error = context.stream().expect_err("CUDA does not survive a fork");
            let text = error.to_string();
            let names = [parent, std::process::id()].map(|process| text.contains(&format!("process {process}")));
            matches!(error, Error::Driver(driver::Error::ForkedProcess { parent: of, .. }) if of == parent)
                && error.code() == Some(CUresult::CUDA_ERROR_NOT_INITIALIZED)
                && names == [true; 2]
        }));
        context.stream()?.synchronize()?;
    }

    /// SYS-11: also where the child would initialise the driver again.
    fn a_forked_child_cannot_initialise_the_driver_again(driver) {
        let _alone = ALONE.lock();
        driver.device(0)?;
        assert!(holds_in_child(|_| {
            let refused = driver.initialize();
            matches!(refused, Err(driver::Error::ForkedProcess { function: Function::cuInit, .. }))
        }));
    }
}
