//! Outputs of NVRTC and libNVVM: a call for the size, then a call that fills memory of that size.
#![expect(unsafe_code, reason = "has a library write as many bytes as it said")]

use std::ffi::{c_char, c_int};

/// A function with its name, for errors.
type Named<F> = (&'static str, F);
/// A call that says how many bytes there are.
type SizeCall<H> = unsafe extern "C" fn(H, *mut usize) -> c_int;
/// A call that writes them.
type FillCall<H> = unsafe extern "C" fn(H, *mut c_char) -> c_int;

/// The bytes of an output of the program `handle`. An empty output is not filled.
///
/// # Safety
///
/// The program is alive, and `size` says how many bytes `fill` writes.
pub(super) unsafe fn read<H: Copy, E>(
    handle: H,
    size: Named<SizeCall<H>>,
    fill: Named<FillCall<H>>,
    answer: impl Fn(&'static str, c_int) -> Result<(), E>,
    out_of_memory: impl FnOnce(&'static str, String) -> E,
) -> Result<Vec<u8>, E> {
    let mut len = 0;
    // SAFETY: the program is alive, and `len` is writable.
    answer(size.0, unsafe { size.1(handle, &raw mut len) })?;
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(len).is_err() {
        return Err(out_of_memory(size.0, format!("there is no memory for {len} bytes")));
    }
    bytes.resize(len, 0);
    if len > 0 {
        // SAFETY: the program is alive, and there is room for as many bytes as it said.
        answer(fill.0, unsafe { fill.1(handle, bytes.as_mut_ptr().cast()) })?;
    }
    Ok(bytes)
}

/// The bytes before the first zero.
pub(super) fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.iter().position(|byte| *byte == 0).map_or(bytes, |end| &bytes[..end])
}

/// The text before the first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_zero(bytes)).into_owned()
}
