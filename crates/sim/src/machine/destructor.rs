//! Destructors of user objects.

use std::ffi::c_void;

use warploom_sys::types::CUhostFn;

use crate::process::program_function;

/// The function that the program gave for the end of a user object.
#[derive(Clone, Copy)]
pub(crate) struct Destructor {
    pub(crate) function: CUhostFn,
    pub(crate) data: *mut c_void,
}

// SAFETY: the raw pointer is the destructor's data. The C caller hands it to the driver, which passes it to
// the function on the thread that releases the last reference.
#[expect(unsafe_code, reason = "a pointer that only a destructor looks at")]
unsafe impl Send for Destructor {}

impl Destructor {
    /// Calls the function, which happens once.
    #[expect(unsafe_code, reason = "calls the program's function")]
    pub(crate) fn run(self) {
        if let Some(function) = self.function {
            // SAFETY: a function and its data that a C caller passed to be called once, now.
            unsafe { program_function::call(function, self.data) };
        }
    }
}
