//! Where a call is: the devices and contexts it is about.

use smallvec::SmallVec;
use warploom_sys::Function;

use crate::api::stream;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::{Home, Side};
use crate::process::thread;

/// Something that an argument of a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Device(u64),
    Context(u64),
    Stream(u64),
    Event(u64),
    Pool(u64),
    Memory(u64),
    Physical(u64),
}

impl Subject {
    /// What an argument of a C type names, if it names anything.
    pub(crate) fn of(c_type: &str, bits: u64) -> Option<Subject> {
        // `*mut CUstream` is a place for a stream, and no stream.
        if c_type.starts_with('*') {
            return None;
        }
        Some(match c_type.rsplit("::").next()?.trim() {
            "CUdevice" | "CUdevice_v1" => Subject::Device(bits),
            "CUcontext" => Subject::Context(bits),
            "CUstream" => Subject::Stream(bits),
            "CUevent" => Subject::Event(bits),
            "CUmemoryPool" => Subject::Pool(bits),
            "CUdeviceptr" | "CUdeviceptr_v2" => Subject::Memory(bits),
            "CUmemGenericAllocationHandle" | "CUmemGenericAllocationHandle_v1" => Subject::Physical(bits),
            _ => return None,
        })
    }
}

/// Tells what the arguments of a call name.
pub(crate) type Naming<'a> = &'a dyn Fn(&mut dyn FnMut(Subject));

/// The devices and contexts a call is about.
#[derive(Default)]
pub(super) struct Place {
    pub(super) devices: SmallVec<[u16; 2]>,
    pub(super) contexts: SmallVec<[ContextHandle; 2]>,
    pub(super) ids: SmallVec<[u64; 2]>,
}

impl Place {
    /// Looks up what the arguments name; a call that names nothing is about the current context.
    pub(super) fn of(call: &Call<'_>, naming: Naming<'_>) -> Self {
        let world = call.world();
        let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
        let current = current.filter(|_| !is_about_no_device(call.function()));
        let mut place = Self::default();
        let mut named = false;
        naming(&mut |subject| {
            named = true;
            place.add(&world, subject, current);
        });
        if !named {
            place.add_context(&world, current);
        }
        place
    }

    fn add(&mut self, world: &World, subject: Subject, current: Option<ContextHandle>) {
        match subject {
            Subject::Device(ordinal) => {
                self.add_device(
                    u16::try_from(ordinal).ok().filter(|ordinal| usize::from(*ordinal) < world.devices.len()),
                );
            }
            Subject::Context(0) | Subject::Stream(0 | stream::LEGACY | stream::PER_THREAD) => {
                self.add_context(world, current);
            }
            Subject::Context(bits) => self.add_context(world, Some(Handle::from_bits(bits))),
            Subject::Stream(bits) => {
                self.add_context(world, world.streams.get(Handle::from_bits(bits)).map(|stream| stream.context));
            }
            Subject::Event(bits) => {
                self.add_context(world, world.events.get(Handle::from_bits(bits)).map(|event| event.context));
            }
            Subject::Pool(bits) => {
                if let Some(Home::Device(device)) = world.pools.get(Handle::from_bits(bits)).map(|pool| pool.home) {
                    self.add_device(Some(device));
                }
            }
            Subject::Physical(bits) => {
                if let Some(Side::Device(device)) =
                    world.physical.get(Handle::from_bits(bits)).map(|physical| physical.side)
                {
                    self.add_device(Some(device));
                }
            }
            Subject::Memory(address) => {
                if let Some(allocation) = world.memory.containing(address)
                    && let Side::Device(device) = allocation.side
                {
                    self.add_device(Some(device));
                    self.add_context(world, allocation.context);
                }
            }
        }
    }

    fn add_device(&mut self, device: Option<u16>) {
        self.devices.extend(device.filter(|device| !self.devices.contains(device)));
    }

    fn add_context(&mut self, world: &World, handle: Option<ContextHandle>) {
        let Some(handle) = handle.filter(|handle| !self.contexts.contains(handle)) else { return };
        if let Some(context) = world.contexts.get(handle) {
            self.contexts.push(handle);
            self.ids.push(context.id);
            self.add_device(Some(context.device));
        }
    }
}

/// Whether a function is about the process or the thread, and so not about the current context unless it names it.
fn is_about_no_device(function: Function) -> bool {
    use Function::*;
    let of_the_thread =
        matches!(function, cuCtxGetCurrent | cuCtxSetCurrent | cuCtxPushCurrent_v2 | cuCtxPopCurrent_v2);
    of_the_thread || matches!(function.family(), "init" | "device")
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! subjects {
        ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
            ($($argument:ident: $type:ty),*);)*) => {
            fn subjects() -> Vec<(Function, usize)> {
                vec![$((Function::$slot, 0 $(+ usize::from(Subject::of(stringify!($type), 7).is_some()))*)),*]
            }
        };
    }
    warploom_sys::for_each_function!(subjects);

    #[test]
    fn no_argument_of_the_list_is_overlooked_for_its_types_suffix() {
        let counts = subjects();
        for (function, expected) in [
            (Function::cuDeviceGetName, 1),
            (Function::cuDeviceCanAccessPeer, 2),
            (Function::cuMemcpyPeerAsync, 5),
            (Function::cuEventRecord, 2),
            (Function::cuMemAllocFromPoolAsync, 2),
            (Function::cuMemMap, 2),
            (Function::cuCtxCreate_v2, 1),
            (Function::cuStreamCreate, 0),
        ] {
            assert!(counts.contains(&(function, expected)), "{function}");
        }
    }

    #[test]
    fn arguments_name_what_their_c_types_say() {
        for (c_type, expected) in [
            ("$crate::types::CUdevice_v1", Some(Subject::Device(7))),
            ("warploom_sys::types::CUdeviceptr_v2", Some(Subject::Memory(7))),
            ("types::CUstream", Some(Subject::Stream(7))),
            ("*mut $crate::types::CUstream", None),
            ("CUdevice_attribute", None),
            ("::core::ffi::c_int", None),
        ] {
            assert_eq!(Subject::of(c_type, 7), expected, "{c_type}");
        }
    }
}
