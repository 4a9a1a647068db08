//! Release of memory: frees, and memory of a context that is destroyed.

use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side};

impl World {
    /// Removes an allocation and releases its memory at once. The caller has waited for the work that uses
    /// it.
    pub(crate) fn release_allocation(&mut self, base: u64) {
        if matches!(self.memory.at(base), Some(Allocation { backing: Backing::Pool(_), .. })) {
            return self.free_pool_memory(base);
        }
        if self.remove_graph_memory(base).is_some() {
            return;
        }
        let Some(allocation) = self.memory.remove(base) else { return };
        let Allocation { size, side, backing, .. } = allocation;
        match (backing, side) {
            (Backing::Device, Side::Device(device)) => self.devices[usize::from(device)].memory.give(base, size),
            (Backing::Variable(variable), Side::Device(device)) => match variable.managed {
                Some(_) => self.managed_memory.give(base, size, &self.engine),
                None => {
                    let [before, behind] = variable.margins;
                    self.devices[usize::from(device)].memory.give(base - before, size + before + behind);
                }
            },
            (Backing::PageLocked(_), _) => self.host_memory.give(base, size, &self.engine),
            (Backing::Managed(managed), Side::Device(device)) => {
                self.managed_memory.give(base, size, &self.engine);
                self.devices[usize::from(device)].memory.refund(managed.charged);
            }
            // The program owns the pages.
            (Backing::Registered { .. }, _) => {}
            // Mappings end with `cuMemUnmap`, and memory of pools and graphs is handled above; the others are on no device.
            (
                Backing::Mapped(_)
                | Backing::Pool(_)
                | Backing::Graph(_)
                | Backing::Device
                | Backing::Managed(_)
                | Backing::Variable(_),
                _,
            ) => {}
        }
    }
}

/// Waits for all work of an allocation's context, as `cuMemFree` does, and releases the allocation.
pub(crate) fn release_when_idle(call: &Call<'_>, world: &mut Guard<'_>, base: u64) -> Status {
    let named = |world: &Guard<'_>| world.memory.at(base).map(|allocation| (allocation.id, allocation.context));
    let before = named(world);
    let context: Option<ContextHandle> = before.and_then(|(_, context)| context);
    if let Some(context) = context {
        call.wait_for_context(world, context)?;
    }
    if named(world) != before {
        return Err(call.refuse(INVALID_VALUE, format!("{base:#x} was freed by another thread meanwhile")));
    }
    world.check_free(base, None)?;
    world.release_allocation(base);
    Ok(())
}
