//! Modules, their functions and their variables.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::CUjit_option;
use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, memory, upload, vector};

driver_tests! {
    fn functions_are_found_by_name_and_counted(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let (saxpy, again) = (module.function("saxpy")?, module.function("saxpy")?);
        assert!(!saxpy.is_null() && saxpy == again);
        let mut count = 0;
        call!(driver.cuModuleGetFunctionCount(&mut count, module.handle))?;
        assert_eq!(count, 16);
        let mut all = vec![null_mut(); 16];
        call!(driver.cuModuleEnumerateFunctions(all.as_mut_ptr(), 16, module.handle))?;
        assert!(all.contains(&saxpy) && !all.contains(&null_mut()));
        let mut function = null_mut();
        answers!(
            driver.cuModuleGetFunction(&mut function, module.handle, c"nowhere".as_ptr()),
            CUDA_ERROR_NOT_FOUND
        );
        let (mut name, mut of) = (null(), null_mut());
        call!(driver.cuFuncGetName(&mut name, saxpy))?;
        // SAFETY: the driver gave a terminated text that lives as long as the module.
        #[expect(unsafe_code, reason = "reads a text of the driver's")]
        let name = unsafe { CStr::from_ptr(name) };
        assert_eq!(name, c"saxpy");
        call!(driver.cuFuncGetModule(&mut of, saxpy))?;
        assert_eq!(of, module.handle);
    }

    fn parameters_are_where_the_abi_puts_them(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let saxpy = module.function("saxpy")?;
        let mut found = Vec::new();
        for index in 0..4 {
            let (mut offset, mut size) = (0, 0);
            call!(driver.cuFuncGetParamInfo(saxpy, index, &mut offset, &mut size))?;
            found.push((offset, size));
        }
        assert_eq!(found, [(0, 4), (8, 8), (16, 8), (24, 4)]);
        let mut offset = 0;
        answers!(driver.cuFuncGetParamInfo(saxpy, 4, &mut offset, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    fn variables_have_their_first_values_and_keep_new_ones(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &memory())?;
        let (weights, bytes) = module.variable("weights")?;
        assert!(weights != 0 && bytes >= 4);
        let count_calls = module.function("count_calls")?;
        let y = upload(driver, &[9, 9])?;
        let add = 5_i32;
        launch(driver, count_calls, (1, 1), null_mut(), &mut arguments!(y, add))?;
        let first = download(driver, y, 2)?;
        launch(driver, count_calls, (1, 1), null_mut(), &mut arguments!(y, add))?;
        assert_ne!(download(driver, y, 2)?, first, "the counter has moved on");
        let mut address = 0;
        answers!(
            driver.cuModuleGetGlobal_v2(&mut address, null_mut(), module.handle, c"nowhere".as_ptr()),
            CUDA_ERROR_NOT_FOUND
        );
        call!(driver.cuMemFree_v2(y))?;
    }

    fn a_module_needs_a_context(driver) {
        let (text, mut module) = (vector(), null_mut());
        answers!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()), CUDA_ERROR_INVALID_CONTEXT);
    }

    fn mistakes_in_a_text_are_refused_and_written_to_the_log(driver) {
        let _primary = Primary::of(driver, 0)?;
        let text = CString::new(".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry f() {\n  no such;\n}\n")?;
        let mut log = vec![1_u8; 512];
        let mut options =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(512)];
        let mut module = null_mut();
        answers!(
            driver.cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr()
            ),
            CUDA_ERROR_INVALID_PTX
        );
        let log = CStr::from_bytes_until_nul(&log)?.to_str()?;
        assert!(log.starts_with("ptxas application ptx input, line 5; error   : "), "{log}");
        assert!(log.ends_with("\nptxas fatal   : Ptx assembly aborted due to errors"), "{log}");
        assert_eq!(values[1].addr(), log.len(), "{log:?}");
    }

    fn a_function_that_is_nowhere_is_named_and_a_variable_that_is_nowhere_is_made(driver) {
        let _primary = Primary::of(driver, 0)?;
        let header = ".version 8.3\n.target sm_75\n.address_size 64\n.extern .global .align 4 .u32 counter;\n";
        let function = format!("{header}.extern .func nobody();\n.visible .entry f() {{ call nobody; ret; }}\n");
        let mut log = vec![1_u8; 512];
        let mut options =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(512)];
        let (text, mut module) = (CString::new(function)?, null_mut());
        answers!(
            driver.cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr()
            ),
            CUDA_ERROR_INVALID_PTX
        );
        let log = CStr::from_bytes_until_nul(&log)?.to_str()?;
        assert_eq!(log, "ptxas fatal   : Unresolved extern function 'nobody'");
        let variable = format!("{header}.visible .entry f() {{ .reg .b32 %r<2>; ld.global.u32 %r1, [counter]; ret; }}\n");
        let module = Module::load(driver, &CString::new(variable)?)?;
        launch(driver, module.function("f")?, (1, 1), null_mut(), &mut [])?;
        call!(driver.cuCtxSynchronize())?;
    }

    fn code_newer_than_driver_or_device_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut module = null_mut();
        let future = c".version 99.0\n.target sm_75\n.address_size 64\n";
        answers!(
            driver.cuModuleLoadData(&mut module, future.as_ptr().cast()),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        );
        let other = c".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry f() { ret; }\n";
        answers!(driver.cuModuleLoadData(&mut module, other.as_ptr().cast()), CUDA_ERROR_INVALID_PTX);
        answers!(driver.cuModuleLoadData(&mut module, c"hello".as_ptr().cast()), CUDA_ERROR_INVALID_IMAGE);
        answers!(driver.cuModuleLoad(&mut module, c"/no/such/file".as_ptr()), CUDA_ERROR_FILE_NOT_FOUND);
        answers!(driver.cuModuleLoadData(&mut module, null()), CUDA_ERROR_INVALID_VALUE);
    }

    sim fn an_unloaded_module_and_its_functions_are_gone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut module = null_mut();
        let (text, mut function) = (vector(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"saxpy".as_ptr()))?;
        call!(driver.cuModuleUnload(module))?;
        answers!(driver.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
        answers!(
            driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()),
            CUDA_ERROR_INVALID_HANDLE
        );
    }
}
