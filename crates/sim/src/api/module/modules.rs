//! Modules: cuModuleLoad, cuModuleUnload, cuModuleGetFunction, cuModuleGetGlobal.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use warploom_sys::types::{CUdeviceptr, CUfunction, CUjit_option, CUmod_st, CUmodule};

use super::load::{function_of, instantiate, read_file, target};
use super::options::Options;
use super::{NOT_FOUND, variables};
use crate::ffi::handle::{Handle, ModuleHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::code::Binary;
use crate::machine::code::image::{Image, Refusal};

fn load(
    call: &Call<'_>,
    out: Ptr<CUmodule>,
    options: Options,
    image: impl FnOnce() -> Result<Image, Refusal>,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let context = call.context(&world)?;
    let device = world.device_of(context)?;
    let max_registers = options.max_registers(call)?;
    let loaded = image().and_then(|image| {
        let image = image.bounded(max_registers);
        Binary::load(&image, target(call, device.into()))
    });
    let binary = Arc::new(options.tell(call, loaded)?);
    let module = instantiate(call, &mut world, context, binary, None)?;
    out.write(module.as_raw())
}

pub(crate) fn cuModuleLoad(call: &Call<'_>, out: Ptr<CUmodule>, path: ConstPtr<c_char>) -> Status {
    let path = path.text()?;
    load(call, out, Options::NONE, || Image::from_bytes(&read_file(path)?))
}

pub(crate) fn cuModuleLoadData(call: &Call<'_>, out: Ptr<CUmodule>, image: ConstPtr<c_void>) -> Status {
    if image.is_null() {
        return Err(call.refuse(INVALID_VALUE, "there is no image at null"));
    }
    load(call, out, Options::NONE, || Image::at(image))
}

pub(crate) fn cuModuleLoadDataEx(
    call: &Call<'_>,
    out: Ptr<CUmodule>,
    image: ConstPtr<c_void>,
    count: c_uint,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
) -> Status {
    if image.is_null() {
        return Err(call.refuse(INVALID_VALUE, "there is no image at null"));
    }
    let options = Options::new(call, options, values, count)?;
    load(call, out, options, || Image::at(image))
}

pub(crate) fn cuModuleLoadFatBinary(call: &Call<'_>, out: Ptr<CUmodule>, image: ConstPtr<c_void>) -> Status {
    cuModuleLoadData(call, out, image)
}

fn named(module: Ptr<CUmod_st>) -> ModuleHandle {
    Handle::from_bits(module.address())
}

pub(crate) fn cuModuleUnload(call: &Call<'_>, module: Ptr<CUmod_st>) -> Status {
    let mut world = call.world();
    let handle = named(module);
    let found = call.object(world.code().modules(), handle, INVALID_HANDLE)?;
    if !found.is_the_programs() {
        return Err(call.refuse(INVALID_HANDLE, "the module is part of a library, and goes with it"));
    }
    world.healthy(found.context)?;
    variables::unload(call, &mut world, handle)
}

pub(crate) fn cuModuleGetFunction(
    call: &Call<'_>,
    out: Ptr<CUfunction>,
    module: Ptr<CUmod_st>,
    name: ConstPtr<c_char>,
) -> Status {
    let mut world = call.world();
    call.object(world.code().modules(), named(module), INVALID_HANDLE)?;
    out.required()?;
    let name = name.text()?;
    let function = function_of(call, &mut world, named(module), name)?;
    out.write(function.as_raw())
}

pub(crate) fn cuModuleGetFunctionCount(call: &Call<'_>, count: Ptr<c_uint>, module: Ptr<CUmod_st>) -> Status {
    count.required()?;
    let world = call.world();
    let found = call.object(world.code().modules(), named(module), INVALID_HANDLE)?;
    count.write(found.binary.count() as c_uint)
}

pub(crate) fn cuModuleEnumerateFunctions(
    call: &Call<'_>,
    out: Ptr<CUfunction>,
    count: c_uint,
    module: Ptr<CUmod_st>,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let handle = named(module);
    let there = call.object(world.code().modules(), handle, INVALID_HANDLE)?.binary.count();
    for index in 0..there.min(count as usize) {
        let function = world.code_mut().function_of(handle, index)?;
        out.write_at(index, function.as_raw())?;
    }
    Ok(())
}

pub(crate) fn cuModuleGetGlobal_v2(
    call: &Call<'_>,
    address: Ptr<CUdeviceptr>,
    bytes: Ptr<usize>,
    module: Ptr<CUmod_st>,
    name: ConstPtr<c_char>,
) -> Status {
    let world = call.world();
    let found = call.object(world.code().modules(), named(module), INVALID_HANDLE)?;
    let name = name.text()?;
    variables::wanted(call, address, bytes)?;
    let variable = variables::find(&found.program, &found.variables, name);
    let (start, size) =
        variable.ok_or_else(|| call.refuse(NOT_FOUND, format!("the module has no variable `{name}`")))?;
    address.write_if_wanted(start)?;
    bytes.write_if_wanted(size)
}
