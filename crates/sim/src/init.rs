//! Starting up, versions, names of codes, and finding functions.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use warploom_sys::Function;
use warploom_sys::types::{CUdriverProcAddressQueryResult, CUresult, CUuuid};

use crate::call::Call;
use crate::ffi::{ConstPtr, Ptr};
use crate::shims;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Status};

pub(crate) fn cuInit(call: &Call<'_>, flags: c_uint) -> Status {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let core = call.core();
    if core.topology.devices.is_empty() {
        return Err(call.refuse(CUresult::CUDA_ERROR_NO_DEVICE, "the machine has no device"));
    }
    let _world = core.world();
    if !core.initialized.load(Ordering::Acquire) {
        core.start()
            .map_err(|error| call.refuse(CUresult::CUDA_ERROR_OPERATING_SYSTEM, format!("no thread: {error}")))?;
        core.initialized.store(true, Ordering::Release);
    }
    Ok(())
}

pub(crate) fn cuDriverGetVersion(call: &Call<'_>, version: Ptr<c_int>) -> Status {
    version.write(call.core().topology.driver_version)
}

/// The code's name as a C string that lives forever.
fn code_text(code: CUresult) -> Option<*const c_char> {
    static NAMES: OnceLock<Vec<(CUresult, CString)>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = CUresult::ALL.iter().filter_map(|code| Some((*code, code.name()?)));
        named.filter_map(|(code, name)| Some((code, CString::new(name).ok()?))).collect()
    });
    names.iter().find(|(known, _)| *known == code).map(|(_, name)| name.as_ptr())
}

pub(crate) fn cuGetErrorName(call: &Call<'_>, error: CUresult, text: Ptr<*const c_char>) -> Status {
    text.required()?;
    let name = code_text(error);
    text.write(name.unwrap_or(std::ptr::null()))?;
    name.map(|_| ()).ok_or_else(|| call.refuse(INVALID_VALUE, format!("{} is no status code", error.0)))
}

pub(crate) fn cuGetErrorString(call: &Call<'_>, error: CUresult, text: Ptr<*const c_char>) -> Status {
    cuGetErrorName(call, error, text)
}

/// The undocumented tables that the CUDA runtime asks for. There are none.
pub(crate) fn cuGetExportTable(call: &Call<'_>, table: Ptr<*const c_void>, id: ConstPtr<CUuuid>) -> Status {
    table.required()?;
    id.read()?;
    Err(call.refuse(NOT_SUPPORTED, "export tables are undocumented and not simulated"))
}

pub(crate) fn cuGetProcAddress(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
) -> Status {
    match find(call, symbol, function, version, flags)? {
        CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS => Ok(()),
        _ => Err(CUresult::CUDA_ERROR_NOT_FOUND),
    }
}

pub(crate) fn cuGetProcAddress_v2(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
    status: Ptr<CUdriverProcAddressQueryResult>,
) -> Status {
    let found = find(call, symbol, function, version, flags)?;
    status.write_if_wanted(found);
    match found {
        CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS => Ok(()),
        // Told where the result is, the driver reports a miss there and calls the look-up a success.
        _ if !status.is_null() => Ok(()),
        _ => Err(CUresult::CUDA_ERROR_NOT_FOUND),
    }
}

const PER_THREAD_STREAM: u64 = 2;
const KNOWN_FLAGS: u64 = 3;

/// Looks a function up by its name without a version, for a program written for CUDA `version`: the newest ABI that the
/// version and the driver both have.
fn find(
    call: &Call<'_>,
    symbol: ConstPtr<c_char>,
    function: Ptr<*mut c_void>,
    version: c_int,
    flags: u64,
) -> Status<CUdriverProcAddressQueryResult> {
    let name = symbol.text()?;
    function.required()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1 and 2 are known")));
    }
    let driver = call.core().topology.driver_version;
    let named = || Function::ALL.iter().copied().filter(|known| known.base_name() == name && known.version() <= driver);
    let best = named().filter(|known| known.version() <= version).max_by_key(|known| known.version());
    let Some(found) = best else {
        function.write(std::ptr::null_mut())?;
        return Ok(match named().next() {
            Some(_) => CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
            None => CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
        });
    };
    let per_thread = flags & PER_THREAD_STREAM != 0 && found.per_thread().is_some();
    function.write(shims::address(call.core().slot, found, per_thread))?;
    Ok(CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS)
}
