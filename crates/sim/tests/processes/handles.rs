//! Handles of events and memory as bytes, and a few calls around them.

use std::ffi::c_char;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUevent, CUipcEventHandle, CUipcMemHandle, CUresult};
use warploom_testkit::{TestResult, call, code_of};

/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS`.
pub(crate) const INTERPROCESS: u32 = 6;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
pub(crate) const LAZY: u32 = 1;
/// The longest wait for another process.
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) type Bytes = [u8; 64];

fn to_c(bytes: Bytes) -> [c_char; 64] {
    bytes.map(|byte| byte as c_char)
}

fn from_c(bytes: [c_char; 64]) -> Bytes {
    bytes.map(|byte| byte as u8)
}

pub(crate) fn event(driver: &Driver, flags: u32) -> TestResult<CUevent> {
    let mut event = null_mut();
    call!(driver.cuEventCreate(&mut event, flags))?;
    Ok(event)
}

/// The handle of an event.
pub(crate) fn event_handle(driver: &Driver, event: CUevent) -> Result<Bytes, Error> {
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    call!(driver.cuIpcGetEventHandle(&mut handle, event)).map(|()| from_c(handle.reserved))
}

pub(crate) fn open_event(driver: &Driver, handle: Bytes) -> Result<CUevent, Error> {
    let mut event = null_mut();
    call!(driver.cuIpcOpenEventHandle(&mut event, CUipcEventHandle { reserved: to_c(handle) })).map(|()| event)
}

/// The handle of device memory.
pub(crate) fn memory_handle(driver: &Driver, address: u64) -> Result<Bytes, Error> {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    call!(driver.cuIpcGetMemHandle(&mut handle, address)).map(|()| from_c(handle.reserved))
}

pub(crate) fn open_memory(driver: &Driver, handle: Bytes, flags: u32) -> Result<u64, Error> {
    let mut address = 0;
    let handle = CUipcMemHandle { reserved: to_c(handle) };
    call!(driver.cuIpcOpenMemHandle_v2(&mut address, handle, flags)).map(|()| address)
}

/// Device memory of `bytes` bytes, each `value`.
pub(crate) fn filled(driver: &Driver, bytes: usize, value: u8) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
    fill(driver, address, bytes, value)?;
    Ok(address)
}

pub(crate) fn fill(driver: &Driver, address: u64, bytes: usize, value: u8) -> TestResult {
    call!(driver.cuMemsetD8_v2(address, value, bytes))?;
    Ok(call!(driver.cuCtxSynchronize())?)
}

/// The 16 bytes at an address, if they are all the same.
pub(crate) fn read(driver: &Driver, address: u64) -> TestResult<u8> {
    let mut bytes = [0_u8; 16];
    call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len()))?;
    if bytes.iter().all(|byte| *byte == bytes[0]) { Ok(bytes[0]) } else { Err(format!("{bytes:?}").into()) }
}

/// The code of an answer with a value.
#[track_caller]
pub(crate) fn code<T>(answer: Result<T, Error>) -> CUresult {
    code_of(answer.map(|_| ()))
}

/// Polls until a call no longer answers `NOT_READY`; what it answers then.
pub(crate) fn polled(mut query: impl FnMut() -> Result<(), Error>) -> CUresult {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match code_of(query()) {
            CUresult::CUDA_ERROR_NOT_READY if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}
