//! The exported C functions: each hands its arguments to the machine's function of the same name.
#![expect(unsafe_code, reason = "C functions, whose pointers are C's promise")]

use std::ffi::{CStr, c_char, c_void};

use warploom_sim::{status_name, status_text};
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::lookup::hand_out_export;
use crate::process::process;

/// Writes the text of a status code if there is no machine that could: a program that cannot start prints it.
///
/// # Safety
///
/// `text` is writable, or null.
unsafe fn tell_without_machine(code: CUresult, found: Option<&CStr>, text: *mut *const c_char) -> CUresult {
    match found {
        Some(found) if code == CUresult::CUDA_ERROR_SYSTEM_NOT_READY && !text.is_null() => {
            // SAFETY: the caller's promise.
            unsafe { text.write(found.as_ptr()) };
            CUresult::CUDA_SUCCESS
        }
        _ => code,
    }
}

macro_rules! body {
    ($table:ident $slot:ident ($($argument:ident),*)) => {
        match process().map(|process| process.$table.$slot) {
            // SAFETY: handed on as they came, under the contract of `cuda.h`; the process keeps the machine.
            Some(Some(function)) => unsafe { function($($argument),*) },
            Some(None) => CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
            None => CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
        }
    };
}

/// The result of a call, once the machine has returned `$code`: a look-up gets the address of this library's
/// export.
macro_rules! then {
    (cuGetProcAddress ($symbol:ident, $function:ident $($rest:tt)*) $code:ident) => {
        // SAFETY: the machine has used both pointers if it was successful.
        unsafe { hand_out_export($code, $symbol, $function) }
    };
    (cuGetProcAddress_v2 ($symbol:ident, $function:ident $($rest:tt)*) $code:ident) => {
        // SAFETY: as above.
        unsafe { hand_out_export($code, $symbol, $function) }
    };
    (cuGetErrorName ($error:ident, $text:ident) $code:ident) => {
        // SAFETY: `text` is writable, or null, as `cuda.h` requires.
        unsafe { tell_without_machine($code, status_name($error), $text) }
    };
    (cuGetErrorString ($error:ident, $text:ident) $code:ident) => {
        // SAFETY: as above.
        unsafe { tell_without_machine($code, status_text($error), $text) }
    };
    ($slot:ident ($($argument:ident),*) $code:ident) => {
        $code
    };
}

/// The variant in which stream 0 is the per-thread default stream, where there is one.
macro_rules! per_thread {
    ($slot:ident 0 "" ($($signature:tt)*)) => {};
    ($slot:ident $version:literal $suffix:literal ($($argument:ident: $type:ty),*)) => {
        #[unsafe(export_name = concat!(stringify!($slot), $suffix))]
        pub(super) unsafe extern "C" fn $slot($($argument: $type),*) -> CUresult {
            body!(per_thread $slot ($($argument),*))
        }
    };
}

/// The address of that variant, or of the only one there is.
macro_rules! per_thread_address {
    ($slot:ident 0) => {
        $slot as *mut c_void
    };
    ($slot:ident $version:literal) => {
        per_thread::$slot as *mut c_void
    };
}

macro_rules! exports {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:tt $suffix:tt
        ($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $slot($($argument: $type),*) -> CUresult {
                let code = body!(legacy $slot ($($argument),*));
                then!($slot ($($argument),*) code)
            }
        )*

        mod per_thread {
            use super::*;
            $(per_thread! { $slot $per_thread $suffix ($($argument: $type),*) })*
        }

        /// The exported function.
        pub(crate) fn address(function: Function, is_per_thread: bool) -> *mut c_void {
            match function {
                $(Function::$slot => {
                    if is_per_thread { per_thread_address!($slot $per_thread) } else { $slot as *mut c_void }
                })*
            }
        }
    };
}
warploom_sys::for_each_function!(exports);
