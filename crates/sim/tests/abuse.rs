//! Any handle into any function: the answer is an error or a success, never a crash.
//!
//! A real driver follows handles and dies of bad ones; the simulator says what they are. Each entry of
//! [`ABUSES`] hands one handle to one function, in every place that takes one.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use warploom_driver::{Driver, Error};
use warploom_sim::topology::Topology;
use warploom_sim::{LogKind, Mode, Order};
use warploom_sys::types::{CUmemAllocationHandleType, CUmemPool_attribute, CUpointer_attribute, CUresult};
use warploom_testkit::{Random, TestResult, call, open};

type Abuse = fn(&Driver, *mut c_void, *mut u64) -> Result<(), Error>;

macro_rules! abuses {
    (|$driver:ident, $handle:ident, $out:ident| $($function:ident($($argument:expr),*);)*) => {
        /// Every way to misuse a handle: `handle` is the handle, or an address; `out` is 64 words of room.
        const ABUSES: &[(&str, Abuse)] = &[$((
            stringify!($function),
            |$driver, $handle, $out| {
                let _ = (&$handle, &$out);
                call!($driver.$function($($argument),*))
            },
        )),*];
    };
}

abuses! { |driver, handle, out|
    cuCtxSetCurrent(handle.cast());
    cuCtxPushCurrent_v2(handle.cast());
    cuCtxPopCurrent_v2(out.cast());
    cuCtxDestroy_v2(handle.cast());
    cuCtxDetach(handle.cast());
    cuCtxGetId(handle.cast(), out);
    cuCtxGetApiVersion(handle.cast(), out.cast());
    cuCtxGetDevice_v2(out.cast(), handle.cast());
    cuCtxSynchronize_v2(handle.cast());
    cuCtxRecordEvent(handle.cast(), handle.cast());
    cuCtxWaitEvent(handle.cast(), handle.cast());
    cuCtxEnablePeerAccess(handle.cast(), 0);
    cuCtxDisablePeerAccess(handle.cast());
    cuStreamCreate(out.cast(), 0);
    cuStreamDestroy_v2(handle.cast());
    cuStreamQuery(handle.cast());
    cuStreamSynchronize(handle.cast());
    cuStreamGetFlags(handle.cast(), out.cast());
    cuStreamGetPriority(handle.cast(), out.cast());
    cuStreamGetId(handle.cast(), out);
    cuStreamGetCtx(handle.cast(), out.cast());
    cuStreamGetCtx_v2(handle.cast(), out.cast(), null_mut());
    cuStreamIsCapturing(handle.cast(), out.cast());
    cuStreamWaitEvent(handle.cast(), handle.cast(), 0);
    cuStreamCopyAttributes(handle.cast(), handle.cast());
    cuStreamAttachMemAsync(handle.cast(), handle.addr() as u64, 0, 1);
    cuStreamWriteValue32_v2(handle.cast(), handle.addr() as u64, 0, 0);
    cuLaunchHostFunc(handle.cast(), None, null_mut());
    cuEventCreate(out.cast(), 0);
    cuEventDestroy_v2(handle.cast());
    cuEventRecord(handle.cast(), handle.cast());
    cuEventQuery(handle.cast());
    cuEventSynchronize(handle.cast());
    cuEventElapsedTime_v2(out.cast(), handle.cast(), handle.cast());
    cuMemFree_v2(handle.addr() as u64);
    cuMemFreeHost(handle);
    cuMemHostUnregister(handle);
    cuMemHostGetFlags(out.cast(), handle);
    cuMemHostGetDevicePointer_v2(out, handle, 0);
    cuMemGetAddressRange_v2(out, out.cast(), handle.addr() as u64);
    cuPointerGetAttribute(out.cast(), CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT, handle.addr() as u64);
    cuMemsetD8_v2(handle.addr() as u64, 0, 16);
    cuMemsetD8Async(handle.addr() as u64, 0, 16, handle.cast());
    cuMemcpyHtoD_v2(handle.addr() as u64, out.cast(), 16);
    cuMemcpyDtoH_v2(out.cast(), handle.addr() as u64, 16);
    cuMemAllocAsync(out, 16, handle.cast());
    cuMemFreeAsync(handle.addr() as u64, handle.cast());
    cuMemPoolDestroy(handle.cast());
    cuMemPoolTrimTo(handle.cast(), 0);
    cuMemPoolGetAttribute(handle.cast(), CUmemPool_attribute(4), out.cast());
    cuMemAllocFromPoolAsync(out, 16, handle.cast(), handle.cast());
    cuDeviceSetMemPool(0, handle.cast());
    cuMemRelease(handle.addr() as u64);
    cuMemUnmap(handle.addr() as u64, 2 << 20);
    cuMemAddressFree(handle.addr() as u64, 2 << 20);
    cuMemMap(handle.addr() as u64, 2 << 20, 0, handle.addr() as u64, 0);
    cuMemRetainAllocationHandle(out, handle);
    cuMemGetAllocationPropertiesFromHandle(out.cast(), handle.addr() as u64);
    cuMemExportToShareableHandle(out.cast(), handle.addr() as u64, CUmemAllocationHandleType(1), 0);
}

/// Makes one of everything that has a handle or an address, where the driver has it.
fn harvest(driver: &Driver, handles: &mut Vec<usize>) -> TestResult {
    let (mut context, mut stream, mut event, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
    call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
    handles.extend([context.addr(), stream.addr(), memory as usize]);
    if call!(driver.cuEventCreate(&mut event, 0)).is_ok() {
        handles.push(event.addr());
    }
    let mut page_locked = null_mut();
    if call!(driver.cuMemHostAlloc(&mut page_locked, 4096, 0)).is_ok() {
        handles.push(page_locked.addr());
    }
    let mut pool = null_mut();
    if call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0)).is_ok() {
        handles.push(pool.addr());
    }
    Ok(())
}

/// Ten thousand calls with handles that are alive, stale, foreign, of the wrong kind, or invalid.
fn abuse(mode: Mode, seed: u64) -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, mode)?;
    let (_elsewhere, elsewhere) = open(Topology::preset("h200")?, mode)?;
    let mut random = Random::new(seed);
    let mut handles = Vec::new();
    for other in [&driver, &elsewhere] {
        harvest(other, &mut handles)?;
    }
    let (mut room, mut home) = ([0_u64; 64], null_mut());
    call!(driver.cuDevicePrimaryCtxRetain(&mut home, 0))?;
    for step in 0..10_000 {
        let handle = match random.number() % 4 {
            0 => random.number() as usize,
            1 => random.pick(&[0, 1, 2, 3, 4096, usize::MAX, 0xdead_beef, 1 << 58, 2 << 58, 3 << 58]),
            _ => random.pick(&handles) ^ random.pick(&[0, 0, 0, 0, 0, 0, 1, 1 << 24, 1 << 46]),
        };
        let (name, abuse) = random.pick(ABUSES);
        // Room that an answer may have left a pointer in is cleared, so that nothing is followed by accident.
        room.fill(0);
        if let Err(error) = abuse(&driver, without_provenance_mut(handle), room.as_mut_ptr()) {
            assert_ne!(error.code(), Some(CUresult::CUDA_ERROR_UNKNOWN), "{name}({handle:#x}) at step {step}: {error}");
        }
        if step % 100 == 0 {
            harvest(&driver, &mut handles)?;
        }
        if step % 10 == 0 {
            // What is current may be dead by now, and would answer everything.
            while call!(driver.cuCtxPopCurrent_v2(null_mut())).is_ok() {}
            call!(driver.cuCtxSetCurrent(home))?;
        }
    }
    let internal: Vec<_> = machine.log().into_iter().filter(|entry| entry.kind == LogKind::Internal).collect();
    assert!(internal.is_empty(), "{internal:?}");
    let mut memory = 0;
    call!(driver.cuCtxSetCurrent(home))?;
    call!(driver.cuMemAlloc_v2(&mut memory, 1 << 20))?;
    call!(driver.cuMemFree_v2(memory))?;
    call!(driver.cuCtxSynchronize())?;
    Ok(())
}

#[test]
fn bad_handles_never_crash_a_machine_with_threads() -> TestResult {
    abuse(Mode::Threads, 1)
}

#[test]
fn bad_handles_never_crash_a_lazy_machine() -> TestResult {
    abuse(Mode::Deterministic(Order::Lazy), 2)
}

#[test]
fn bad_handles_never_crash_a_machine_of_random_order() -> TestResult {
    abuse(Mode::Deterministic(Order::Seeded(3)), 3)
}
