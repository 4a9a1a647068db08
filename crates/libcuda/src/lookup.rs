//! `cuGetProcAddress` hands out the functions that the library exports, as the real one does.
#![expect(unsafe_code, reason = "reads the arguments of a C call that succeeded")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::exports;
use crate::process::process;

/// Puts the exported function where a successful look-up has put the machine's own.
///
/// # Safety
///
/// If `code` is success, `symbol` is a terminated text and `function` is good for reads and writes.
pub(crate) unsafe fn hand_out_export(code: CUresult, symbol: *const c_char, function: *mut *mut c_void) -> CUresult {
    if code == CUresult::CUDA_SUCCESS {
        // SAFETY: the caller's promise.
        let (name, found) = unsafe { (CStr::from_ptr(symbol), function.read_unaligned()) };
        if let Some(export) = name.to_str().ok().and_then(|name| export_of(name, found)) {
            // SAFETY: the caller's promise.
            unsafe { function.write_unaligned(export) };
        }
    }
    code
}

/// The exported twin of a machine's function, which is one of those that the name stands for.
fn export_of(name: &str, found: *mut c_void) -> Option<*mut c_void> {
    let process = process()?;
    let named = Function::ALL.iter().copied().filter(|function| function.base_name() == name);
    let variants = named.flat_map(|function| [(function, false), (function, true)]);
    let mut exported = variants.filter(|(function, per_thread)| !per_thread || function.per_thread().is_some());
    let (function, per_thread) = exported
        .find(|(function, per_thread)| process.machine.function(*function, *per_thread) == NonNull::new(found))?;
    Some(exports::address(function, per_thread))
}
