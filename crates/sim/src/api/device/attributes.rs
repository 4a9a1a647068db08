//! Device attributes and properties: cuDeviceGetAttribute, cuDeviceTotalMem, cuDeviceGetProperties.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUarray_format, CUdevice, CUdevice_attribute, CUdevprop, CUexecAffinityType};

use super::ordinal;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::topology::number;

pub(crate) fn cuDeviceGetAttribute(
    call: &Call<'_>,
    value: Ptr<c_int>,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> Status {
    value.required()?;
    let device = ordinal(call, device)?;
    let topology = &call.core().topology;
    let number = attribute.0.cast_signed();
    let found = topology.attribute(device, number).ok_or_else(|| {
        call.refuse(INVALID_VALUE, format!("driver {} knows no attribute {number}", topology.driver_version))
    })?;
    value.write(found)
}

/// An attribute that every driver version knows.
fn attribute(call: &Call<'_>, device: usize, number: i32) -> c_int {
    call.core().topology.attribute(device, number).unwrap_or(0)
}

/// A failure writes zero bytes, as the driver does.
pub(crate) fn cuDeviceTotalMem_v2(call: &Call<'_>, bytes: Ptr<usize>, device: CUdevice) -> Status {
    bytes.write(0)?;
    let device = ordinal(call, device)?;
    bytes.write(call.core().topology.devices[device].total_memory as usize)
}

/// The form of CUDA 2.0: a size of 32 bits, at most the largest of them.
pub(crate) fn cuDeviceTotalMem(call: &Call<'_>, bytes: Ptr<c_uint>, device: CUdevice) -> Status {
    bytes.write(0)?;
    let device = ordinal(call, device)?;
    bytes.write(c_uint::try_from(call.core().topology.devices[device].total_memory).unwrap_or(c_uint::MAX))
}

pub(crate) fn cuDeviceComputeCapability(
    call: &Call<'_>,
    major: Ptr<c_int>,
    minor: Ptr<c_int>,
    device: CUdevice,
) -> Status {
    major.required()?;
    minor.required()?;
    let device = ordinal(call, device)?;
    major.write(attribute(call, device, number::COMPUTE_CAPABILITY_MAJOR))?;
    minor.write(attribute(call, device, number::COMPUTE_CAPABILITY_MINOR))
}

pub(crate) fn cuDeviceGetProperties(call: &Call<'_>, properties: Ptr<CUdevprop>, device: CUdevice) -> Status {
    properties.required()?;
    let device = ordinal(call, device)?;
    let of = |number| attribute(call, device, number);
    properties.write(CUdevprop {
        maxThreadsPerBlock: of(number::MAX_THREADS_PER_BLOCK),
        maxThreadsDim: [number::MAX_BLOCK_DIM_X, number::MAX_BLOCK_DIM_Y, number::MAX_BLOCK_DIM_Z].map(of),
        maxGridSize: [number::MAX_GRID_DIM_X, number::MAX_GRID_DIM_Y, number::MAX_GRID_DIM_Z].map(of),
        sharedMemPerBlock: of(number::MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: of(number::TOTAL_CONSTANT_MEMORY),
        SIMDWidth: of(number::WARP_SIZE),
        memPitch: of(number::MAX_PITCH),
        regsPerBlock: of(number::MAX_REGISTERS_PER_BLOCK),
        clockRate: of(number::CLOCK_RATE),
        textureAlign: of(number::TEXTURE_ALIGNMENT),
    })
}

/// Execution affinity needs a multi-process server (MPS), which is not simulated.
pub(crate) fn cuDeviceGetExecAffinitySupport(
    call: &Call<'_>,
    supported: Ptr<c_int>,
    _kind: CUexecAffinityType,
    device: CUdevice,
) -> Status {
    supported.required()?;
    ordinal(call, device)?;
    supported.write(0)
}

/// Bytes of one channel of a format that linear textures support.
fn channel_bytes(format: CUarray_format) -> Option<u64> {
    match format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 | CUarray_format::CU_AD_FORMAT_SIGNED_INT8 => Some(1),
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_HALF => Some(2),
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_FLOAT => Some(4),
        _ => None,
    }
}

/// The attribute is the width in elements of 16 bytes; smaller elements allow up to four times as many.
pub(crate) fn cuDeviceGetTexture1DLinearMaxWidth(
    call: &Call<'_>,
    width: Ptr<usize>,
    format: CUarray_format,
    channels: c_uint,
    device: CUdevice,
) -> Status {
    width.required()?;
    let device = ordinal(call, device)?;
    let element = channel_bytes(format).filter(|_| matches!(channels, 1 | 2 | 4));
    let element = element.map(|bytes| bytes * u64::from(channels)).ok_or_else(|| {
        call.refuse(INVALID_VALUE, format!("no linear texture has {channels} channels of format {:#x}", format.0))
    })?;
    let least = u64::from(attribute(call, device, number::MAXIMUM_TEXTURE1D_LINEAR_WIDTH).unsigned_abs());
    width.write((least * 16 / element).min(least * 4) as usize)
}
