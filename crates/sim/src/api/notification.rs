//! Asynchronous notifications of devices: registered, and never sent, as no simulated device has a budget.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_sys::types::{CUasyncCallback, CUasyncCallbackEntry_st, CUasyncCallbackHandle, CUdevice};

use crate::api::device::ordinal;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;

pub(crate) fn cuDeviceRegisterAsyncNotification(
    call: &Call<'_>,
    device: CUdevice,
    callback: CUasyncCallback,
    _data: Ptr<c_void>,
    out: Ptr<CUasyncCallbackHandle>,
) -> Status {
    if callback.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the callback is null"));
    }
    out.required()?;
    let device = ordinal(call, device)?;
    let id = call.world().devices_mut()[device].notifications.register();
    out.write(std::ptr::without_provenance_mut(id))
}

pub(crate) fn cuDeviceUnregisterAsyncNotification(
    call: &Call<'_>,
    device: CUdevice,
    callback: Ptr<CUasyncCallbackEntry_st>,
) -> Status {
    let device = ordinal(call, device)?;
    match call.world().devices_mut()[device].notifications.unregister(callback.address() as usize) {
        true => Ok(()),
        false => Err(call.refuse(INVALID_VALUE, "no such callback is registered; the real driver may crash here")),
    }
}
