//! Leftovers that are excused, because the call that failed was the one to make or to end them.

use warploom_driver::Function;
use warploom_sim::{Change, KindChange, Resource};

use super::report::Failing;

/// Resources that a failed call leaves behind through no fault of the program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Excuse {
    /// One of these kinds, once.
    one_of: &'static [Resource],
    /// Any number of these.
    any: &'static [Resource],
    /// Other contexts on the thread.
    current: bool,
}

/// The kinds of resource of which the call destroys or frees one.
fn ends(function: Function) -> &'static [Resource] {
    use Function::*;
    match function {
        cuCtxDestroy_v2 | cuCtxDetach => &[Resource::Context],
        cuDevicePrimaryCtxRelease_v2 => &[Resource::PrimaryRetain],
        cuStreamDestroy_v2 => &[Resource::Stream],
        cuEventDestroy_v2 => &[Resource::Event],
        cuMemPoolDestroy => &[Resource::Pool],
        cuMemFree_v2 | cuMemFreeAsync => &[
            Resource::DeviceMemory,
            Resource::PoolMemory,
            Resource::ManagedMemory,
            Resource::GraphMemory,
            Resource::ImportedMemory,
        ],
        cuIpcCloseMemHandle => &[Resource::ImportedMemory],
        cuMemFreeHost => &[Resource::HostMemory],
        cuMemHostUnregister => &[Resource::Registration],
        cuMemRelease => &[Resource::Physical],
        cuMemAddressFree => &[Resource::Reservation],
        cuModuleUnload => &[Resource::Module],
        cuLibraryUnload => &[Resource::Library],
        cuGraphDestroy => &[Resource::Graph],
        cuGraphExecDestroy => &[Resource::Executable],
        cuLinkDestroy => &[Resource::Linker],
        cuCtxDisablePeerAccess => &[Resource::PeerAccess],
        _ => &[],
    }
}

/// The kinds of resource that the call creates and, when it fails after its effect, does not return.
fn makes(function: Function) -> &'static [Resource] {
    use Function::*;
    match function {
        cuCtxCreate_v2 | cuCtxCreate_v3 | cuCtxCreate_v4 | cuCtxAttach => &[Resource::Context],
        cuDevicePrimaryCtxRetain => &[Resource::PrimaryRetain],
        cuStreamCreate | cuStreamCreateWithPriority => &[Resource::Stream],
        cuEventCreate | cuIpcOpenEventHandle => &[Resource::Event],
        cuMemPoolCreate | cuMemPoolImportFromShareableHandle => &[Resource::Pool],
        cuMemAlloc_v2 | cuMemAllocPitch_v2 => &[Resource::DeviceMemory],
        cuMemAllocManaged => &[Resource::ManagedMemory],
        cuMemAllocAsync | cuMemAllocFromPoolAsync => &[Resource::PoolMemory],
        cuMemPoolImportPointer | cuIpcOpenMemHandle | cuIpcOpenMemHandle_v2 => &[Resource::ImportedMemory],
        cuGraphLaunch => &[Resource::GraphMemory],
        cuMemHostAlloc | cuMemAllocHost_v2 => &[Resource::HostMemory],
        cuMemHostRegister_v2 => &[Resource::Registration],
        cuMemCreate | cuMemRetainAllocationHandle | cuMemImportFromShareableHandle => &[Resource::Physical],
        cuMemAddressReserve => &[Resource::Reservation],
        cuModuleLoad | cuModuleLoadData | cuModuleLoadDataEx | cuModuleLoadFatBinary => &[Resource::Module],
        cuLibraryLoadData | cuLibraryLoadFromFile => &[Resource::Library],
        cuGraphCreate | cuGraphClone | cuStreamEndCapture => &[Resource::Graph],
        cuGraphInstantiateWithFlags | cuGraphInstantiateWithParams => &[Resource::Executable],
        cuLinkCreate_v2 => &[Resource::Linker],
        cuCtxEnablePeerAccess => &[Resource::PeerAccess],
        _ => &[],
    }
}

impl Excuse {
    pub(super) fn of(function: Function, failing: Failing) -> Excuse {
        use Function::*;
        let one_of = match failing {
            Failing::Once => ends(function),
            Failing::AfterEffect => makes(function),
            Failing::Nothing | Failing::FromHere => &[],
        };
        // A stretch of addresses cannot be given back while something is mapped there, and one call ends many
        // mappings.
        let mapping = match failing {
            Failing::Once => function == cuMemUnmap,
            Failing::AfterEffect => function == cuMemMap,
            Failing::Nothing | Failing::FromHere => false,
        };
        // A graph that is not destroyed keeps everything that it uses.
        let keeps = failing == Failing::Once
            && matches!(function, cuGraphDestroy | cuGraphExecDestroy | cuGraphReleaseUserObject | cuUserObjectRelease);
        let any: &[Resource] = match (mapping, keeps) {
            (true, _) => &[Resource::Mapping, Resource::Reservation],
            (false, true) => Resource::ALL,
            (false, false) => &[],
        };
        let current = matches!(
            function,
            cuCtxSetCurrent
                | cuCtxPushCurrent_v2
                | cuCtxPopCurrent_v2
                | cuCtxCreate_v2
                | cuCtxCreate_v3
                | cuCtxCreate_v4
                | cuCtxDestroy_v2
        );
        Excuse { one_of, any, current: current && failing != Failing::Nothing }
    }

    /// The change that is not excused; `usual` is the change that the scenario leaves to its contexts without
    /// a fault.
    pub(super) fn rest(&self, change: &Change, usual: &Change) -> Change {
        let mut excused = 1;
        let mut kinds = Vec::new();
        for kind in &change.kinds {
            let left_to_context = usual.kinds.iter().find(|usual| usual.resource == kind.resource);
            let mut allowed = left_to_context.map_or(0, |usual| usual.abandoned.max(0));
            let over = |allowed: i64| kind.live + kind.abandoned > allowed;
            if over(allowed) && excused > 0 && self.one_of.contains(&kind.resource) {
                allowed += 1;
                excused -= 1;
            }
            let is_fewer = kind.live < 0;
            if is_fewer || over(allowed) && !self.any.contains(&kind.resource) {
                kinds.push(KindChange { ..*kind });
            }
        }
        Change { kinds, current_changed: change.current_changed && !self.current }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kinds: &[(Resource, i64, i64)]) -> Change {
        let kinds = kinds.iter().map(|(resource, live, abandoned)| KindChange {
            resource: *resource,
            live: *live,
            abandoned: *abandoned,
        });
        Change { kinds: kinds.collect(), current_changed: false }
    }

    #[test]
    fn a_failed_free_excuses_one_allocation_and_not_two() {
        let excuse = Excuse::of(Function::cuMemFree_v2, Failing::Once);
        let nothing = Change::default();
        assert!(excuse.rest(&change(&[(Resource::DeviceMemory, 1, 0)]), &nothing).is_empty());
        assert!(excuse.rest(&change(&[(Resource::ManagedMemory, 0, 1)]), &nothing).is_empty(), "gone with its context");
        assert!(!excuse.rest(&change(&[(Resource::DeviceMemory, 2, 0)]), &nothing).is_empty());
        let both = change(&[(Resource::DeviceMemory, 1, 0), (Resource::ManagedMemory, 1, 0)]);
        assert_eq!(excuse.rest(&both, &nothing).kinds.len(), 1);
        assert!(!excuse.rest(&change(&[(Resource::Stream, 1, 0)]), &nothing).is_empty());
    }

    #[test]
    fn a_call_that_fails_before_its_effect_excuses_nothing_it_would_have_made() {
        let stream = change(&[(Resource::Stream, 1, 0)]);
        let nothing = Change::default();
        assert!(!Excuse::of(Function::cuStreamCreate, Failing::Once).rest(&stream, &nothing).is_empty());
        assert!(Excuse::of(Function::cuStreamCreate, Failing::AfterEffect).rest(&stream, &nothing).is_empty());
        assert!(!Excuse::of(Function::cuStreamDestroy_v2, Failing::AfterEffect).rest(&stream, &nothing).is_empty());
    }

    #[test]
    fn leftovers_of_every_run_are_no_leak() {
        let usual = change(&[(Resource::Event, 0, 2)]);
        let excuse = Excuse::default();
        assert!(excuse.rest(&change(&[(Resource::Event, 0, 2)]), &usual).is_empty());
        assert!(excuse.rest(&change(&[(Resource::Event, 2, 0)]), &usual).is_empty(), "the context was not destroyed");
        assert!(!excuse.rest(&change(&[(Resource::Event, 0, 3)]), &usual).is_empty());
    }

    #[test]
    fn a_graph_that_is_not_destroyed_keeps_what_it_uses() {
        let kept = change(&[(Resource::Graph, 1, 0), (Resource::PoolMemory, 2, 0), (Resource::Stream, 1, 0)]);
        let nothing = Change::default();
        assert!(Excuse::of(Function::cuGraphDestroy, Failing::Once).rest(&kept, &nothing).is_empty());
        assert!(!Excuse::of(Function::cuGraphDestroy, Failing::AfterEffect).rest(&kept, &nothing).is_empty());
    }

    #[test]
    fn other_contexts_on_the_thread_are_excused_for_what_changes_them() {
        let changed = Change { kinds: Vec::new(), current_changed: true };
        let nothing = Change::default();
        assert!(Excuse::of(Function::cuCtxSetCurrent, Failing::Once).rest(&changed, &nothing).is_empty());
        assert!(!Excuse::of(Function::cuMemAlloc_v2, Failing::Once).rest(&changed, &nothing).is_empty());
    }

    #[test]
    fn functions_that_create_or_release_a_counted_resource_have_an_excuse() {
        use warploom_sim::fault::Class;
        for resource in Resource::ALL {
            let has = |excuses: fn(Function) -> &'static [Resource]| {
                Function::ALL.iter().any(|function| excuses(*function).contains(resource))
            };
            assert!(has(ends) && has(makes) || *resource == Resource::Mapping, "{resource:?}");
        }
        for function in Function::ALL {
            assert!(ends(*function).is_empty() || !Class::Create.contains(*function), "{function}");
        }
    }
}
