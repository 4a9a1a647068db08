//! Classes of driver functions.

macro_rules! classes {
    ($($(#[$meta:meta])* $class:ident $name:literal;)*) => {
        /// A class of driver functions. A function may be of several: `cuMemAllocAsync` is of
        /// [`Class::Alloc`], [`Class::Create`] and [`Class::Pool`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$meta])* $class,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &[Class] = &[$(Class::$class),*];

            /// The class's name in a plan that is written as TOML.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}
classes! {
    /// Starting up, versions, error texts and finding functions: `cuInit`, `cuGetProcAddress`,
    /// `cuGetErrorName`.
    Init "init";
    /// Devices and their properties: `cuDeviceGet`, `cuDeviceGetAttribute`.
    Device "device";
    /// Contexts, primary ones too, and the current context: `cuCtxCreate`, `cuDevicePrimaryCtxRetain`,
    /// `cuCtxSetCurrent`.
    Context "context";
    /// Access between devices: `cuCtxEnablePeerAccess`, `cuDeviceCanAccessPeer`.
    Peer "peer";
    /// Streams, and work that stream functions enqueue on them: `cuStreamCreate`, `cuStreamWaitEvent`,
    /// `cuLaunchHostFunc`.
    Stream "stream";
    /// Events: `cuEventCreate`, `cuEventRecord`, `cuEventQuery`.
    Event "event";
    /// Waiting on the host: `cuCtxSynchronize`, `cuStreamSynchronize`, `cuEventSynchronize`.
    Sync "sync";
    /// Queries that change nothing, outside [`Class::Init`]: `cuStreamQuery`, `cuMemGetInfo`,
    /// `cuDeviceGetName`.
    Query "query";
    /// Allocation of memory, of a device or of the host: `cuMemAlloc`, `cuMemAllocAsync`, `cuMemHostAlloc`,
    /// `cuMemHostRegister`, `cuMemCreate`, arrays.
    Alloc "alloc";
    /// Release of memory: `cuMemFree`, `cuMemFreeAsync`, `cuMemFreeHost`, `cuMemHostUnregister`,
    /// `cuMemRelease`, arrays.
    Free "free";
    /// Creation of every resource that has to be released: [`Class::Alloc`], handles of every kind,
    /// references, reservations and mappings.
    Create "create";
    /// Release of every resource: [`Class::Free`], `cuStreamDestroy`, `cuDevicePrimaryCtxRelease`,
    /// `cuMemUnmap`, `cuMemAddressFree`.
    Release "release";
    /// Copies, with a stream or without: `cuMemcpyHtoD`, `cuMemcpyAsync`, `cuMemcpy3DBatchAsync`.
    Copy "copy";
    /// Fills: `cuMemsetD8`, `cuMemsetD2D32Async`.
    Fill "fill";
    /// Memory pools and allocation in stream order: `cuMemPoolCreate`, `cuMemAllocAsync`, `cuMemFreeAsync`.
    Pool "pool";
    /// Virtual memory management: `cuMemCreate`, `cuMemAddressReserve`, `cuMemMap`, `cuMemSetAccess`.
    VirtualMemory "virtual-memory";
    /// Managed memory: `cuMemAllocManaged`, `cuMemPrefetchAsync`, `cuMemAdvise`.
    Managed "managed";
    /// Modules, libraries and the linker: `cuModuleLoadData`, `cuLibraryGetKernel`, `cuLinkAddData`.
    Module "module";
    /// Launching kernels, and their attributes: `cuLaunchKernel`, `cuFuncSetAttribute`.
    Launch "launch";
    /// Graphs: `cuGraphCreate`, `cuGraphLaunch`, `cuStreamBeginCapture`.
    Graph "graph";
}

/// A set of classes, one bit each.
#[derive(Clone, Copy)]
pub(super) struct Classes(u32);

const _: () = assert!(Class::ALL.len() <= u32::BITS as usize, "a bit for each class");

impl Classes {
    pub(super) const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < classes.len() {
            bits |= 1 << classes[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    pub(super) const fn contain(self, class: Class) -> bool {
        self.0 & (1 << class as u32) != 0
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
