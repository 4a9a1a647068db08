//! Loading of images: a module in a context from PTX or a container.

use litemap::LiteMap;
use std::sync::Arc;

use warploom_sys::types::CUresult;

use super::NOT_FOUND;
use crate::ffi::handle::{ContextHandle, FunctionHandle, LibraryHandle, ModuleHandle};
use crate::ffi::status::{INVALID_HANDLE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::code::image::{Refusal, Target};
use crate::machine::code::{Binary, Module};
use crate::machine::core::Guard;
use crate::topology::number;

/// A device as a compilation target.
pub(super) fn target(call: &Call<'_>, device: usize) -> Target {
    let topology = &call.core().topology;
    let of = |number| topology.attribute(device, number).map_or(0, i32::unsigned_abs);
    let architecture = of(number::COMPUTE_CAPABILITY_MAJOR) * 10 + of(number::COMPUTE_CAPABILITY_MINOR);
    Target { architecture, driver: topology.driver_version }
}

/// Reads a file with an image.
pub(super) fn read_file(path: &str) -> Result<Vec<u8>, Refusal> {
    std::fs::read(path)
        .map_err(|error| Refusal::new(CUresult::CUDA_ERROR_FILE_NOT_FOUND, format!("{path} cannot be read: {error}")))
}

/// Creates a module in a context, with its variables.
pub(super) fn instantiate(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    context: ContextHandle,
    binary: Arc<Binary>,
    library: Option<LibraryHandle>,
) -> Status<ModuleHandle> {
    let device = world.device_of(context)?;
    let placed = match library {
        Some(library) => world.place_managed(call, library, device, &binary.program)?,
        None => LiteMap::new(),
    };
    let variables = world.place_variables(call, context, device, &binary.program, &placed)?;
    let program = binary.program.placed(&variables);
    let functions = LiteMap::new();
    let module = Module { context, device, binary, program, variables: variables.clone(), functions, library };
    match world.code_mut().add_module(module) {
        Some(handle) => Ok(handle),
        None => {
            let own = variables.into_iter().filter(|address| !placed.values().any(|placed| placed == address));
            world.release_variables(&own.collect::<Vec<_>>());
            Err(OUT_OF_MEMORY)
        }
    }
}

/// A library's module in a context, created at first use.
pub(super) fn module_of(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    library: LibraryHandle,
    context: ContextHandle,
) -> Status<ModuleHandle> {
    let found = call.object(world.code().libraries(), library, INVALID_HANDLE)?;
    if let Some(module) = found.modules.get(&context) {
        return Ok(*module);
    }
    let device = world.device_of(context)?;
    let binary = binary_of(call, world, library, device)?;
    instantiate(call, world, context, binary, Some(library))
}

/// A library's program for a device, decoded at first use; an error if it cannot be compiled.
pub(super) fn binary_of(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    library: LibraryHandle,
    device: u16,
) -> Status<Arc<Binary>> {
    let compiled = compiled(call, world, library, device)?;
    compiled.map_err(|refusal| call.refuse_with_advice(refusal.code, refusal.reason, refusal.advice))
}

/// A library's program for a device, or the reason why it cannot be compiled.
pub(super) fn compiled(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    library: LibraryHandle,
    device: u16,
) -> Status<Result<Arc<Binary>, Refusal>> {
    let target = target(call, device.into());
    let found = call.object(world.code().libraries(), library, INVALID_HANDLE)?;
    if let Some(binary) = found.binaries.get(&target.architecture) {
        return Ok(Ok(Arc::clone(binary)));
    }
    let loaded = found.image.as_ref().map_err(Refusal::clone).and_then(|image| Binary::load(image, target));
    let loaded = loaded.map(Arc::new);
    if let Ok(binary) = &loaded {
        world.code_mut().add_binary(library, target.architecture, Arc::clone(binary));
    }
    Ok(loaded)
}

/// The function of a module's kernel, whose handle is created at first use.
pub(super) fn function_of(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    module: ModuleHandle,
    name: &str,
) -> Status<FunctionHandle> {
    let found = call.object(world.code().modules(), module, INVALID_HANDLE)?;
    let index = found.binary.find(name);
    let index = index.ok_or_else(|| call.refuse(NOT_FOUND, format!("the module has no kernel `{name}`")))?;
    world.code_mut().function_of(module, index)
}
