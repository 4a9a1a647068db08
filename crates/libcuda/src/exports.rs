//! The exported C functions: each hands its arguments to the machine's function of the same name.
#![expect(unsafe_code, reason = "C functions, whose pointers are C's promise")]

use warploom_sys::types::CUresult;

use crate::process::process;

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

/// The variant in which stream 0 is the per-thread default stream, where there is one.
macro_rules! per_thread {
    ($slot:ident 0 "" ($($signature:tt)*)) => {};
    ($slot:ident $version:literal $suffix:literal ($($argument:ident: $type:ty),*)) => {
        #[unsafe(export_name = concat!(stringify!($slot), $suffix))]
        unsafe extern "C" fn $slot($($argument: $type),*) -> CUresult {
            body!(per_thread $slot ($($argument),*))
        }
    };
}

macro_rules! exports {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:tt $suffix:tt
        ($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $slot($($argument: $type),*) -> CUresult {
                body!(legacy $slot ($($argument),*))
            }
        )*

        mod per_thread {
            use super::*;
            $(per_thread! { $slot $per_thread $suffix ($($argument: $type),*) })*
        }
    };
}
warploom_sys::for_each_function!(exports);
