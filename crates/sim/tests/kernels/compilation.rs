//! Compilation of libraries and linked code: the calls that answer its errors, and bounds on registers.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::fmt::Write;
use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUfunction_attribute, CUjit_option, CUjitInputType, CUlibrary};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

const GOOD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 g;
.visible .entry k() {\nret;\n}\n";

/// Loads a text as a library. Returns the compiler's log, too.
fn load(driver: &Driver, text: &str) -> TestResult<(CUlibrary, String)> {
    let (text, mut log, mut library) = (CString::new(text)?, [0_u8; 1024], null_mut());
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), without_provenance_mut(log.len())];
    let (names, values) = (options.as_mut_ptr(), values.as_mut_ptr());
    call!(driver.cuLibraryLoadData(&mut library, text.as_ptr().cast(), names, values, 2, null_mut(), null_mut(), 0))?;
    Ok((library, CStr::from_bytes_until_nul(&log)?.to_str()?.to_owned()))
}

/// PTX with a kernel `k` that has more than sixty values at once.
fn heavy() -> TestResult<CString> {
    let mut text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .b64 a; .reg .f32 f<65>;\nld.param.u64 a, [p];\n"
        .to_owned();
    for value in 0..64 {
        writeln!(text, "ld.volatile.global.f32 f{value}, [a+{}];", 4 * value)?;
    }
    for value in 0..64 {
        let (second, third) = ((value * 7 + 1) % 64, (value * 3 + 5) % 64);
        writeln!(text, "fma.rn.f32 f{value}, f{value}, f{second}, f{third};")?;
    }
    for value in 0..64 {
        writeln!(text, "st.volatile.global.f32 [a+{}], f{value};", 4 * value)?;
    }
    Ok(CString::new(text + "ret;\n}\n")?)
}

/// Bounds on the registers of a thread: of a linker, of its input, of the load of its image. None is 0.
#[derive(Clone, Copy, Default)]
struct Limits {
    create: usize,
    add: usize,
    load: usize,
}

/// Registers of the kernel, linked and loaded with some bounds.
fn registers(driver: &Driver, limits: Limits) -> TestResult<i32> {
    let mut name = [CUjit_option::CU_JIT_MAX_REGISTERS];
    let names = name.as_mut_ptr();
    let count = |limit: usize| c_uint::from(limit != 0);
    let [mut create, mut add, mut load] =
        [limits.create, limits.add, limits.load].map(without_provenance_mut::<c_void>);
    let (text, mut state, mut image) = (heavy()?, null_mut(), null_mut());
    call!(driver.cuLinkCreate_v2(count(limits.create), names, &mut create, &mut state))?;
    let bytes = text.as_bytes_with_nul();
    call!(driver.cuLinkAddData_v2(
        state,
        CUjitInputType::CU_JIT_INPUT_PTX,
        bytes.as_ptr().cast_mut().cast(),
        bytes.len(),
        c"heavy".as_ptr(),
        count(limits.add),
        names,
        &mut add
    ))?;
    call!(driver.cuLinkComplete(state, &mut image, null_mut()))?;
    let (mut module, mut function, mut registers) = (null_mut(), null_mut(), 0);
    call!(driver.cuModuleLoadDataEx(&mut module, image, count(limits.load), names, &mut load))?;
    call!(driver.cuLinkDestroy(state))?;
    call!(driver.cuModuleGetFunction(&mut function, module, c"k".as_ptr()))?;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
    call!(driver.cuFuncGetAttribute(&mut registers, attribute, function))?;
    call!(driver.cuModuleUnload(module))?;
    Ok(registers)
}

driver_tests! {
    fn a_library_that_cannot_be_compiled_is_loaded_and_its_log_written(driver) {
        let (library, log) = load(driver, &GOOD.replace("ret;", "nothing.u32 x;"))?;
        assert!(log.starts_with("ptxas application ptx input, line 6; error"), "{log}");
        let (mut kernel, mut count, mut address) = (null_mut(), 7, 0);
        for _ in 0..2 {
            answers!(driver.cuLibraryGetKernel(&mut kernel, library, c"k".as_ptr()), CUDA_ERROR_INVALID_PTX);
        }
        call!(driver.cuLibraryGetKernelCount(&mut count, library))?;
        assert_eq!(count, 0);
        call!(driver.cuLibraryEnumerateKernels(&mut kernel, 1, library))?;
        assert!(kernel.is_null());
        let name = c"g".as_ptr();
        answers!(driver.cuLibraryGetManaged(&mut address, null_mut(), library, name), CUDA_ERROR_INVALID_PTX);
        answers!(driver.cuLibraryGetGlobal(&mut address, null_mut(), library, name), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuLibraryGetModule(&mut null_mut(), library), CUDA_ERROR_INVALID_CONTEXT);
        let _primary = Primary::of(driver, 0)?;
        answers!(driver.cuLibraryGetGlobal(&mut address, null_mut(), library, name), CUDA_ERROR_INVALID_PTX);
        answers!(driver.cuLibraryGetModule(&mut null_mut(), library), CUDA_ERROR_INVALID_PTX);
        call!(driver.cuLibraryUnload(library))?;
    }

    fn a_library_of_any_text_is_loaded(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut kernel = null_mut();
        for text in ["this is no image", ""] {
            let (library, log) = load(driver, text)?;
            assert!(!log.is_empty());
            answers!(driver.cuLibraryGetKernel(&mut kernel, library, c"k".as_ptr()), CUDA_ERROR_INVALID_IMAGE);
            answers!(driver.cuLibraryGetModule(&mut null_mut(), library), CUDA_ERROR_INVALID_IMAGE);
            call!(driver.cuLibraryUnload(library))?;
        }
        let (library, log) = load(driver, &GOOD.replace("8.0", "99.9"))?;
        assert!(log.contains("99.9"), "{log}");
        answers!(
            driver.cuLibraryGetKernel(&mut kernel, library, c"k".as_ptr()),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        );
        call!(driver.cuLibraryUnload(library))?;
        let (library, log) = load(driver, GOOD)?;
        assert_eq!(log, "");
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"k".as_ptr()))?;
        call!(driver.cuLibraryUnload(library))?;
    }

    fn a_bound_of_a_linker_or_its_input_reaches_the_image(driver) {
        let _primary = Primary::of(driver, 0)?;
        let none = Limits::default();
        let unbounded = registers(driver, none)?;
        assert!(unbounded > 48, "{unbounded}");
        assert_eq!(registers(driver, Limits { create: 24, ..none })?, 24);
        assert_eq!(registers(driver, Limits { add: 32, ..none })?, 32);
        // Machine code keeps its registers.
        assert_eq!(registers(driver, Limits { load: 24, ..none })?, unbounded);
    }
}
