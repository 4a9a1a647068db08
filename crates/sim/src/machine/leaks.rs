//! Leaks of a machine or a context that ends.

use crate::check::{Finding, FindingKind, LeakOwner, memory_leak, object_leak, reservation_leak};
use crate::ffi::handle::{ContextHandle, ModuleHandle};
use crate::machine::census::Resource;
use crate::machine::code::Module;
use crate::machine::core::Core;
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::machine::world::World;

/// The leaks among the objects of one kind that `is_leaked` selects.
fn objects<T: Object>(
    objects: &Objects<T>,
    end: LeakOwner,
    is_leaked: impl Fn(HandleTo<T>, &T) -> bool,
) -> impl Iterator<Item = FindingKind> {
    let leaked = objects.iter().filter(move |(handle, object)| is_leaked(*handle, object));
    leaked.filter_map(move |(handle, _)| {
        objects.maker(handle).map(|site| object_leak(T::KIND.into(), handle.bits(), site, end))
    })
}

impl Core {
    /// Leaks if the machine ended now.
    pub(crate) fn leaks(&self) -> Vec<Finding> {
        self.world().leaks().into_iter().map(|kind| Finding { kind, call: None }).collect()
    }

    /// Reports the leaks of a machine that ends.
    pub(crate) fn report_leaks(&self) {
        if self.findings.is_on() {
            let leaks = self.world().leaks();
            leaks.into_iter().for_each(|kind| self.findings.add(kind));
            self.findings.tell();
        }
    }
}

impl World {
    fn memory_leaks(&self, end: LeakOwner, is_leaked: impl Fn(Option<ContextHandle>) -> bool) -> Vec<FindingKind> {
        // Variables are released with their module.
        let given_back = self.memory.iter().filter(|allocation| Resource::of(&allocation.backing).is_some());
        let leaked = given_back.filter(|allocation| is_leaked(allocation.context));
        leaked.filter_map(|allocation| memory_leak(allocation, end)).collect()
    }

    /// Reports the leaks of a context that is about to be destroyed.
    pub(crate) fn find_leaks_of(&self, context: ContextHandle) {
        if !self.checker.is_on() {
            return;
        }
        let end = LeakOwner::Context;
        let memory = self.memory_leaks(end, |owner| owner == Some(context));
        let streams = objects(&self.streams, end, |_, stream| stream.context == context);
        let events = objects(&self.events, end, |_, event| event.context == context);
        let is_leaked = |_: ModuleHandle, module: &Module| module.context == context && module.is_the_programs();
        let modules = objects(self.code.modules(), end, is_leaked);
        memory
            .into_iter()
            .chain(streams)
            .chain(events)
            .chain(modules)
            .for_each(|kind| self.checker.findings().add(kind));
    }

    /// Leaks if the machine ended now.
    pub(crate) fn leaks(&self) -> Vec<FindingKind> {
        let end = LeakOwner::Machine;
        let is_released = |handle: ContextHandle| {
            self.devices.iter().any(|device| device.primary == Some(handle) && device.retained == 0)
        };
        let mut found = self.memory_leaks(end, |_| true);
        found.extend(objects(&self.contexts, end, |handle, _| !is_released(handle)));
        found.extend(objects(&self.streams, end, |_, _| true));
        found.extend(objects(&self.events, end, |_, _| true));
        found.extend(objects(&self.pools, end, |_, pool| pool.is_the_programs()));
        found.extend(objects(self.code.modules(), end, |_, module| module.is_the_programs()));
        found.extend(objects(self.code.libraries(), end, |_, _| true));
        found.extend(objects(self.code.links(), end, |_, _| true));
        found.extend(objects(&self.graphs.graphs, end, |_, graph| graph.is_the_programs()));
        found.extend(objects(&self.graphs.executables, end, |_, _| true));
        found.extend(objects(&self.graphs.user_objects, end, |_, object| object.of_program > 0));
        found.extend(objects(&self.physical, end, |_, _| true));
        let reserved = self.virtual_memory.reserved();
        found.extend(reserved.map(|(address, bytes, site)| reservation_leak(address, bytes, site, end)));
        found
    }
}
