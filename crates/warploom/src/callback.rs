//! Callbacks: functions of the program that the driver calls.
//!
//! The driver takes a C function and a pointer for it. It is given a number instead, under which the function
//! is kept here until it is called or taken back. So a call that comes although its launch was refused, or
//! after its context was given up, finds nothing, and a function that is not called is dropped; a pointer
//! would dangle, or leak.
//!
//! CUDA must not be called in a callback. A value whose drop would call it is dropped by the
//! [reclaimer](crate::reclaimer) instead: [`is_running`] tells.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use warploom_driver::sys::types::{CUcontext, CUresult, CUstream};
use warploom_driver::user_code;

use crate::diagnostics::{Subject, report};
use crate::{Context, Driver, Error, StreamError};

thread_local! {
    /// `true` while this thread runs a callback of the driver.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// `true` in a callback of the driver, where CUDA must not be called.
#[inline]
pub(crate) fn is_running() -> bool {
    IS_RUNNING.get()
}

/// A callback of the driver, which this thread runs while the value exists.
pub(crate) struct Running {
    /// `true` if a callback was run before: a simulated machine may run one in a call of another.
    was_running: bool,
}

impl Running {
    pub(crate) fn new() -> Running {
        Running { was_running: IS_RUNNING.replace(true) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_RUNNING.set(self.was_running);
    }
}

/// The context in which functions wait to be called: its driver, its handle and its generation, as numbers,
/// since they must not keep any of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(usize, usize, u64);

impl Home {
    pub(crate) fn new(driver: &Driver, context: CUcontext, generation: u64) -> Home {
        Home(std::ptr::from_ref(driver.table()).addr(), context.addr(), generation)
    }

    /// `true` if a function waits in this context.
    pub(crate) fn has_waiting(self) -> bool {
        waiting().values().any(|waiting| waiting.home == self)
    }

    /// Drops the functions that wait in this context, which is gone, so that they will not be called.
    pub(crate) fn drop_waiting(self) {
        let lost: Vec<Waiting> =
            waiting().extract_if(.., |_, waiting| waiting.home == self).map(|(_, waiting)| waiting).collect();
        drop(lost); // without the lock
    }
}

struct Waiting {
    home: Home,
    function: Box<dyn FnOnce() + Send>,
}

static WAITING: Mutex<BTreeMap<usize, Waiting>> = Mutex::new(BTreeMap::new());

fn waiting() -> MutexGuard<'static, BTreeMap<usize, Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function that waits for the driver to call it.
pub(crate) struct Callback(usize);

impl Callback {
    /// Keeps a function until the driver calls with [`Callback::data`].
    pub(crate) fn new(context: &Context, function: impl FnOnce() + Send + 'static) -> Callback {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let home = Home::new(context.driver(), context.as_raw(), context.generation());
        waiting().insert(key, Waiting { home, function: Box::new(function) });
        Callback(key)
    }

    /// The argument for the driver to pass on.
    pub(crate) fn data(&self) -> *mut c_void {
        without_provenance_mut(self.0)
    }

    /// Drops the function, unless it is being called already.
    pub(crate) fn take_back(self) {
        let function = waiting().remove(&self.0);
        drop(function); // without the lock
    }
}

/// For `cuLaunchHostFunc`.
pub(crate) extern "C" fn host_function(data: *mut c_void) {
    call(data);
}

/// For `cuStreamAddCallback`, which calls also when work before it has failed.
pub(crate) extern "C" fn stream_callback(_stream: CUstream, _status: CUresult, data: *mut c_void) {
    call(data);
}

fn call(data: *mut c_void) {
    let Some(Waiting { function, .. }) = waiting().remove(&data.addr()) else { return };
    let _running = Running::new();
    // Functions here catch what the program's own code throws. What is left is thrown by a `drop` in them;
    // nothing may unwind into the driver.
    user_code::run(function);
}

/// Reports a panic, and makes it an error.
pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Error {
    let message = payload.downcast_ref::<&str>().map(|text| Box::from(*text));
    let message = message.or_else(|| payload.downcast_ref::<String>().map(|text| text.as_str().into()));
    let message = message.unwrap_or_else(|| "a payload that is not text".into());
    // Nothing may unwind into the driver, and the payload might panic as well.
    user_code::run(|| drop(payload));
    let error = Error::from(StreamError::HostFunctionPanicked { message });
    report(|| Subject::HostFunction, Err(error.clone()));
    error
}
