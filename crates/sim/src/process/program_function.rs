//! Calls of host functions, stream callbacks and destructors, which are the program's.
#![expect(unsafe_code, reason = "calls the program's functions, and has the C library watch for their thread's end")]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use warploom_sys::types::{CUresult, CUstream};

/// A host function, or a destructor.
type Function = unsafe extern "C" fn(*mut c_void);
/// A stream callback.
type Callback = unsafe extern "C" fn(CUstream, CUresult, *mut c_void);

/// Room for `struct _pthread_cleanup_buffer`: a function, its argument, a number, and a pointer.
type CleanupBuffer = MaybeUninit<[usize; 4]>;

const EMPTY: CleanupBuffer = CleanupBuffer::uninit();

unsafe extern "C" {
    fn _pthread_cleanup_push(buffer: *mut CleanupBuffer, function: Function, argument: *mut c_void);
    fn _pthread_cleanup_pop(buffer: *mut CleanupBuffer, execute: c_int);
}

/// Calls a function of the program.
///
/// A thread that the function ends with `pthread_exit` stays here for ever, and its op is never complete. The C
/// library would unwind the simulator's frames, which aborts the process. CPython before 3.14 ends every thread
/// that asks for the interpreter while the interpreter ends.
///
/// # Safety
///
/// The function can be called with this argument, now and on this thread.
// A frame of its own, in which only functions of C are called: frames up to this one are unwound before the
// thread is held, and frames of Rust with a destructor or a handler cannot be.
#[inline(never)]
pub(crate) unsafe fn call(function: Function, argument: *mut c_void) {
    let mut buffer = EMPTY;
    // SAFETY: the buffer stays where it is until it is popped, and the caller vouches for the function.
    unsafe {
        _pthread_cleanup_push(&raw mut buffer, stay, argument);
        function(argument);
        _pthread_cleanup_pop(&raw mut buffer, 0);
    }
}

/// Calls a stream callback of the program, as [`call`] does it.
///
/// # Safety
///
/// The callback can be called with these arguments, now and on this thread.
#[inline(never)]
pub(crate) unsafe fn call_back(function: Callback, stream: CUstream, status: CUresult, data: *mut c_void) {
    let mut buffer = EMPTY;
    // SAFETY: as above.
    unsafe {
        _pthread_cleanup_push(&raw mut buffer, stay, data);
        function(stream, status, data);
        _pthread_cleanup_pop(&raw mut buffer, 0);
    }
}

/// Holds a thread that is about to end.
unsafe extern "C" fn stay(_: *mut c_void) {
    loop {
        std::thread::park();
    }
}
