//! Launches of CUDA 2.0, configured call by call: cuFuncSetBlockShape, cuParamSetv, cuLaunchGrid.
//!
//! The configuration belongs to the function and stays for later launches. All of these functions need the
//! function's context to be current, and none takes a library's kernel.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint, c_void};

use warploom_sys::types::{CUfunc_st, CUresult, CUstream_st};

use super::Place;
use crate::api::module::attributes::Limits;
use crate::api::module::functions::{ResolvedFunction, function};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{LaunchState, MOST_ARGUMENT_BYTES};
use crate::machine::core::Guard;
use crate::machine::launch::{KernelCall, Shape};
use crate::topology::number;

/// The function of a handle, if it is of the current context.
fn of_current_context(call: &Call<'_>, world: &Guard<'_>, handle: Ptr<CUfunc_st>) -> Status<ResolvedFunction> {
    let context = call.context(world)?;
    let found = function(call, world, handle)?;
    if found.context != context {
        return Err(call.refuse(INVALID_HANDLE, "the function is of another context"));
    }
    Ok(found)
}

/// Changes the launch state of a function, if `change` finds it valid.
fn set(
    call: &Call<'_>,
    handle: Ptr<CUfunc_st>,
    change: impl FnOnce(&ResolvedFunction, &mut LaunchState) -> Result<(), String>,
) -> Status {
    let mut world = call.world();
    let found = of_current_context(call, &world, handle)?;
    let function = world.code_mut().functions_mut().get_mut(found.handle).ok_or(INVALID_HANDLE)?;
    change(&found, function.launch_state.get_or_insert_default()).map_err(|reason| call.refuse(INVALID_VALUE, reason))
}

pub(crate) fn cuFuncSetBlockShape(call: &Call<'_>, handle: Ptr<CUfunc_st>, x: c_int, y: c_int, z: c_int) -> Status {
    set(call, handle, |found, state| {
        let limits = Limits::new(call, found.device);
        let most = [number::MAX_BLOCK_DIM_X, number::MAX_BLOCK_DIM_Y, number::MAX_BLOCK_DIM_Z].map(|of| limits.of(of));
        let block = [x, y, z].map(|size| u32::try_from(size).unwrap_or(0));
        let fits = block.iter().zip(most).all(|(size, most)| (1..=most).contains(size));
        let facts = found.binary.facts(found.index).ok_or("the function has no code")?;
        let threads = limits.threads(&facts);
        if !fits || block.iter().map(|size| u64::from(*size)).product::<u64>() > threads.into() {
            return Err(format!("a block of {x}, {y}, {z} threads; at most {most:?} and {threads} in all"));
        }
        state.block = block;
        Ok(())
    })
}

pub(crate) fn cuFuncSetSharedSize(call: &Call<'_>, handle: Ptr<CUfunc_st>, bytes: c_uint) -> Status {
    set(call, handle, |found, state| {
        let facts = found.binary.facts(found.index).ok_or("the function has no code")?;
        let most = Limits::new(call, found.device).dynamic_shared(&facts, &found.settings);
        if bytes > most {
            return Err(format!("{bytes} bytes of dynamic shared memory; the function may have {most}"));
        }
        state.shared = bytes;
        Ok(())
    })
}

/// The size is rounded up to a multiple of 4, and wraps around as the driver's does.
pub(crate) fn cuParamSetSize(call: &Call<'_>, handle: Ptr<CUfunc_st>, bytes: c_uint) -> Status {
    set(call, handle, |_, state| {
        let size = (bytes.wrapping_add(3) & !3) as usize;
        if size > MOST_ARGUMENT_BYTES {
            return Err(format!("{bytes} bytes of arguments; at most {MOST_ARGUMENT_BYTES}"));
        }
        state.size = size;
        Ok(())
    })
}

fn set_argument(call: &Call<'_>, handle: Ptr<CUfunc_st>, offset: c_int, bytes: &[u8]) -> Status {
    set(call, handle, |_, state| {
        let start =
            usize::try_from(offset).map_err(|_| format!("offset {offset}; the real driver would crash here"))?;
        match state.set_argument(start, bytes) {
            true => Ok(()),
            false => Err(format!("{} bytes at {offset}; arguments end at {MOST_ARGUMENT_BYTES}", bytes.len())),
        }
    })
}

pub(crate) fn cuParamSeti(call: &Call<'_>, handle: Ptr<CUfunc_st>, offset: c_int, value: c_uint) -> Status {
    set_argument(call, handle, offset, &value.to_ne_bytes())
}

pub(crate) fn cuParamSetf(call: &Call<'_>, handle: Ptr<CUfunc_st>, offset: c_int, value: f32) -> Status {
    set_argument(call, handle, offset, &value.to_ne_bytes())
}

pub(crate) fn cuParamSetv(
    call: &Call<'_>,
    handle: Ptr<CUfunc_st>,
    offset: c_int,
    value: Ptr<c_void>,
    bytes: c_uint,
) -> Status {
    of_current_context(call, &call.world(), handle)?;
    if value.is_null() {
        return Err(call.refuse(INVALID_VALUE, "there is no argument at null"));
    }
    if bytes as usize > MOST_ARGUMENT_BYTES {
        let reason = format!("{bytes} bytes of an argument; arguments end at {MOST_ARGUMENT_BYTES}");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    let value: Ptr<u8> = value.typed();
    let bytes: Vec<u8> = (0..bytes as usize).map(|index| value.read_at(index)).collect::<Status<_>>()?;
    set_argument(call, handle, offset, &bytes)
}

fn launch(call: &Call<'_>, handle: Ptr<CUfunc_st>, grid: [c_int; 2], stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let found = of_current_context(call, &world, handle)?;
    let function = world.code().functions().get(found.handle).ok_or(INVALID_HANDLE)?;
    let state = function.launch_state.clone().unwrap_or_default();
    let queue = call.queue(&mut world, stream)?;
    let [width, height] = grid.map(|size| u32::try_from(size).unwrap_or(0));
    let shape = Shape::new([width, height, 1], state.block, state.shared);
    let place = Place { context: found.context, device: found.device };
    let kernel = KernelCall::new(call, &mut world, place, found.handle.bits(), shape, |facts| {
        let expected = facts.kernel.parameter_bytes();
        if state.size > expected.next_multiple_of(4) {
            let reason = format!("{} bytes of arguments; the kernel takes {expected}", state.size);
            return Err(call.refuse(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, reason));
        }
        Ok(state.arguments(expected).into())
    });
    // A capture that allows such a launch does not take it: it runs, not in the order of the stream.
    let is_captured = world.captures().hold(queue);
    let queue = if is_captured { call.queue(&mut world, Ptr::null())? } else { queue };
    kernel?.start(call, &mut world, queue)?;
    // The launch has replaced it, as every launch does; arguments beyond their size stay for the next one.
    if let Some(function) = world.code_mut().functions_mut().get_mut(found.handle) {
        function.launch_state = Some(state);
    }
    Ok(())
}

pub(crate) fn cuLaunch(call: &Call<'_>, handle: Ptr<CUfunc_st>) -> Status {
    launch(call, handle, [1, 1], Ptr::null())
}

pub(crate) fn cuLaunchGrid(call: &Call<'_>, handle: Ptr<CUfunc_st>, width: c_int, height: c_int) -> Status {
    launch(call, handle, [width, height], Ptr::null())
}

pub(crate) fn cuLaunchGridAsync(
    call: &Call<'_>,
    handle: Ptr<CUfunc_st>,
    width: c_int,
    height: c_int,
    stream: Ptr<CUstream_st>,
) -> Status {
    launch(call, handle, [width, height], stream)
}
