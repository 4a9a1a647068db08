//! Null handles and null outputs of functions about code.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{CUfunction_attribute, CUfunctionLoadingState};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{Rig, TEXT};

const THREADS: CUfunction_attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;

driver_tests! {
    fn a_null_function_is_an_invalid_value_where_its_name_is_asked_for(driver) {
        let rig = Rig::new(driver)?;
        let (mut name, mut module, mut offset, mut size, mut state) = (null(), null_mut(), 0, 0, CUfunctionLoadingState(0));
        let (mut value, function) = (0, rig.function(c"shape")?);
        answers!(driver.cuFuncGetName(&mut name, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncGetModule(&mut module, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncGetParamInfo(null_mut(), 0, &mut offset, &mut size), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncGetName(null_mut(), function), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncGetModule(null_mut(), function), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncGetParamInfo(function, 0, null_mut(), &mut size), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuFuncGetParamInfo(function, 1, &mut offset, null_mut()))?;
        assert_eq!(offset, 8);
        answers!(driver.cuFuncIsLoaded(&mut state, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuFuncLoad(null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuFuncGetAttribute(&mut value, THREADS, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        rig.close()?;
    }

    fn a_null_kernel_is_an_invalid_value_where_its_name_is_asked_for(driver) {
        let rig = Rig::new(driver)?;
        let (mut library, mut kernel) = (null_mut(), null_mut());
        let text = TEXT.as_ptr().cast();
        call!(driver.cuLibraryLoadData(&mut library, text, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"shape".as_ptr()))?;
        let (mut name, mut owner, mut offset, mut size) = (null(), null_mut(), 0, 0);
        let (mut function, mut value) = (null_mut(), 0);
        answers!(driver.cuKernelGetName(&mut name, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetName(null_mut(), kernel), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetParamInfo(null_mut(), 0, &mut offset, &mut size), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetLibrary(&mut owner, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuKernelGetLibrary(null_mut(), kernel), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetFunction(&mut function, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuKernelGetFunction(null_mut(), kernel), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetAttribute(null_mut(), THREADS, null_mut(), 0), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuKernelGetAttribute(null_mut(), THREADS, kernel, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetAttribute(&mut value, THREADS, null_mut(), 0), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuKernelGetParamInfo(kernel, 0, null_mut(), &mut size), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuKernelGetParamInfo(kernel, 0, &mut offset, &mut size), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuCtxSetCurrent(rig.context))?;
        call!(driver.cuLibraryUnload(library))?;
        rig.close()?;
    }

    fn a_module_or_library_is_looked_at_before_its_other_arguments(driver) {
        let rig = Rig::new(driver)?;
        let (mut library, mut function, mut address, mut size) = (null_mut(), null_mut(), 0, 0);
        let (mut count, mut pointer) = (0, null_mut());
        let text = TEXT.as_ptr().cast();
        call!(driver.cuLibraryLoadData(&mut library, text, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
        answers!(driver.cuModuleGetFunction(null_mut(), null_mut(), null()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuModuleGetFunction(&mut function, rig.module, null()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuModuleGetGlobal_v2(&mut address, &mut size, null_mut(), null()), CUDA_ERROR_INVALID_HANDLE);
        let absent = c"absent".as_ptr();
        answers!(driver.cuModuleGetGlobal_v2(null_mut(), null_mut(), rig.module, absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuModuleGetGlobal_v2(&mut address, null_mut(), rig.module, absent), CUDA_ERROR_NOT_FOUND);
        answers!(driver.cuLibraryGetGlobal(null_mut(), null_mut(), library, absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLibraryGetGlobal(null_mut(), null_mut(), null_mut(), absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLibraryGetManaged(null_mut(), null_mut(), library, absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLibraryGetManaged(&mut address, null_mut(), null_mut(), absent), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLibraryGetKernelCount(&mut count, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLibraryGetUnifiedFunction(&mut pointer, null_mut(), absent), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLibraryGetUnifiedFunction(null_mut(), library, absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLibraryGetUnifiedFunction(&mut pointer, library, absent), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuModuleUnload(null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLibraryUnload(null_mut()), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuLibraryUnload(library))?;
        rig.close()?;
    }
}
