//! Module variables (`.global` and `.const`), in device memory.

use warploom_ptx::Program;
use warploom_sys::types::CUdeviceptr;

use crate::ffi::Ptr;
use crate::ffi::handle::ModuleHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// The address and size of a variable, by its name.
pub(super) fn find(program: &Program, addresses: &[u64], name: &str) -> Option<(u64, usize)> {
    let mut known = program.variables().iter().zip(addresses);
    let (variable, address) = known.find(|(variable, _)| variable.name == name)?;
    Some((*address, variable.size as usize))
}

/// Refuses a query for neither the address nor the size of a variable.
pub(super) fn wanted(call: &Call<'_>, address: Ptr<CUdeviceptr>, bytes: Ptr<usize>) -> Status {
    if address.is_null() && bytes.is_null() {
        return Err(call.refuse(INVALID_VALUE, "neither the address nor the size of the variable is asked for"));
    }
    Ok(())
}

/// Waits for all work of a module's context, and removes the module.
pub(super) fn unload(call: &Call<'_>, world: &mut Guard<'_>, module: ModuleHandle) -> Status {
    let Some(found) = world.code().modules().get(module) else { return Ok(()) };
    let context = found.context;
    // A fault that the wait finds does not keep the module.
    match call.wait_for_context(world, context) {
        Err(code) if world.fault_of(context) == Some(code) => {}
        waited => waited?,
    }
    if let Some(module) = world.code_mut().remove(module, false) {
        let library = module.library.and_then(|library| world.code().libraries().get(library));
        let shared: Vec<u64> = library.into_iter().flat_map(|library| library.managed.values().copied()).collect();
        let own: Vec<u64> = module.variables.into_iter().filter(|address| !shared.contains(address)).collect();
        release(world, &own);
    }
    Ok(())
}

/// Releases the memory of variables, and reports work that still uses it.
pub(super) fn release(world: &mut Guard<'_>, addresses: &[u64]) {
    for address in addresses {
        world.check_free(*address, None).unwrap_or_default();
    }
    world.release_variables(addresses);
}
