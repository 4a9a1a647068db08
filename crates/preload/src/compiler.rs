//! Wrappers of the compilers' functions that take options.
#![expect(unsafe_code, reason = "C functions of the compilers, called and called by")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::options::{LINE_INFO, lack_line_info};
use crate::symbol;

/// `nvrtcCompileProgram(program, number, options)`, and `nvJitLinkCreate(linker, number, options)`, whose
/// number is unsigned: a pointer, a number of 32 bits, an array of texts; the answer is a status.
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;

/// `NVRTC_ERROR_INTERNAL_ERROR`
const INTERNAL_ERROR: c_int = 11;

/// The most compilers in one process: versions of NVRTC and nvJitLink. The next is used as it is.
const MOST: usize = 8;

/// The function that each wrapper calls; null if there is none yet.
static WRAPPED: [AtomicPtr<c_void>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// A C function has no argument for the compiler that it stands for, so there is one for each.
static WRAPPERS: [Compile; MOST] =
    [compile::<0>, compile::<1>, compile::<2>, compile::<3>, compile::<4>, compile::<5>, compile::<6>, compile::<7>];

/// `true` if a name is that of a function with options for a cubin.
pub(crate) fn is_wrapped(name: &CStr) -> bool {
    let name = name.to_bytes();
    name == b"nvrtcCompileProgram" || name == b"nvJitLinkCreate" || name.starts_with(b"__nvJitLinkCreate_")
}

/// A wrapper for a function that was found, or the function if there is no wrapper left.
pub(crate) fn wrapper(found: *mut c_void) -> *mut c_void {
    if found.is_null() {
        return found;
    }
    for (wrapped, wrapper) in WRAPPED.iter().zip(&WRAPPERS) {
        match wrapped.compare_exchange(null_mut(), found, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return *wrapper as *mut c_void,
            Err(taken) if taken == found => return *wrapper as *mut c_void,
            Err(_) => {}
        }
    }
    found
}

unsafe extern "C" fn compile<const N: usize>(
    first: *mut c_void,
    number: c_int,
    options: *const *const c_char,
) -> c_int {
    let wrapped = WRAPPED[N].load(Ordering::Acquire);
    // SAFETY: `wrapper` has handed this function out for the compiler's, which is in the slot, and the
    // arguments are the caller's.
    unsafe { with_line_info(transmute::<*mut c_void, Compile>(wrapped), first, number, options) }
}

/// The function for programs that are linked to NVRTC: the loader takes this one, because it is loaded first.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCompileProgram(program: *mut c_void, number: c_int, options: *const *const c_char) -> c_int {
    let found = symbol::of_nvrtc(c"nvrtcCompileProgram");
    if found.is_null() {
        return INTERNAL_ERROR;
    }
    // SAFETY: the function of that name in NVRTC, with the caller's arguments.
    unsafe { with_line_info(transmute::<*mut c_void, Compile>(found), program, number, options) }
}

/// The address of the exported function, which is no compiler's.
pub(crate) fn own_export() -> *mut c_void {
    nvrtcCompileProgram as *mut c_void
}

/// # Safety
///
/// `compiler` is a function of that type, and `options` has as many texts as `number` says.
unsafe fn with_line_info(compiler: Compile, first: *mut c_void, number: c_int, options: *const *const c_char) -> c_int {
    let given = match usize::try_from(number) {
        // SAFETY: the caller's promise.
        Ok(number) if !options.is_null() => unsafe { std::slice::from_raw_parts(options, number) },
        _ => &[],
    };
    // SAFETY: the texts are terminated, as C's are; a null pointer is the compiler's to refuse.
    let texts = given.iter().filter(|text| !text.is_null()).map(|text| unsafe { CStr::from_ptr(*text) });
    if !lack_line_info(texts) {
        // SAFETY: the caller's arguments, unchanged.
        return unsafe { compiler(first, number, options) };
    }
    let all: Vec<*const c_char> = given.iter().copied().chain([LINE_INFO.as_ptr()]).collect();
    // SAFETY: the caller's arguments, and one more text that lives for ever.
    unsafe { compiler(first, number.saturating_add(1), all.as_ptr()) }
}
