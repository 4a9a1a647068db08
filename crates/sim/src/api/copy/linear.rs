//! Linear copies: cuMemcpy, cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD and their asynchronous forms.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_engine::QueueId;
use warploom_sys::types::{CUdeviceptr, CUstream_st};

use super::access::{Named, Range, ends};
use super::queued::{Form, Shape, copy};
use crate::ffi::status::Status;
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// An address with the memory type that the call names for it.
type NamedAddress = (Named, u64);

fn line(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    queue: QueueId,
    form: Form,
    to: NamedAddress,
    from: NamedAddress,
    bytes: usize,
) -> Status {
    let bytes = bytes as u64;
    if bytes == 0 {
        return Ok(());
    }
    let device = world.queue(queue).owner.device;
    let [to, from] = [to, from].map(|(named, address)| Range { named, address, len: bytes });
    let [to, from] = ends(call, world, [device; 2], to, from)?;
    copy(call, world, queue, form, (to, from), Shape::Line(bytes))
}

fn now(call: &Call<'_>, to: NamedAddress, from: NamedAddress, bytes: usize) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    line(call, &mut world, queue, Form::Sync, to, from, bytes)
}

fn later(call: &Call<'_>, to: NamedAddress, from: NamedAddress, bytes: usize, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    line(call, &mut world, queue, Form::Async, to, from, bytes)
}

fn any(address: u64) -> NamedAddress {
    (Named::Any, address)
}

fn device(address: CUdeviceptr) -> NamedAddress {
    (Named::Device, address)
}

pub(crate) fn cuMemcpy(call: &Call<'_>, to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Status {
    now(call, any(to), any(from), bytes)
}

pub(crate) fn cuMemcpyHtoD_v2(call: &Call<'_>, to: CUdeviceptr, from: ConstPtr<c_void>, bytes: usize) -> Status {
    now(call, device(to), any(from.address()), bytes)
}

pub(crate) fn cuMemcpyDtoH_v2(call: &Call<'_>, to: Ptr<c_void>, from: CUdeviceptr, bytes: usize) -> Status {
    now(call, any(to.address()), device(from), bytes)
}

pub(crate) fn cuMemcpyDtoD_v2(call: &Call<'_>, to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Status {
    now(call, device(to), device(from), bytes)
}

pub(crate) fn cuMemcpyAsync(
    call: &Call<'_>,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    later(call, any(to), any(from), bytes, stream)
}

pub(crate) fn cuMemcpyHtoDAsync_v2(
    call: &Call<'_>,
    to: CUdeviceptr,
    from: ConstPtr<c_void>,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    later(call, device(to), any(from.address()), bytes, stream)
}

pub(crate) fn cuMemcpyDtoHAsync_v2(
    call: &Call<'_>,
    to: Ptr<c_void>,
    from: CUdeviceptr,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    later(call, any(to.address()), device(from), bytes, stream)
}

pub(crate) fn cuMemcpyDtoDAsync_v2(
    call: &Call<'_>,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    later(call, device(to), device(from), bytes, stream)
}
