//! Libraries and their kernels, which need no context.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUfunction_attribute, CUlibrary};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::arguments;
use crate::support::{download, launch, memory, upload, vector};

fn load(driver: &Driver, text: &CString) -> TestResult<CUlibrary> {
    let mut library = null_mut();
    let image = text.as_ptr().cast();
    call!(driver.cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
    Ok(library)
}

driver_tests! {
    fn a_library_is_loaded_and_its_kernels_found_without_a_context(driver) {
        let library = load(driver, &vector())?;
        let (mut kernel, mut of, mut count, mut name) = (null_mut(), null_mut(), 0, null());
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"saxpy".as_ptr()))?;
        answers!(driver.cuLibraryGetKernel(&mut kernel, library, c"nowhere".as_ptr()), CUDA_ERROR_NOT_FOUND);
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"saxpy".as_ptr()))?;
        call!(driver.cuKernelGetLibrary(&mut of, kernel))?;
        assert_eq!(of, library);
        call!(driver.cuLibraryGetKernelCount(&mut count, library))?;
        assert_eq!(count, 16);
        call!(driver.cuKernelGetName(&mut name, kernel))?;
        // SAFETY: the driver gave a terminated text that lives as long as the library.
        #[expect(unsafe_code, reason = "reads a text of the driver's")]
        let name = unsafe { CStr::from_ptr(name) };
        assert_eq!(name, c"saxpy");
        call!(driver.cuLibraryUnload(library))?;
    }

    fn a_kernel_is_launched_as_a_function_or_as_itself(driver) {
        let _primary = Primary::of(driver, 0)?;
        let library = load(driver, &vector())?;
        let (mut kernel, mut function) = (null_mut(), null_mut());
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"add_u32".as_ptr()))?;
        call!(driver.cuKernelGetFunction(&mut function, kernel))?;
        let (n, a) = (32_u32, upload(driver, &[1; 32])?);
        launch(driver, function, (1, 32), null_mut(), &mut arguments!(a, a, a, n))?;
        launch(driver, kernel.cast(), (1, 32), null_mut(), &mut arguments!(a, a, a, n))?;
        assert_eq!(download(driver, a, 32)?, [4; 32]);
        call!(driver.cuMemFree_v2(a))?;
        call!(driver.cuLibraryUnload(library))?;
    }

    fn parameters_of_a_kernel_are_told_with_a_context_alone(driver) {
        let library = load(driver, &vector())?;
        let (mut kernel, mut offset, mut size) = (null_mut(), 9, 9);
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"saxpy".as_ptr()))?;
        answers!(driver.cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size), CUDA_ERROR_INVALID_CONTEXT);
        let primary = Primary::of(driver, 0)?;
        call!(driver.cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size))?;
        assert_eq!((offset, size), (8, 8));
        answers!(driver.cuKernelGetParamInfo(kernel, 4, &mut offset, &mut size), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuLibraryUnload(library))?;
        drop(primary);
    }

    fn variables_of_a_library_are_those_of_its_module(driver) {
        let _primary = Primary::of(driver, 0)?;
        let library = load(driver, &memory())?;
        let (mut module, mut there, mut here, mut bytes) = (null_mut(), 0, 0, 0);
        call!(driver.cuLibraryGetModule(&mut module, library))?;
        call!(driver.cuModuleGetGlobal_v2(&mut there, null_mut(), module, c"weights".as_ptr()))?;
        call!(driver.cuLibraryGetGlobal(&mut here, &mut bytes, library, c"weights".as_ptr()))?;
        assert_eq!(here, there);
        assert!(bytes > 0);
        call!(driver.cuLibraryUnload(library))?;
    }

    fn a_managed_variable_of_a_library_is_one_for_all_contexts(driver) {
        let text = CString::new(
            ".version 8.3\n.target sm_75\n.address_size 64
             .visible .global .attribute(.managed) .align 4 .u32 shared = 5;
             .visible .global .align 4 .u32 own = 6;
             .visible .entry bump() { .reg .b32 %r<3>; atom.global.add.u32 %r1, [shared], 1; atom.global.add.u32 %r2, [own], 1; ret; }",
        )?;
        let library = load(driver, &text)?;
        let managed = |name: &CStr| {
            let (mut address, mut bytes) = (0, 0);
            call!(driver.cuLibraryGetManaged(&mut address, &mut bytes, library, name.as_ptr())).map(|()| (address, bytes))
        };
        let global = |name: &CStr| {
            let (mut address, mut bytes) = (0, 0);
            call!(driver.cuLibraryGetGlobal(&mut address, &mut bytes, library, name.as_ptr())).map(|()| address)
        };
        let (address, bytes) = managed(c"shared")?;
        assert!(address != 0 && bytes == 4);
        let (mut nothing, mut context, mut kernel) = (0, null_mut(), null_mut());
        answers!(
            driver.cuLibraryGetManaged(&mut nothing, null_mut(), library, c"own".as_ptr()),
            CUDA_ERROR_NOT_FOUND
        );
        answers!(
            driver.cuLibraryGetGlobal(&mut nothing, null_mut(), library, c"shared".as_ptr()),
            CUDA_ERROR_INVALID_CONTEXT
        );
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"bump".as_ptr()))?;
        let primary = Primary::of(driver, 0)?;
        let own = global(c"own")?;
        launch(driver, kernel.cast(), (1, 1), null_mut(), &mut [])?;
        assert_eq!(download(driver, address, 1)?, [6]);
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        assert_eq!((managed(c"shared")?.0, global(c"shared")?), (address, address));
        assert_ne!(global(c"own")?, own);
        launch(driver, kernel.cast(), (1, 1), null_mut(), &mut [])?;
        assert_eq!((download(driver, address, 1)?, download(driver, global(c"own")?, 1)?), (vec![7], vec![7]));
        call!(driver.cuCtxDestroy_v2(context))?;
        assert_eq!((managed(c"shared")?.0, download(driver, address, 1)?), (address, vec![7]));
        call!(driver.cuLibraryUnload(library))?;
        drop(primary);
    }

    fn attributes_set_for_a_kernel_hold_for_its_function(driver) {
        let _primary = Primary::of(driver, 0)?;
        let library = load(driver, &memory())?;
        let (mut kernel, mut function, mut bytes) = (null_mut(), null_mut(), 0);
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"reverse_dynamic".as_ptr()))?;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(driver.cuKernelSetAttribute(attribute, 100_000, kernel, 0))?;
        call!(driver.cuKernelGetAttribute(&mut bytes, attribute, kernel, 0))?;
        assert_eq!(bytes, 100_000);
        call!(driver.cuKernelGetFunction(&mut function, kernel))?;
        call!(driver.cuFuncGetAttribute(&mut bytes, attribute, function))?;
        assert_eq!(bytes, 100_000);
        call!(driver.cuLibraryUnload(library))?;
    }
}
