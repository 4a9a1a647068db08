//! Classes of functions in fault plans: finding one by its name.

use super::error::FaultError;
use crate::rules::Class;
use crate::topology::nearest;

impl Class {
    /// The class with this name, such as `virtual-memory`.
    pub fn by_name(name: &str) -> Result<Class, FaultError> {
        Class::ALL.iter().copied().find(|class| class.name() == name).ok_or_else(|| FaultError::UnknownClass {
            name: name.to_owned(),
            nearest: nearest(name, Class::ALL.iter().map(|class| class.name())),
            known: Class::ALL.iter().map(|class| class.name()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use Function::*;
    use warploom_sys::Function;

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
    fn creating_and_releasing_functions_do_not_overlap() {
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
