//! `cuGetProcAddress`: a function by its name and the version of CUDA that a program was written for.
//!
//! A name stands for all its ABIs; the version selects the newest one that is not newer than itself. The
//! variants for per-thread default streams have versions of their own. A negative version means the newest;
//! one beyond the driver's is refused. Names with a suffix such as `_v2` are unknown.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::LazyLock;

use warploom_sys::Function;
use warploom_sys::types::{CUdriverProcAddressQueryResult, CUresult};

use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;

/// The result of a lookup.
enum SymbolLookup {
    Function(*mut c_void),
    /// The name is known, and was introduced after the version.
    TooYoung,
    Nothing,
}

/// Returns an error if the function is not found, and leaves the pointer unchanged.
pub(crate) fn cuGetProcAddress(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
) -> Status {
    match find(call, symbol, function, version, flags)? {
        SymbolLookup::Function(address) => function.write(address),
        SymbolLookup::TooYoung | SymbolLookup::Nothing => Err(CUresult::CUDA_ERROR_NOT_FOUND),
    }
}

/// Succeeds even if the function is not found: the pointer is then null, and the symbol status gives the
/// reason.
pub(crate) fn cuGetProcAddress_v2(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
    status: Ptr<CUdriverProcAddressQueryResult>,
) -> Status {
    use CUdriverProcAddressQueryResult as Result;
    let (address, why) = match find(call, symbol, function, version, flags)? {
        SymbolLookup::Function(address) => (address, Result::CU_GET_PROC_ADDRESS_SUCCESS),
        SymbolLookup::TooYoung => (std::ptr::null_mut(), Result::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
        SymbolLookup::Nothing => (std::ptr::null_mut(), Result::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
    };
    status.write_if_wanted(why)?;
    function.write(address)
}

/// All ABIs of a name. Opening a driver looks up each function once.
static BY_NAME: LazyLock<HashMap<&str, Vec<Function>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&str, Vec<Function>> = HashMap::new();
    for function in Function::ALL {
        by_name.entry(function.base_name()).or_default().push(*function);
    }
    by_name
});

const PER_THREAD_STREAM: u64 = 2;
const KNOWN_FLAGS: u64 = 3;

fn find(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
) -> Status<SymbolLookup> {
    let name = symbol.text()?;
    function.required()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1 and 2 are known")));
    }
    let driver = call.core().topology.driver_version;
    if version > driver {
        return Err(call.refuse(INVALID_VALUE, format!("version {version} is beyond the driver's {driver}")));
    }
    let version = if version < 0 { driver } else { version };
    let abis = BY_NAME.get(name).map(Vec::as_slice).unwrap_or_default();
    let named = || abis.iter().copied().filter(|known| known.version() <= driver);
    if named().next().is_none() {
        return Ok(SymbolLookup::Nothing);
    }
    let per_thread = flags & PER_THREAD_STREAM != 0 && named().any(|known| known.per_thread().is_some());
    let since = |known: Function| match known.per_thread() {
        Some((version, _)) if per_thread => Some(version),
        None if per_thread => None,
        _ => Some(known.version()),
    };
    let best = named().filter_map(|known| Some((since(known)?, known))).filter(|(since, _)| *since <= version).max();
    Ok(match best {
        // Hidden only after the selection, because the next candidate would be a different ABI.
        Some((_, best)) if call.core().faults.hides(best) => SymbolLookup::Nothing,
        Some((_, best)) => SymbolLookup::Function(call.core().address_of(best, per_thread)),
        None => SymbolLookup::TooYoung,
    })
}
