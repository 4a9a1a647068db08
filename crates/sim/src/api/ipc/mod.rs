//! Objects of other processes, by handles of 64 bytes: cuIpc functions.
//!
//! A handle says which process has the object, and under which file descriptor. Opening it opens that file
//! once more, so the object lives as long as any process has it open.

mod event;
mod memory;

pub(crate) use event::{cuIpcGetEventHandle, cuIpcOpenEventHandle};
pub(crate) use memory::{cuIpcCloseMemHandle, cuIpcGetMemHandle, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2};

use std::ffi::c_char;

use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::memory::{IpcHandle, ProcessId};

/// The bytes of a handle as C has them.
fn to_c(handle: &IpcHandle) -> [c_char; 64] {
    handle.encode().map(|byte| byte as c_char)
}

fn from_c(bytes: [c_char; 64]) -> [u8; 64] {
    bytes.map(|byte| byte as u8)
}

/// Refuses a handle that this process made.
fn refuse_own(call: &Call<'_>, handle: &IpcHandle) -> Status {
    match ProcessId::own() {
        Ok(own) if own == handle.locator.process => {
            Err(call.refuse(INVALID_CONTEXT, "the handle was made by this process; use the object itself"))
        }
        _ => Ok(()),
    }
}
