//! Functions of device memory by the width of their addresses: 32 bits before CUDA 3.2, 64 bits since.

use warploom_sys::Function;

/// The CUDA version that widened device addresses and sizes to 64 bits.
const WIDENED: i32 = 3020;

fn is_of_memory(function: Function) -> bool {
    matches!(function.family(), "memory" | "copy" | "fill" | "array" | "library")
}

fn has_version(function: Function, fits: impl Fn(i32) -> bool) -> bool {
    let same = Function::ALL.iter().filter(|other| other.base_name() == function.base_name());
    same.into_iter().any(|other| fits(other.version()))
}

/// `true` for a function with 32-bit device addresses or sizes, which a later ABI replaced.
pub(crate) fn is_narrow(function: Function) -> bool {
    function.version() < WIDENED && is_of_memory(function) && has_version(function, |version| version == WIDENED)
}

/// `true` for a function with 64-bit device addresses that contexts of narrow addresses do not take.
pub(crate) fn is_wide(function: Function) -> bool {
    let is_widened = function.version() == WIDENED && has_version(function, |version| version < WIDENED);
    let is_unified = matches!(function, Function::cuMemcpy | Function::cuMemcpyAsync | Function::cuMemAllocManaged);
    is_unified || is_widened && is_of_memory(function)
}

/// `true` if device addresses have 32 bits in contexts of this version (`cuCtxGetApiVersion`).
pub(crate) fn is_narrow_version(api_version: u32) -> bool {
    api_version < WIDENED.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_memory_is_narrow_or_wide_or_neither() {
        assert!(is_narrow(Function::cuMemAlloc) && is_narrow(Function::cuMemcpyDtoDAsync));
        assert!(is_wide(Function::cuMemAlloc_v2) && is_wide(Function::cuMemcpyAsync));
        for function in [Function::cuMemFreeHost, Function::cuMemHostAlloc, Function::cuArrayDestroy] {
            assert!(!is_narrow(function) && !is_wide(function), "{function}");
        }
    }
}
