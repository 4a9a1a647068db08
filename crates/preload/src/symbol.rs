//! Look-ups of symbols: `dlsym`, wrapped.
#![expect(unsafe_code, reason = "stands in for a function of the C library")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::compiler;

type LookUp = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Versions of `dlsym` in the C library: since 2.34, and before on x86-64 and on ARM.
const VERSIONS: [&CStr; 3] = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"];

/// The C library's function, once it has been asked for.
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// `dlsym`. It jumps to [`look_up`] for names of compilers, and to the C library's function for all others,
/// as if the caller had called that.
///
/// # Safety
///
/// As for the C library's: `name` is a terminated text.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // The three words keep the stack aligned to 16 bytes.
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov rdi, rsi",
        "call {choose}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        choose = sym choose,
    )
}

/// As above.
///
/// # Safety
///
/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "mov x0, x1",
        "bl {choose}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        choose = sym choose,
    )
}

/// The function that answers a look-up.
unsafe extern "C" fn choose(name: *const c_char) -> LookUp {
    // SAFETY: a terminated text, as `dlsym` requires; null is the C library's to refuse.
    if !name.is_null() && compiler::is_wrapped(unsafe { CStr::from_ptr(name) }) { look_up } else { real() }
}

/// Looks a compiler's function up; the answer is its wrapper.
unsafe extern "C" fn look_up(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the arguments of the caller of `dlsym`.
    let mut found = unsafe { real()(handle, name) };
    // In the program's own scope this library is first, and its function is no compiler's.
    if found == compiler::own_export() {
        // SAFETY: as above.
        found = unsafe { real()(libc::RTLD_NEXT, name) };
    }
    compiler::wrapper(found)
}

/// A function of NVRTC that the program, or a library of it, is linked to; null if NVRTC is not loaded.
pub(crate) fn of_nvrtc(name: &CStr) -> *mut c_void {
    // SAFETY: a terminated text.
    let next = unsafe { real()(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return next;
    }
    // A library that was opened for itself alone has NVRTC in its own scope.
    let mut handle: *mut c_void = null_mut();
    // SAFETY: the function below, and the variable that it writes.
    unsafe { libc::dl_iterate_phdr(Some(open_nvrtc), (&raw mut handle).cast()) };
    if handle.is_null() {
        return handle;
    }
    // SAFETY: a handle of a loaded library, and a terminated text.
    unsafe { real()(handle, name.as_ptr()) }
}

/// Opens NVRTC among the loaded libraries, and stops there.
unsafe extern "C" fn open_nvrtc(info: *mut libc::dl_phdr_info, _size: usize, handle: *mut c_void) -> c_int {
    // SAFETY: the loader's description of a library, with a terminated path.
    let path = unsafe { (*info).dlpi_name };
    // SAFETY: as above.
    let is_nvrtc = !path.is_null() && is_nvrtc(unsafe { CStr::from_ptr(path) });
    if !is_nvrtc {
        return 0;
    }
    // SAFETY: a library that is loaded already gets another reference, and none of its code runs.
    let opened = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    // SAFETY: the variable of `of_nvrtc`.
    unsafe { handle.cast::<*mut c_void>().write(opened) };
    c_int::from(!opened.is_null())
}

fn is_nvrtc(path: &CStr) -> bool {
    let path = path.to_bytes();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    file.starts_with(b"libnvrtc.so")
}

/// The C library's `dlsym`.
fn real() -> LookUp {
    let mut found = DLSYM.load(Ordering::Acquire);
    if found.is_null() {
        // SAFETY: terminated texts.
        let version = |version: &CStr| unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        found = VERSIONS.iter().map(|name| version(name)).find(|found| !found.is_null()).unwrap_or(null_mut());
        if found.is_null() {
            // Without `dlsym` no look-up has an answer.
            return nothing;
        }
        DLSYM.store(found, Ordering::Release);
    }
    // SAFETY: the function of that name in the C library.
    unsafe { transmute::<*mut c_void, LookUp>(found) }
}

unsafe extern "C" fn nothing(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvrtc_is_known_by_its_file() {
        assert!(is_nvrtc(c"/usr/lib/libnvrtc.so.13") && is_nvrtc(c"libnvrtc.so"));
        assert!(
            !is_nvrtc(c"/usr/lib/libnvrtc-builtins.so.13.0") && !is_nvrtc(c"") && !is_nvrtc(c"/libnvrtc.so.13/other")
        );
    }

    #[test]
    fn other_names_are_looked_up_by_the_c_library() {
        // SAFETY: terminated texts; the function is this file's.
        let (known, unknown) = unsafe {
            let look = |name: &CStr| dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            (look(c"getpid"), look(c"warploom_no_such_function"))
        };
        assert!(!known.is_null() && unknown.is_null());
    }
}
