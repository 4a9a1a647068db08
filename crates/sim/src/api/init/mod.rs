//! Initialisation, driver version, error names, and lookup of driver functions.
#![expect(non_snake_case, reason = "the functions have C's names")]

mod lookup;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use warploom_sys::MEMORY_ANNOTATIONS_ID;
use warploom_sys::types::{
    CUflushGPUDirectRDMAWritesScope, CUflushGPUDirectRDMAWritesTarget, CUmoduleLoadingMode, CUresult, CUuuid,
};

pub(crate) use self::lookup::{cuGetProcAddress, cuGetProcAddress_v2};

use crate::ffi::codes::{status_name, status_text};
use crate::ffi::status::{INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::coredump::CoredumpSettings;
use crate::topology::number;

pub(crate) fn cuInit(call: &Call<'_>, flags: c_uint) -> Status {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let core = call.core();
    if core.topology.devices.is_empty() {
        return Err(call.refuse(CUresult::CUDA_ERROR_NO_DEVICE, "the machine has no device"));
    }
    let mut world = core.world();
    if !core.initialized.load(Ordering::Acquire) {
        core.start()
            .map_err(|error| call.refuse(CUresult::CUDA_ERROR_OPERATING_SYSTEM, format!("no thread: {error}")))?;
        // Settings of core dumps that were made before are lost, as with the real driver.
        *world.coredump_mut() = CoredumpSettings::default();
        core.initialized.store(true, Ordering::Release);
    }
    Ok(())
}

pub(crate) fn cuDriverGetVersion(call: &Call<'_>, version: Ptr<c_int>) -> Status {
    version.write(call.core().topology.driver_version)
}

/// Status codes that drivers up to 13.0 do not know.
const YOUNG: &[CUresult] = &[
    CUresult::CUDA_ERROR_MULTICAST_RESOURCE_FULL,
    CUresult::CUDA_ERROR_INSUFFICIENT_LOADER_VERSION,
    CUresult::CUDA_ERROR_STREAM_DETACHED,
    CUresult::CUDA_ERROR_GRAPH_RECAPTURE_FAILURE,
    CUresult::CUDA_ERROR_FABRIC_NOT_READY,
];

/// Writes the text of a status code; null if the driver has none.
fn tell(
    call: &Call<'_>,
    code: CUresult,
    text: Ptr<*const c_char>,
    of: fn(CUresult) -> Option<&'static CStr>,
) -> Status {
    text.required()?;
    let is_known = call.core().topology.driver_version > 13000 || !YOUNG.contains(&code);
    let found = of(code).filter(|_| is_known);
    text.write(found.map_or(std::ptr::null(), CStr::as_ptr))?;
    found.map(|_| ()).ok_or_else(|| call.refuse(INVALID_VALUE, format!("{} is no status code", code.0)))
}

pub(crate) fn cuGetErrorName(call: &Call<'_>, code: CUresult, text: Ptr<*const c_char>) -> Status {
    tell(call, code, text, status_name)
}

pub(crate) fn cuGetErrorString(call: &Call<'_>, code: CUresult, text: Ptr<*const c_char>) -> Status {
    tell(call, code, text, status_text)
}

/// Export tables, undocumented and used by the CUDA runtime. None of them is simulated: every identifier is
/// unknown but that of the memory annotations, on a machine that checks.
pub(crate) fn cuGetExportTable(call: &Call<'_>, table: Ptr<*const c_void>, id: ConstPtr<CUuuid>) -> Status {
    table.required()?;
    if id.read()? == MEMORY_ANNOTATIONS_ID
        && let Some(annotations) = call.core().annotations()
    {
        return table.write(std::ptr::from_ref(annotations).cast());
    }
    table.write(std::ptr::null())?;
    Err(call.refuse(INVALID_VALUE, "export tables are undocumented and not simulated"))
}

/// Modules are loaded lazily, as by default since 12.2.
pub(crate) fn cuModuleGetLoadingMode(call: &Call<'_>, mode: Ptr<CUmoduleLoadingMode>) -> Status {
    mode.required()?;
    mode.write(match call.core().topology.driver_version {
        ..12020 => CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING,
        _ => CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING,
    })
}

/// No remote writes reach a simulated device, so there is nothing to flush.
pub(crate) fn cuFlushGPUDirectRDMAWrites(
    call: &Call<'_>,
    target: CUflushGPUDirectRDMAWritesTarget,
    scope: CUflushGPUDirectRDMAWritesScope,
) -> Status {
    let world = call.world();
    let current = call.context(&world)?;
    let known = target == CUflushGPUDirectRDMAWritesTarget::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX
        && [
            CUflushGPUDirectRDMAWritesScope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,
            CUflushGPUDirectRDMAWritesScope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
        ]
        .contains(&scope);
    if !known {
        return Err(call.refuse(INVALID_VALUE, format!("target {} and scope {}", target.0, scope.0)));
    }
    let device = call.object(world.contexts(), current, INVALID_CONTEXT)?.device;
    let supported = call.core().topology.attribute(device.into(), number::GPU_DIRECT_RDMA_SUPPORTED);
    if supported != Some(1) {
        return Err(call.refuse(NOT_SUPPORTED, "the device has no GPUDirect RDMA"));
    }
    Ok(())
}
