//! Contexts of a machine: creation, limits, and destruction with all objects in them.

use warploom_sys::types::CUctx_flags;

use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{INVALID_CONTEXT, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::census::Resource;
use crate::machine::context::Context;
use crate::machine::coredump::CoredumpSettings;
use crate::machine::limits::Limits;
use crate::machine::objects::Objects;
use crate::machine::world::World;

impl World {
    /// The live contexts.
    pub(crate) fn contexts(&self) -> &Objects<Context> {
        &self.contexts
    }

    /// The live contexts, for changes of a single one.
    pub(crate) fn contexts_mut(&mut self) -> &mut Objects<Context> {
        &mut self.contexts
    }

    /// The settings of core dumps for new contexts.
    pub(crate) fn coredump_mut(&mut self) -> &mut CoredumpSettings {
        &mut self.coredump
    }

    /// The device of a live context.
    pub(crate) fn device_of(&self, context: ContextHandle) -> Status<u16> {
        self.contexts.get(context).map(|context| context.device).ok_or(INVALID_CONTEXT)
    }

    /// Adds a context that is not primary.
    pub(crate) fn add_context(&mut self, call: &Call<'_>, device: usize, flags: u32) -> Status<ContextHandle> {
        let context = self.new_context(call, device, flags, false)?;
        self.contexts.insert(context).ok_or(OUT_OF_MEMORY)
    }

    /// The primary context of a device, if it is active.
    pub(crate) fn active_primary(&self, device: usize) -> Option<ContextHandle> {
        self.devices[device].primary.filter(|primary| self.contexts.get(*primary).is_some())
    }

    /// Activates the primary context of a device. Its handle is always the same.
    pub(crate) fn activate_primary(&mut self, call: &Call<'_>, device: usize, flags: u32) -> Status<ContextHandle> {
        let context = self.new_context(call, device, flags, true)?;
        if let Some(handle) = self.devices[device].primary {
            self.contexts.resume(handle, context);
            return Ok(handle);
        }
        let handle = self.contexts.insert(context).ok_or(OUT_OF_MEMORY)?;
        self.devices[device].primary = Some(handle);
        Ok(handle)
    }

    /// A context without a handle. The device is charged for it.
    fn new_context(&mut self, call: &Call<'_>, device: usize, flags: u32, is_primary: bool) -> Status<Context> {
        // A fault concerns the whole process: new contexts on the device fail, too.
        if let Some(code) = self.known_fault(device) {
            return Err(call.refuse(code, format!("device {device} has faulted; only a new process can use it")));
        }
        let spec = &call.core().topology.devices[device];
        let memory = &mut self.devices[device].memory;
        if !memory.charge(spec.context_memory) {
            let (bytes, free) = (spec.context_memory, memory.free_bytes());
            return Err(
                call.refuse(OUT_OF_MEMORY, format!("a context takes {bytes} bytes of its device; {free} are free"))
            );
        }
        let coredump = self.coredump.of_context(flags & CUctx_flags::CU_CTX_COREDUMP_ENABLE.0 != 0);
        Ok(Context::new(spec, device as u16, self.next_context_id(), flags, is_primary, coredump))
    }

    /// Sets the limits of a context, which then takes `overhead` bytes of its device. Fails with the free
    /// bytes if there are too few.
    pub(crate) fn set_limits(&mut self, handle: ContextHandle, limits: Limits, overhead: u64) -> Result<(), u64> {
        let Some(context) = self.contexts.get_mut(handle) else { return Ok(()) };
        let memory = &mut self.devices[usize::from(context.device)].memory;
        if !memory.charge(overhead.saturating_sub(context.overhead)) {
            return Err(memory.free_bytes());
        }
        memory.refund(context.overhead.saturating_sub(overhead));
        (context.overhead, context.limits) = (overhead, limits);
        Ok(())
    }

    /// Removes an idle context and the objects in it. The handle of a primary context is kept for its next
    /// activation.
    pub(crate) fn remove_context(&mut self, handle: ContextHandle) {
        let is_primary = self.contexts.get(handle).is_some_and(|context| context.is_primary);
        let gone = if is_primary { self.contexts.suspend(handle) } else { self.contexts.remove(handle) };
        let Some(context) = gone else { return };
        for queue in context.queues().chain(context.marks) {
            self.engine.retire_queue(queue);
        }
        self.abandoned.add(Resource::Stream, context.streams.len() as u64);
        for stream in &context.streams {
            self.streams.orphan(*stream);
        }
        let events = self.events.iter().filter(|(_, event)| event.context == handle);
        for event in events.map(|(event, _)| event).collect::<Vec<EventHandle>>() {
            self.abandoned.add(Resource::Event, 1);
            self.events.orphan(event);
        }
        let modules = self.orphan_modules(handle);
        self.abandoned.add(Resource::Module, modules);
        let owned = self.memory.iter().filter(|allocation| allocation.context == Some(handle));
        let owned = owned.map(|allocation| (allocation.base, Resource::of(&allocation.backing)));
        for (base, resource) in owned.collect::<Vec<_>>() {
            resource.into_iter().for_each(|resource| self.abandoned.add(resource, 1));
            // A finding does not stop the destruction; a use after free is reported all the same.
            self.check_free(base, None).unwrap_or_default();
            self.release_allocation(base);
        }
        self.forget_freed_blocks(handle);
        for other in self.contexts.iter_mut() {
            other.peers.remove(&handle);
        }
        self.devices[usize::from(context.device)].memory.refund(context.overhead);
    }
}
