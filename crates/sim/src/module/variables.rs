//! Variables of modules, which are memory of a device.

use warploom_ptx::Program;

use crate::call::Call;
use crate::context::Context;
use crate::core::Guard;
use crate::engine::Side;
use crate::handles::Handle;
use crate::managed::Managed;
use crate::memory::{Allocation, Backing};
use crate::status::{OUT_OF_MEMORY, Status};
use crate::world::World;

/// What is particular to the memory of a variable.
#[derive(Debug)]
pub(crate) struct VariableMemory {
    /// The host sees it, too.
    pub(crate) managed: Option<Managed>,
    /// No variable at all, but what a kernel has taken with `malloc`.
    is_heap: bool,
}

/// Bytes in which the blocks of a cooperative launch meet.
const WORKSPACE: usize = 64;

impl World {
    /// Takes memory for every variable of a program, and puts its first values there; the addresses.
    pub(super) fn place_variables(
        &mut self,
        call: &Call<'_>,
        context: Handle<Context>,
        device: u16,
        program: &Program,
    ) -> Status<Vec<u64>> {
        let mut addresses = Vec::with_capacity(program.variables().len());
        for variable in program.variables() {
            let taken = match variable.size {
                0 => Some(0),
                size => self.take_variable(context, device, size, variable.managed, false),
            };
            let Some(address) = taken else {
                self.release_variables(&addresses);
                let (name, size) = (&variable.name, variable.size);
                let reason = format!("the {size} bytes of the variable `{name}` do not fit device {device}");
                return Err(call.refuse(OUT_OF_MEMORY, reason));
            };
            addresses.push(address);
        }
        for (variable, address) in program.variables().iter().zip(&addresses) {
            if let Some(allocation) = self.memory.at(*address) {
                let mut bytes = variable.contents(&addresses);
                bytes.resize(variable.size as usize, 0);
                allocation.place(*address).put(&bytes);
                self.mark_written(*address);
            }
        }
        Ok(addresses)
    }

    /// Memory for a kernel that asks for it while it runs.
    pub(super) fn take_heap(&mut self, context: Handle<Context>, device: u16, bytes: u64) -> Option<u64> {
        self.take_variable(context, device, bytes.max(1), false, true)
    }

    /// Memory in which the blocks of a cooperative launch meet.
    pub(super) fn take_workspace(&mut self, context: Handle<Context>, device: u16) -> Option<u64> {
        let address = self.take_heap(context, device, WORKSPACE as u64)?;
        self.memory.at(address)?.place(address).put(&[0; WORKSPACE]);
        self.mark_written(address);
        Some(address)
    }

    /// Takes back what a kernel has got while it ran.
    pub(super) fn give_heap(&mut self, context: Handle<Context>, address: u64) {
        let found = self.memory.at(address).filter(|allocation| allocation.context == Some(context));
        if found.is_some_and(|found| matches!(&found.backing, Backing::Variable(memory) if memory.is_heap)) {
            self.release_allocation(address);
        }
    }

    fn take_variable(
        &mut self,
        context: Handle<Context>,
        device: u16,
        size: u64,
        managed: bool,
        is_heap: bool,
    ) -> Option<u64> {
        let (base, host) = if managed {
            let base = self.managed_memory.take(size, &self.engine).ok()?;
            (base, base as usize)
        } else {
            let memory = &mut self.devices[usize::from(device)].memory;
            let base = memory.take(size)?;
            (base, memory.window().host_of(base))
        };
        let id = self.memory.next_id();
        let managed = managed.then_some(Managed { charged: 0 });
        let allocation = Allocation {
            base,
            size,
            host,
            side: Side::Device(device),
            context: Some(context),
            id,
            backing: Backing::Variable(VariableMemory { managed, is_heap }),
            sync_memops: false,
            tracked: None,
        };
        self.add_allocation(allocation, None);
        Some(base)
    }

    /// Gives the memory of variables back, at once.
    pub(super) fn release_variables(&mut self, addresses: &[u64]) {
        for address in addresses {
            self.release_allocation(*address);
        }
    }
}

/// The address and size of a variable that may be known by its name.
pub(super) fn find(program: &Program, addresses: &[u64], name: &str, managed: bool) -> Option<(u64, usize)> {
    let mut known = program.variables().iter().zip(addresses);
    let (variable, address) = known.find(|(variable, _)| variable.name == name && (!managed || variable.managed))?;
    Some((*address, variable.size as usize))
}

/// Waits for everything the context of a module has to do, and takes the module out of it.
pub(super) fn unload(call: &Call<'_>, world: &mut Guard<'_>, module: Handle<super::Module>) -> Status {
    let Some(found) = world.code.modules.get(module) else { return Ok(()) };
    let context = found.context;
    call.wait_for_context(world, context)?;
    if let Some(module) = world.code.remove(module, false) {
        for address in &module.variables {
            world.check_free(*address, None).unwrap_or_default();
        }
        world.release_variables(&module.variables);
    }
    Ok(())
}
