//! Functions, the kernels of a module: cuFuncGetAttribute, cuFuncGetParamInfo, cuFuncLoad.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use warploom_sys::types::{
    CUfunc_cache, CUfunc_st, CUfunction_attribute, CUfunctionLoadingState, CUmodule, CUsharedconfig,
};

use super::attributes::{Limits, check_cache, parameter};
use super::kernels;
use crate::api::context::check_banks;
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, FunctionHandle, Handle, Kind, ModuleHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{Binary, Settings};
use crate::machine::core::Guard;

/// A function, with the data that calls on it need.
pub(super) struct ResolvedFunction {
    pub(super) handle: FunctionHandle,
    pub(super) module: ModuleHandle,
    pub(super) context: ContextHandle,
    pub(super) device: u16,
    pub(super) binary: Arc<Binary>,
    pub(super) index: usize,
    /// The function's own settings; unset ones come from the library's kernel, if it belongs to one.
    pub(super) settings: Settings,
}

/// The function of a handle. A library's kernel is accepted, too, and means its function in the current
/// context: launches and occupancy take both.
pub(super) fn found(call: &Call<'_>, world: &mut Guard<'_>, function: Ptr<CUfunc_st>) -> Status<ResolvedFunction> {
    let kernel = Handle::from_bits(function.address());
    if kernel.names_some(Kind::Kernel) {
        let context = call.context(world)?;
        let function = kernels::function_in(call, world, kernel, context)?;
        return described(call, world, function);
    }
    described(call, world, Handle::from_bits(function.address()))
}

/// The function behind a handle, with its kernel and settings.
pub(super) fn described(call: &Call<'_>, world: &Guard<'_>, handle: FunctionHandle) -> Status<ResolvedFunction> {
    let function = call.object(world.code().functions(), handle, INVALID_HANDLE)?;
    let module = call.object(world.code().modules(), function.module, INVALID_HANDLE)?;
    world.healthy(module.context)?;
    let of_kernel = kernels::settings_of(world.code(), module, function.index);
    Ok(ResolvedFunction {
        handle,
        module: function.module,
        context: module.context,
        device: module.device,
        binary: Arc::clone(&module.binary),
        index: function.index,
        settings: function.settings.or(of_kernel),
    })
}

/// The function of a handle, of any context. A library's kernel is not accepted.
pub(super) fn function(call: &Call<'_>, world: &Guard<'_>, function: Ptr<CUfunc_st>) -> Status<ResolvedFunction> {
    described(call, world, Handle::from_bits(function.address()))
}

/// The function of a handle that must not be null.
fn required(call: &Call<'_>, world: &Guard<'_>, handle: Ptr<CUfunc_st>) -> Status<ResolvedFunction> {
    if handle.is_null() {
        return Err(call.refuse(INVALID_VALUE, "the function is null"));
    }
    function(call, world, handle)
}

pub(crate) fn cuFuncGetAttribute(
    call: &Call<'_>,
    value: Ptr<c_int>,
    attribute: CUfunction_attribute,
    function: Ptr<CUfunc_st>,
) -> Status {
    value.required()?;
    let found = self::function(call, &call.world(), function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    value.write(Limits::new(call, found.device).get(&facts, &found.settings, attribute)?)
}

pub(crate) fn cuFuncSetAttribute(
    call: &Call<'_>,
    function: Ptr<CUfunc_st>,
    attribute: CUfunction_attribute,
    value: c_int,
) -> Status {
    let mut world = call.world();
    let found = self::function(call, &world, function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    let function = world.code_mut().functions_mut().get_mut(found.handle).ok_or(INVALID_HANDLE)?;
    Limits::new(call, found.device).set(&facts, &mut function.settings, attribute, value)
}

/// A preference without effect on a simulated device.
pub(crate) fn cuFuncSetCacheConfig(call: &Call<'_>, function: Ptr<CUfunc_st>, wish: CUfunc_cache) -> Status {
    self::function(call, &call.world(), function)?;
    check_cache(call, wish)
}

/// Shared memory banks are always four bytes wide; the setting is accepted and has no effect.
pub(crate) fn cuFuncSetSharedMemConfig(call: &Call<'_>, function: Ptr<CUfunc_st>, config: CUsharedconfig) -> Status {
    self::function(call, &call.world(), function)?;
    check_banks(call, config)
}

pub(crate) fn cuFuncGetName(call: &Call<'_>, name: Ptr<*const c_char>, function: Ptr<CUfunc_st>) -> Status {
    name.required()?;
    let found = required(call, &call.world(), function)?;
    name.write(found.binary.name(found.index).ok_or(INVALID_HANDLE)?.as_ptr())
}

pub(crate) fn cuFuncGetParamInfo(
    call: &Call<'_>,
    function: Ptr<CUfunc_st>,
    index: usize,
    offset: Ptr<usize>,
    size: Ptr<usize>,
) -> Status {
    let found = required(call, &call.world(), function)?;
    parameter(call, (&found.binary, found.index), index, (offset, size))
}

pub(crate) fn cuFuncGetParamCount(call: &Call<'_>, function: Ptr<CUfunc_st>, count: Ptr<usize>) -> Status {
    count.required()?;
    let found = self::function(call, &call.world(), function)?;
    count.write(found.binary.facts(found.index).ok_or(INVALID_HANDLE)?.parameters().len())
}

pub(crate) fn cuFuncIsLoaded(call: &Call<'_>, state: Ptr<CUfunctionLoadingState>, function: Ptr<CUfunc_st>) -> Status {
    state.required()?;
    let world = call.world();
    let found = self::function(call, &world, function)?;
    let is_loaded = world.code().functions().get(found.handle).is_some_and(|function| function.is_loaded);
    state.write(match is_loaded {
        true => CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED,
        false => CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_UNLOADED,
    })
}

pub(crate) fn cuFuncLoad(call: &Call<'_>, function: Ptr<CUfunc_st>) -> Status {
    let mut world = call.world();
    let found = self::function(call, &world, function)?;
    world.code_mut().functions_mut().get_mut(found.handle).ok_or(INVALID_HANDLE)?.is_loaded = true;
    Ok(())
}

pub(crate) fn cuFuncGetModule(call: &Call<'_>, module: Ptr<CUmodule>, function: Ptr<CUfunc_st>) -> Status {
    module.required()?;
    let found = required(call, &call.world(), function)?;
    module.write(found.module.as_raw())
}
