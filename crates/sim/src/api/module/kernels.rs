//! Kernels of libraries, which belong to no context: cuKernelGetFunction, cuKernelGetAttribute.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use warploom_sys::types::{CUdevice, CUfunc_cache, CUfunction, CUfunction_attribute, CUkern_st, CUlibrary};

use super::attributes::{Limits, check_cache, parameter};
use super::load::{binary_of, function_of, module_of};
use crate::api::device::ordinal;
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, FunctionHandle, Handle, KernelHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{Binary, Code, Module, Settings};
use crate::machine::core::Guard;

/// The function of a kernel in a context.
pub(super) fn function_in(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    kernel: KernelHandle,
    context: ContextHandle,
) -> Status<FunctionHandle> {
    let found = call.object(world.code().kernels(), kernel, INVALID_HANDLE)?;
    let (library, name) = (found.library, found.name.clone());
    let module = module_of(call, world, library, context)?;
    function_of(call, world, module, &name)
}

/// The settings made through the library's kernel that a function belongs to.
pub(super) fn settings_of(code: &Code, module: &Module, index: usize) -> Settings {
    let library = module.library.and_then(|library| code.libraries().get(library));
    let name = module.binary.name(index).and_then(|name| name.to_str().ok());
    let kernel = library.zip(name).and_then(|(library, name)| library.kernels.get(name));
    let kernel = kernel.and_then(|kernel| code.kernels().get(*kernel));
    kernel.and_then(|kernel| kernel.settings.get(&module.device)).copied().unwrap_or_default()
}

/// A kernel for a device.
fn on(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    kernel: Ptr<CUkern_st>,
    device: u16,
) -> Status<(KernelHandle, Arc<Binary>, usize)> {
    let handle = Handle::from_bits(kernel.address());
    let found = call.object(world.code().kernels(), handle, INVALID_HANDLE)?;
    let (library, name) = (found.library, found.name.clone());
    let binary = binary_of(call, world, library, device)?;
    let index = binary.find(&name).ok_or(INVALID_HANDLE)?;
    Ok((handle, binary, index))
}

/// A kernel for the current device, or for the first one.
fn somewhere(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    kernel: Ptr<CUkern_st>,
) -> Status<(KernelHandle, Arc<Binary>, usize)> {
    let current = call.current().ok().and_then(|context| world.contexts().get(context));
    let device = current.map_or(0, |context| context.device);
    on(call, world, kernel, device)
}

fn not_null(call: &Call<'_>, kernel: Ptr<CUkern_st>) -> Status {
    if kernel.is_null() { Err(call.refuse(INVALID_VALUE, "the kernel is null")) } else { Ok(()) }
}

pub(crate) fn cuKernelGetFunction(call: &Call<'_>, out: Ptr<CUfunction>, kernel: Ptr<CUkern_st>) -> Status {
    out.required()?;
    let mut world = call.world();
    let handle = Handle::from_bits(kernel.address());
    call.object(world.code().kernels(), handle, INVALID_HANDLE)?;
    let context = call.context(&world)?;
    let function = function_in(call, &mut world, handle, context)?;
    out.write(function.as_raw())
}

pub(crate) fn cuKernelGetLibrary(call: &Call<'_>, out: Ptr<CUlibrary>, kernel: Ptr<CUkern_st>) -> Status {
    out.required()?;
    let world = call.world();
    let found = call.object(world.code().kernels(), Handle::from_bits(kernel.address()), INVALID_HANDLE)?;
    out.write(found.library.as_raw())
}

pub(crate) fn cuKernelGetName(call: &Call<'_>, name: Ptr<*const c_char>, kernel: Ptr<CUkern_st>) -> Status {
    name.required()?;
    not_null(call, kernel)?;
    let (_, binary, index) = somewhere(call, &mut call.world(), kernel)?;
    // The library keeps its decoded programs, so the name stays valid.
    name.write(binary.name(index).ok_or(INVALID_HANDLE)?.as_ptr())
}

/// The only query on a kernel that needs a context.
pub(crate) fn cuKernelGetParamInfo(
    call: &Call<'_>,
    kernel: Ptr<CUkern_st>,
    index: usize,
    offset: Ptr<usize>,
    size: Ptr<usize>,
) -> Status {
    not_null(call, kernel)?;
    offset.required()?;
    let mut world = call.world();
    call.context(&world)?;
    let (_, binary, kernel) = somewhere(call, &mut world, kernel)?;
    parameter(call, (&binary, kernel), index, (offset, size))
}

pub(crate) fn cuKernelGetParamCount(call: &Call<'_>, kernel: Ptr<CUkern_st>, count: Ptr<usize>) -> Status {
    count.required()?;
    let (_, binary, index) = somewhere(call, &mut call.world(), kernel)?;
    count.write(binary.facts(index).ok_or(INVALID_HANDLE)?.parameters().len())
}

pub(crate) fn cuKernelGetAttribute(
    call: &Call<'_>,
    value: Ptr<c_int>,
    attribute: CUfunction_attribute,
    kernel: Ptr<CUkern_st>,
    device: CUdevice,
) -> Status {
    let device = ordinal(call, device)? as u16;
    let mut world = call.world();
    let (handle, binary, index) = on(call, &mut world, kernel, device)?;
    value.required()?;
    let facts = binary.facts(index).ok_or(INVALID_HANDLE)?;
    let kernel = world.code().kernels().get(handle).ok_or(INVALID_HANDLE)?;
    let settings = kernel.settings.get(&device).copied().unwrap_or_default();
    value.write(Limits::new(call, device).get(&facts, &settings, attribute)?)
}

pub(crate) fn cuKernelSetAttribute(
    call: &Call<'_>,
    attribute: CUfunction_attribute,
    value: c_int,
    kernel: Ptr<CUkern_st>,
    device: CUdevice,
) -> Status {
    let device = ordinal(call, device)? as u16;
    let mut world = call.world();
    let (handle, binary, index) = on(call, &mut world, kernel, device)?;
    let facts = binary.facts(index).ok_or(INVALID_HANDLE)?;
    let kernel = world.code_mut().kernels_mut().get_mut(handle).ok_or(INVALID_HANDLE)?;
    let mut settings = kernel.settings.get(&device).copied().unwrap_or_default();
    Limits::new(call, device).set(&facts, &mut settings, attribute, value)?;
    kernel.settings.insert(device, settings);
    Ok(())
}

/// A preference without effect on a simulated device.
pub(crate) fn cuKernelSetCacheConfig(
    call: &Call<'_>,
    kernel: Ptr<CUkern_st>,
    wish: CUfunc_cache,
    device: CUdevice,
) -> Status {
    let device = ordinal(call, device)? as u16;
    on(call, &mut call.world(), kernel, device)?;
    check_cache(call, wish)
}
