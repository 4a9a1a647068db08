//! Kinds of functions, for rules that mean all of a kind.

use warploom_sys::Function;

use super::error::FaultError;
use crate::topology::nearest;

macro_rules! classes {
    ($($(#[$meta:meta])* $class:ident $name:literal;)*) => {
        /// A kind of driver functions. A function may be of several: `cuMemAllocAsync` is of [`Class::Alloc`],
        /// [`Class::Create`] and [`Class::Pool`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$meta])* $class,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &[Class] = &[$(Class::$class),*];

            /// Its name in a plan that is written as TOML.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}
classes! {
    /// Starting up, versions, error texts and finding functions: `cuInit`, `cuGetProcAddress`, `cuGetErrorName`.
    Init "init";
    /// What devices there are and what they are like: `cuDeviceGet`, `cuDeviceGetAttribute`.
    Device "device";
    /// Contexts, primary ones too, and what is current: `cuCtxCreate`, `cuDevicePrimaryCtxRetain`, `cuCtxSetCurrent`.
    Context "context";
    /// Access between devices: `cuCtxEnablePeerAccess`, `cuDeviceCanAccessPeer`.
    Peer "peer";
    /// Streams and what is enqueued on them by stream functions: `cuStreamCreate`, `cuStreamWaitEvent`, `cuLaunchHostFunc`.
    Stream "stream";
    /// Events: `cuEventCreate`, `cuEventRecord`, `cuEventQuery`.
    Event "event";
    /// Waiting on the host: `cuCtxSynchronize`, `cuStreamSynchronize`, `cuEventSynchronize`.
    Sync "sync";
    /// Asking without changing anything, outside [`Class::Init`]: `cuStreamQuery`, `cuMemGetInfo`, `cuDeviceGetName`.
    Query "query";
    /// Taking memory, of a device or of the host: `cuMemAlloc`, `cuMemAllocAsync`, `cuMemHostAlloc`, `cuMemHostRegister`,
    /// `cuMemCreate`, arrays.
    Alloc "alloc";
    /// Giving memory back: `cuMemFree`, `cuMemFreeAsync`, `cuMemFreeHost`, `cuMemHostUnregister`, `cuMemRelease`, arrays.
    Free "free";
    /// Whatever gives out something that has to be given back: [`Class::Alloc`], handles of every kind, references,
    /// reservations and mappings.
    Create "create";
    /// Whatever gives something back: [`Class::Free`], `cuStreamDestroy`, `cuDevicePrimaryCtxRelease`, `cuMemUnmap`,
    /// `cuMemAddressFree`.
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
    /// Launching kernels, and what is asked of them: `cuLaunchKernel`, `cuFuncSetAttribute`.
    Launch "launch";
    /// Graphs: `cuGraphCreate`, `cuGraphLaunch`, `cuStreamBeginCapture`.
    Graph "graph";
}

impl Class {
    /// Whether a function is of this kind.
    #[must_use]
    pub fn contains(self, function: Function) -> bool {
        let (family, name) = (function.family(), function.base_name());
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        match self {
            Class::Init => family == "init",
            Class::Device => family == "device",
            Class::Context => matches!(family, "context" | "primary"),
            Class::Peer => family == "peer",
            Class::Stream => family == "stream",
            Class::Event => family == "event",
            Class::Sync => has(&["Synchronize"]),
            Class::Query => {
                let asks =
                    has(&["Get", "Query", "CanAccess", "TotalMem", "ComputeCapability", "Elapsed", "IsCapturing"]);
                asks && family != "init"
            }
            Class::Alloc => starts(&[
                "cuMemAlloc",
                "cuMemHostAlloc",
                "cuMemHostRegister",
                "cuMemCreate",
                "cuArrayCreate",
                "cuArray3DCreate",
                "cuMipmappedArrayCreate",
            ]),
            Class::Free => starts(&[
                "cuMemFree",
                "cuMemHostUnregister",
                "cuMemRelease",
                "cuArrayDestroy",
                "cuMipmappedArrayDestroy",
            ]),
            Class::Create => {
                let gives = has(&["Create", "Retain", "AddressReserve", "Load", "Import", "IpcOpen", "Attach"])
                    && !has(&["AttachMem", "LoadingMode", "Get"]);
                gives || starts(&["cuMemMap"]) || Class::Alloc.contains(function)
            }
            Class::Release => {
                let takes = ["Destroy", "Release", "AddressFree", "Unmap", "Unload", "IpcClose", "Detach"];
                has(&takes) && !has(&["Node"]) || Class::Free.contains(function)
            }
            Class::Copy => family == "copy",
            Class::Fill => family == "fill",
            Class::Pool => family == "pool",
            Class::VirtualMemory => family == "vmm",
            Class::Managed => family == "managed" || name == "cuMemAllocManaged",
            Class::Module => matches!(family, "library" | "link"),
            Class::Launch => family == "launch",
            Class::Graph => family == "graph",
        }
    }

    /// Every function of this kind.
    pub fn functions(self) -> impl Iterator<Item = Function> {
        Function::ALL.iter().copied().filter(move |function| self.contains(*function))
    }

    /// The class with this name, such as `virtual-memory`.
    pub fn by_name(name: &str) -> Result<Class, FaultError> {
        Class::ALL.iter().copied().find(|class| class.name() == name).ok_or_else(|| FaultError::UnknownClass {
            name: name.to_owned(),
            nearest: nearest(name, Class::ALL.iter().map(|class| class.name())),
            known: Class::ALL.iter().map(|class| class.name()).collect(),
        })
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use Function::*;

    use super::*;

    #[test]
    fn no_class_is_empty_and_each_is_found_by_its_name() {
        for class in Class::ALL {
            assert!(class.functions().next().is_some(), "{class}");
            assert_eq!(Class::by_name(class.name()), Ok(*class));
        }
    }

    #[test]
    fn classes_hold_what_they_say() {
        let samples: &[(Class, &[Function], &[Function])] = &[
            (Class::Init, &[cuInit, cuGetProcAddress_v2, cuGetErrorName], &[cuDeviceGet, cuMemAlloc_v2]),
            (Class::Device, &[cuDeviceGet, cuDeviceGetAttribute], &[cuDevicePrimaryCtxRetain, cuDeviceGetMemPool]),
            (Class::Context, &[cuCtxCreate_v4, cuDevicePrimaryCtxRetain, cuCtxSetCurrent], &[cuStreamGetCtx]),
            (Class::Peer, &[cuCtxEnablePeerAccess, cuDeviceCanAccessPeer], &[cuMemcpyPeer]),
            (Class::Stream, &[cuStreamCreate, cuStreamWaitEvent, cuLaunchHostFunc], &[cuEventRecord]),
            (Class::Event, &[cuEventCreate, cuEventRecord, cuEventQuery], &[cuStreamWaitEvent]),
            (Class::Sync, &[cuCtxSynchronize, cuStreamSynchronize, cuEventSynchronize], &[cuStreamQuery, cuMemcpy]),
            (Class::Query, &[cuStreamQuery, cuMemGetInfo_v2, cuDeviceGetName], &[cuGetErrorName, cuCtxSetCurrent]),
            (
                Class::Alloc,
                &[cuMemAlloc_v2, cuMemAllocAsync, cuMemHostAlloc, cuMemHostRegister_v2, cuMemCreate, cuArrayCreate_v2],
                &[cuMemAddressReserve, cuMemPoolCreate, cuMemGetAllocationGranularity],
            ),
            (
                Class::Free,
                &[cuMemFree_v2, cuMemFreeAsync, cuMemFreeHost, cuMemHostUnregister, cuMemRelease, cuArrayDestroy],
                &[cuMemAddressFree, cuMemPoolDestroy, cuStreamDestroy_v2],
            ),
            (
                Class::Create,
                &[cuMemAlloc_v2, cuStreamCreate, cuDevicePrimaryCtxRetain, cuMemAddressReserve, cuMemMap, cuCtxAttach],
                &[cuStreamAttachMemAsync, cuModuleGetLoadingMode, cuStreamDestroy_v2, cuMemcpy],
            ),
            (
                Class::Release,
                &[cuMemFreeAsync, cuStreamDestroy_v2, cuDevicePrimaryCtxRelease_v2, cuMemUnmap, cuMemAddressFree],
                &[cuMemAlloc_v2, cuGraphAddMemFreeNode, cuDevicePrimaryCtxReset_v2],
            ),
            (Class::Copy, &[cuMemcpyHtoD_v2, cuMemcpyAsync, cuMemcpy3DBatchAsync], &[cuMemsetD8_v2]),
            (Class::Fill, &[cuMemsetD8_v2, cuMemsetD2D32Async], &[cuMemcpy]),
            (Class::Pool, &[cuMemPoolCreate, cuMemAllocAsync, cuMemFreeAsync], &[cuMemAlloc_v2]),
            (Class::VirtualMemory, &[cuMemCreate, cuMemAddressReserve, cuMemMap, cuMemSetAccess], &[cuMemAlloc_v2]),
            (
                Class::Managed,
                &[cuMemAllocManaged, cuMemPrefetchAsync, cuMemAdvise, cuMemDiscardBatchAsync],
                &[cuMemAlloc_v2],
            ),
            (Class::Module, &[cuModuleLoadData, cuLibraryGetKernel, cuLinkAddData_v2], &[cuLaunchKernel]),
            (Class::Launch, &[cuLaunchKernel, cuFuncSetAttribute], &[cuGraphLaunch, cuLaunchHostFunc]),
            (Class::Graph, &[cuGraphCreate, cuGraphLaunch, cuStreamBeginCapture_v2], &[cuLaunchKernel]),
        ];
        assert_eq!(samples.len(), Class::ALL.len(), "every class has samples");
        for (class, inside, outside) in samples {
            for function in *inside {
                assert!(class.contains(*function), "{function} is {class}");
            }
            for function in *outside {
                assert!(!class.contains(*function), "{function} is not {class}");
            }
        }
    }

    #[test]
    fn what_is_created_and_what_is_released_do_not_overlap() {
        for function in Function::ALL {
            assert!(!(Class::Create.contains(*function) && Class::Release.contains(*function)), "{function}");
        }
    }

    #[test]
    fn an_unknown_class_offers_the_nearest() {
        let error = Class::by_name("aloc").expect_err("there is no such class").to_string();
        assert!(error.contains("did you mean \"alloc\"?"), "{error}");
    }
}
