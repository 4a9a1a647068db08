//! Libraries: cuLibraryLoadData, cuLibraryUnload, cuLibraryGetKernel, cuLibraryGetGlobal.
#![expect(non_snake_case, reason = "the functions have C's names")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use std::ffi::{c_char, c_uint, c_void};

use warploom_sys::types::{CUdeviceptr, CUjit_option, CUkernel, CUlib_st, CUlibrary, CUlibraryOption, CUmodule};

use super::load::{binary_of, compiled, module_of, read_file, target};
use super::options::Options;
use super::{NOT_FOUND, variables};
use crate::ffi::handle::{Handle, LibraryHandle, ModuleHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::code::Binary;
use crate::machine::code::image::{Image, Refusal};
use crate::machine::core::Guard;

/// `CU_LIBRARY_NUM_OPTIONS`.
const OPTIONS: u32 = 2;

fn check_options(call: &Call<'_>, names: Ptr<CUlibraryOption>, count: c_uint) -> Status {
    for index in 0..count as usize {
        let name = names.read_at(index)?;
        if name.0 >= OPTIONS {
            return Err(call.refuse(INVALID_VALUE, format!("there is no option {} of libraries", name.0)));
        }
    }
    Ok(())
}

/// Needs no context. The code for the current device, or for the first, is compiled now; other code when a
/// device needs it. Code that cannot be compiled is loaded, too, with the compiler's log; the error comes
/// from the calls that ask for a kernel, a module or a variable, as on an H200.
fn load(
    call: &Call<'_>,
    out: Ptr<CUlibrary>,
    options: Options,
    image: impl FnOnce() -> Result<Image, Refusal>,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let target = target(call, current_device(call, &world).into());
    let max_registers = options.max_registers(call)?;
    let image = image().map(|image| image.bounded(max_registers));
    let binary = image.as_ref().map_err(Refusal::clone).and_then(|image| Binary::load(image, target));
    options.write_logs(binary.as_ref().err())?;
    let library = world.code_mut().add_library(image, target.architecture, binary.ok());
    out.write(library.ok_or(OUT_OF_MEMORY)?.as_raw())
}

pub(crate) fn cuLibraryLoadData(
    call: &Call<'_>,
    out: Ptr<CUlibrary>,
    image: ConstPtr<c_void>,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
    count: c_uint,
    library_options: Ptr<CUlibraryOption>,
    _library_values: Ptr<*mut c_void>,
    library_count: c_uint,
) -> Status {
    if image.is_null() {
        return Err(call.refuse(INVALID_VALUE, "there is no image at null"));
    }
    check_options(call, library_options, library_count)?;
    let options = Options::new(call, options, values, count)?;
    load(call, out, options, || Image::at(image))
}

pub(crate) fn cuLibraryLoadFromFile(
    call: &Call<'_>,
    out: Ptr<CUlibrary>,
    path: ConstPtr<c_char>,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
    count: c_uint,
    library_options: Ptr<CUlibraryOption>,
    _library_values: Ptr<*mut c_void>,
    library_count: c_uint,
) -> Status {
    let path = path.text()?;
    check_options(call, library_options, library_count)?;
    let options = Options::new(call, options, values, count)?;
    let bytes = read_file(path).map_err(|refusal| call.refuse(refusal.code, refusal.reason))?;
    load(call, out, options, || Image::from_bytes(&bytes))
}

fn named(library: Ptr<CUlib_st>) -> LibraryHandle {
    Handle::from_bits(library.address())
}

pub(crate) fn cuLibraryUnload(call: &Call<'_>, library: Ptr<CUlib_st>) -> Status {
    let mut world = call.world();
    let handle = named(library);
    let found = call.object(world.code().libraries(), handle, INVALID_HANDLE)?;
    let modules: Vec<ModuleHandle> = found.modules.values().copied().collect();
    for module in modules {
        variables::unload(call, &mut world, module)?;
    }
    let managed = world.code_mut().remove_library(handle);
    variables::release(&mut world, &managed);
    Ok(())
}

/// The current device, or the first.
fn current_device(call: &Call<'_>, world: &Guard<'_>) -> u16 {
    let current = call.current().ok().and_then(|context| world.contexts().get(context));
    current.map_or(0, |context| context.device)
}

/// The names of a library's kernels for the current device; none if the code cannot be compiled for it.
fn names(call: &Call<'_>, world: &mut Guard<'_>, library: LibraryHandle) -> Status<Vec<String>> {
    let device = current_device(call, world);
    let Ok(binary) = compiled(call, world, library, device)? else { return Ok(Vec::new()) };
    Ok(binary.program.kernels().map(|kernel| kernel.name().to_owned()).collect())
}

pub(crate) fn cuLibraryGetKernel(
    call: &Call<'_>,
    out: Ptr<CUkernel>,
    library: Ptr<CUlib_st>,
    name: ConstPtr<c_char>,
) -> Status {
    out.required()?;
    let name = name.text()?;
    let mut world = call.world();
    let device = current_device(call, &world);
    if binary_of(call, &mut world, named(library), device)?.find(name).is_none() {
        return Err(call.refuse(NOT_FOUND, format!("the library has no kernel `{name}`")));
    }
    out.write(world.code_mut().kernel_of(named(library), name)?.as_raw())
}

pub(crate) fn cuLibraryGetKernelCount(call: &Call<'_>, count: Ptr<c_uint>, library: Ptr<CUlib_st>) -> Status {
    count.required()?;
    count.write(names(call, &mut call.world(), named(library))?.len() as c_uint)
}

pub(crate) fn cuLibraryEnumerateKernels(
    call: &Call<'_>,
    out: Ptr<CUkernel>,
    count: c_uint,
    library: Ptr<CUlib_st>,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let names = names(call, &mut world, named(library))?;
    for (index, name) in names.iter().take(count as usize).enumerate() {
        out.write_at(index, world.code_mut().kernel_of(named(library), name)?.as_raw())?;
    }
    Ok(())
}

/// Unified function pointers need devices that share the host's code; no simulated device does.
pub(crate) fn cuLibraryGetUnifiedFunction(
    call: &Call<'_>,
    out: Ptr<*mut c_void>,
    library: Ptr<CUlib_st>,
    symbol: ConstPtr<c_char>,
) -> Status {
    out.required()?;
    call.object(call.world().code().libraries(), named(library), INVALID_HANDLE)?;
    let symbol = symbol.text()?;
    Err(call.refuse(INVALID_VALUE, format!("the library has no unified function `{symbol}`")))
}

/// The library's module in the current context.
fn here(call: &Call<'_>, world: &mut Guard<'_>, library: Ptr<CUlib_st>) -> Status<ModuleHandle> {
    call.object(world.code().libraries(), named(library), INVALID_HANDLE)?;
    let context = call.context(world)?;
    module_of(call, world, named(library), context)
}

pub(crate) fn cuLibraryGetModule(call: &Call<'_>, out: Ptr<CUmodule>, library: Ptr<CUlib_st>) -> Status {
    out.required()?;
    let module = here(call, &mut call.world(), library)?;
    out.write(module.as_raw())
}

fn variable(
    call: &Call<'_>,
    (address, bytes): (Ptr<CUdeviceptr>, Ptr<usize>),
    library: Ptr<CUlib_st>,
    name: ConstPtr<c_char>,
) -> Status {
    let name = name.text()?;
    variables::wanted(call, address, bytes)?;
    let mut world = call.world();
    let module = here(call, &mut world, library)?;
    let found = call.object(world.code().modules(), module, INVALID_HANDLE)?;
    let (start, size) = variables::find(&found.program, &found.variables, name)
        .ok_or_else(|| call.refuse(NOT_FOUND, format!("the library has no variable `{name}`")))?;
    address.write_if_wanted(start)?;
    bytes.write_if_wanted(size)
}

pub(crate) fn cuLibraryGetGlobal(
    call: &Call<'_>,
    address: Ptr<CUdeviceptr>,
    bytes: Ptr<usize>,
    library: Ptr<CUlib_st>,
    name: ConstPtr<c_char>,
) -> Status {
    variable(call, (address, bytes), library, name)
}

/// Needs no context: managed variables of a library belong to none.
pub(crate) fn cuLibraryGetManaged(
    call: &Call<'_>,
    address: Ptr<CUdeviceptr>,
    bytes: Ptr<usize>,
    library: Ptr<CUlib_st>,
    name: ConstPtr<c_char>,
) -> Status {
    let name = name.text()?;
    variables::wanted(call, address, bytes)?;
    let (mut world, handle) = (call.world(), named(library));
    let device = current_device(call, &world);
    let binary = binary_of(call, &mut world, handle, device)?;
    let placed = world.place_managed(call, handle, device, &binary.program)?;
    let start = placed.get(name).copied();
    let start = start.ok_or_else(|| call.refuse(NOT_FOUND, format!("the library has no managed variable `{name}`")))?;
    let size = binary.program.variables().iter().find(|variable| variable.name == name).map_or(0, |found| found.size);
    address.write_if_wanted(start)?;
    bytes.write_if_wanted(size as usize)
}
