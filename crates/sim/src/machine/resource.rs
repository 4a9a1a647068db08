//! Resources created by one call and released by another.

use crate::memory::Backing;

macro_rules! resources {
    ($($(#[$meta:meta])* $resource:ident $one:literal $many:literal;)*) => {
        /// A kind of object that a program creates with one call and releases with another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Resource {
            $($(#[$meta])* $resource,)*
        }

        impl Resource {
            /// All kinds.
            pub const ALL: &[Resource] = &[$(Resource::$resource),*];

            pub(crate) fn noun(self, count: u64) -> &'static str {
                match self { $(Resource::$resource => if count == 1 { $one } else { $many },)* }
            }
        }
    };
}
resources! {
    /// `cuCtxCreate`, `cuCtxDestroy`; attachments of `cuCtxAttach` count, too.
    Context "context" "contexts";
    /// `cuDevicePrimaryCtxRetain`, `cuDevicePrimaryCtxRelease`.
    PrimaryRetain "retained primary context" "retained primary contexts";
    /// `cuStreamCreate`, `cuStreamDestroy`.
    Stream "stream" "streams";
    /// `cuEventCreate`, `cuEventDestroy`.
    Event "event" "events";
    /// `cuMemPoolCreate`, `cuMemPoolDestroy`.
    Pool "memory pool" "memory pools";
    /// `cuMemAlloc`, `cuMemFree`.
    DeviceMemory "device allocation" "device allocations";
    /// `cuMemHostAlloc`, `cuMemFreeHost`.
    HostMemory "page-locked allocation" "page-locked allocations";
    /// `cuMemHostRegister`, `cuMemHostUnregister`.
    Registration "registration of host memory" "registrations of host memory";
    /// `cuMemAllocManaged`, `cuMemFree`.
    ManagedMemory "managed allocation" "managed allocations";
    /// `cuMemAllocAsync`, `cuMemFreeAsync`.
    PoolMemory "pool allocation" "pool allocations";
    /// Allocations of graphs that no node frees, `cuMemFreeAsync`.
    GraphMemory "graph allocation" "graph allocations";
    /// `cuIpcOpenMemHandle`, `cuIpcCloseMemHandle`; `cuMemPoolImportPointer`, `cuMemFreeAsync`.
    ImportedMemory "imported allocation" "imported allocations";
    /// `cuMemCreate`, `cuMemRelease`.
    Physical "physical allocation" "physical allocations";
    /// `cuMemAddressReserve`, `cuMemAddressFree`.
    Reservation "address reservation" "address reservations";
    /// `cuMemMap`, `cuMemUnmap`.
    Mapping "mapping" "mappings";
    /// `cuModuleLoad`, `cuModuleUnload`.
    Module "module" "modules";
    /// `cuLibraryLoadData`, `cuLibraryUnload`.
    Library "library" "libraries";
    /// `cuGraphCreate` and `cuStreamEndCapture`, `cuGraphDestroy`.
    Graph "graph" "graphs";
    /// `cuGraphInstantiate`, `cuGraphExecDestroy`.
    Executable "executable graph" "executable graphs";
    /// `cuLinkCreate`, `cuLinkDestroy`.
    Linker "linker" "linkers";
    /// `cuCtxEnablePeerAccess`, `cuCtxDisablePeerAccess`.
    PeerAccess "peer access" "peer accesses";
}

const KINDS: usize = Resource::ALL.len();

/// Number of objects of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) [u64; KINDS]);

impl Counts {
    pub(crate) fn add(&mut self, resource: Resource, count: u64) {
        self.0[resource as usize] += count;
    }
}

impl Resource {
    /// The kind of an allocation; `None` for a variable, which is released with its module.
    pub(crate) fn of(backing: &Backing) -> Option<Resource> {
        Some(match backing {
            Backing::Device => Resource::DeviceMemory,
            Backing::PageLocked(_) => Resource::HostMemory,
            Backing::Registered { .. } => Resource::Registration,
            Backing::Managed(_) => Resource::ManagedMemory,
            Backing::Pool(block) if block.is_imported => Resource::ImportedMemory,
            Backing::Pool(_) => Resource::PoolMemory,
            Backing::Graph(_) => Resource::GraphMemory,
            Backing::Mapped(_) => Resource::Mapping,
            Backing::Imported(_) => Resource::ImportedMemory,
            Backing::Variable(_) => return None,
        })
    }
}
