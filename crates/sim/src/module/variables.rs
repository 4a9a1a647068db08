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

    /// Memory for a kernel that asks for it while it runs, if the context's heap has as much.
    pub(super) fn take_heap(&mut self, context: Handle<Context>, device: u16, bytes: u64) -> Option<u64> {
        let cost = heap_cost(bytes);
        if !self.contexts.get_mut(context)?.take_heap(cost) {
            return None;
        }
        let taken = self.take_variable(context, device, bytes.max(1), false, true);
        if let (None, Some(context)) = (taken, self.contexts.get_mut(context)) {
            context.give_heap(cost);
        }
        taken
    }

    /// Memory in which the blocks of a cooperative launch meet.
    pub(super) fn take_workspace(&mut self, context: Handle<Context>, device: u16) -> Option<u64> {
        let address = self.take_variable(context, device, WORKSPACE as u64, false, true)?;
        self.memory.at(address)?.place(address).put(&[0; WORKSPACE]);
        self.mark_written(address);
        Some(address)
    }

    /// Takes back what the blocks of a launch met in.
    pub(super) fn give_workspace(&mut self, address: u64) {
        self.release_allocation(address);
    }

    /// Takes back what a kernel has got while it ran.
    pub(super) fn give_heap(&mut self, context: Handle<Context>, address: u64) {
        let found = self.memory.at(address).filter(|allocation| allocation.context == Some(context));
        let found = found.filter(|found| matches!(&found.backing, Backing::Variable(memory) if memory.is_heap));
        let Some(bytes) = found.map(|found| found.size) else { return };
        self.release_allocation(address);
        if let Some(context) = self.contexts.get_mut(context) {
            context.give_heap(heap_cost(bytes));
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

/// What an allocation takes of a heap: that of an H200 takes so much more than it was asked for where that is large, and no
/// less than 80 bytes.
fn heap_cost(bytes: u64) -> u64 {
    bytes.saturating_add((bytes / 1024).saturating_mul(225)).max(80)
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
