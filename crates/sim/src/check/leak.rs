//! What was made and never destroyed.

use super::report::{End, Finding, FindingKind, Leaked, ObjectKind};
use crate::api::module::Module;
use crate::ffi::handle::{ContextHandle, ModuleHandle};
use crate::machine::census::Resource;
use crate::machine::core::Core;
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::machine::world::World;
use crate::memory::Allocation;
use crate::memory::shadow::{AccessKind, Operation, Site};

fn made(site: &Site) -> Operation {
    Operation::of_call(AccessKind::Allocate, site)
}

/// The leak of every object that `is_leaked` says is one.
fn objects<T: Object>(
    objects: &Objects<T>,
    end: End,
    is_leaked: impl Fn(HandleTo<T>, &T) -> bool,
) -> impl Iterator<Item = FindingKind> {
    let kind: ObjectKind = T::KIND.into();
    objects.iter().filter(move |(handle, object)| is_leaked(*handle, object)).filter_map(move |(handle, _)| {
        let what = Leaked::Object { kind, handle: handle.bits() };
        objects.maker(handle).map(|site| FindingKind::Leak { what, made: made(site), end })
    })
}

impl Core {
    /// What would be lost if the machine ended now.
    pub(crate) fn leaks(&self) -> Vec<Finding> {
        self.world().leaks().into_iter().map(|kind| Finding { kind, call: None }).collect()
    }

    /// Reports what is lost with a machine that ends.
    pub(crate) fn report_leaks(&self) {
        if self.findings.is_on() {
            let leaks = self.world().leaks();
            leaks.into_iter().for_each(|kind| self.findings.add(kind));
            self.findings.tell();
        }
    }
}

impl World {
    fn memory_leaks(&self, end: End, is_leaked: impl Fn(Option<ContextHandle>) -> bool) -> Vec<FindingKind> {
        // A variable goes with its module.
        let given_back = self.memory.iter().filter(|allocation| Resource::of(&allocation.backing).is_some());
        let leaked = given_back.filter(|allocation| is_leaked(allocation.context)).filter_map(Allocation::info);
        leaked
            .map(|allocation| FindingKind::Leak {
                made: allocation.made.clone(),
                what: Leaked::Memory(allocation),
                end,
            })
            .collect()
    }

    /// Reports what still lives in a context that is about to be destroyed.
    pub(crate) fn find_leaks_of(&self, context: ContextHandle) {
        if !self.findings.is_on() {
            return;
        }
        let end = End::Context;
        let memory = self.memory_leaks(end, |owner| owner == Some(context));
        let streams = objects(&self.streams, end, |_, stream| stream.context == context);
        let events = objects(&self.events, end, |_, event| event.context == context);
        let is_leaked = |_: ModuleHandle, module: &Module| module.context == context && module.is_the_programs();
        let modules = objects(self.code.modules(), end, is_leaked);
        memory.into_iter().chain(streams).chain(events).chain(modules).for_each(|kind| self.findings.add(kind));
    }

    /// What would be lost if the machine ended now.
    pub(crate) fn leaks(&self) -> Vec<FindingKind> {
        let end = End::Machine;
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
        found.extend(objects(&self.physical, end, |_, _| true));
        found.extend(self.virtual_memory.reserved().map(|(address, bytes, site)| FindingKind::Leak {
            what: Leaked::Reservation { address, bytes },
            made: made(site),
            end,
        }));
        found
    }
}
