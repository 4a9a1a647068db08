//! Device memory of other processes: cuIpcGetMemHandle, cuIpcOpenMemHandle and cuIpcCloseMemHandle.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUdeviceptr, CUipcMemHandle, CUresult};

use super::{from_c, refuse_own, to_c};
use crate::api::memory::release::release_when_idle;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, NOT_PERMITTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::memory::{Allocation, Backing, HandleError, ImportError, IpcHandle, OpenError, ProcessId, Side};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, without which nothing is opened; other flags are ignored.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

/// The handle of an allocation, from any address in it.
pub(crate) fn cuIpcGetMemHandle(call: &Call<'_>, out: Ptr<CUipcMemHandle>, address: CUdeviceptr) -> Status {
    out.required()?;
    let mut world = call.world();
    call.context(&world)?;
    let (base, device) = match world.memory().containing(address) {
        Some(Allocation { base, backing: Backing::Device, side: Side::Device(device), .. }) => (*base, *device),
        Some(_) => {
            let reason = format!("{address:#x} is not memory of cuMemAlloc, the only kind with such handles");
            return Err(call.refuse(INVALID_VALUE, reason));
        }
        None => return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is in no allocation of this driver"))),
    };
    let Some(device) = call.shared_device(Side::Device(device)) else { return Err(INVALID_VALUE) };
    let machine = call.core().digest();
    // Ops that touch the memory go on at the same addresses.
    let shared = call.core().quiesce(&mut world, |world| world.share_allocation(base, machine, device));
    let handle = shared.map_err(|error| {
        call.refuse(OUT_OF_MEMORY, format!("the system has no file for the block of {address:#x}: {error}"))
    })?;
    out.write(CUipcMemHandle { reserved: to_c(&handle) })
}

/// Memory that is opened again has the same address, and is closed as often as it was opened.
pub(crate) fn cuIpcOpenMemHandle_v2(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    handle: CUipcMemHandle,
    flags: c_uint,
) -> Status {
    out.required()?;
    if flags & LAZY_ENABLE_PEER_ACCESS == 0 {
        let reason = format!("flags are {flags:#x} and must have CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    let mut world = call.world();
    let context = call.context(&world)?;
    let handle = IpcHandle::decode(&from_c(handle.reserved)).map_err(|error| {
        let code = if error == HandleError::Foreign { INVALID_VALUE } else { NOT_PERMITTED };
        call.refuse(code, error.to_string())
    })?;
    refuse_own(call, &handle)?;
    let own = world.device_of(context)?;
    let topology = &call.core().topology;
    let opened = world.open_imported(context, &handle, call.core().digest(), |device| {
        let (from, to) = (device.ordinal, own);
        let is_known = call.shared_device(Side::Device(from)) == Some(device);
        match is_known {
            false => Err(OpenError::OtherMachine.into()),
            true if from == to || topology.peers.can_access(to.into(), from.into()) => Ok(()),
            true => Err(ImportError::Unreachable { from, to }),
        }
    });
    let base = opened.map_err(|error| call.refuse(code_of(&error, handle.locator.process), error.to_string()))?;
    out.write(base)
}

pub(crate) fn cuIpcOpenMemHandle(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    handle: CUipcMemHandle,
    flags: c_uint,
) -> Status {
    cuIpcOpenMemHandle_v2(call, out, handle, flags)
}

/// The code for memory that cannot be opened.
fn code_of(error: &ImportError, exporter: ProcessId) -> CUresult {
    match error {
        ImportError::Open(OpenError::System(_)) => OUT_OF_MEMORY,
        ImportError::Unreachable { .. } => CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
        ImportError::Overlaps { .. } => CUresult::CUDA_ERROR_ALREADY_MAPPED,
        ImportError::Open(OpenError::Gone(_)) if !exporter.is_alive() => INVALID_HANDLE,
        ImportError::Open(OpenError::Gone(_) | OpenError::Kind { .. }) | ImportError::Freed => INVALID_VALUE,
        ImportError::Open(_) | ImportError::Replaced | ImportError::Outside { .. } => NOT_PERMITTED,
    }
}

pub(crate) fn cuIpcCloseMemHandle(call: &Call<'_>, address: CUdeviceptr) -> Status {
    let mut world = call.world();
    call.context(&world)?;
    match world.release_imported(address) {
        Some(true) => release_when_idle(call, &mut world, address),
        Some(false) => Ok(()),
        None => {
            call.found_bad_free(&world, address);
            let reason = format!("{address:#x} is not the start of memory that cuIpcOpenMemHandle opened");
            Err(call.refuse(INVALID_VALUE, reason))
        }
    }
}
