//! Functions of the device runtime, in the place of `libcudadevrt.a`.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Mode, status_text};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUfunction, CUjitInputType, CUmodule, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

use crate::arguments;
use crate::support::{download, launch, upload, word};

/// A cubin that was linked with the device runtime, without its machine code.
fn linked(driver: &Driver) -> TestResult<CUmodule> {
    let words: Vec<u64> = include_bytes!("images/linked/runtime.cubin").chunks(8).map(word).collect();
    let mut module = null_mut();
    call!(driver.cuModuleLoadData(&mut module, words.as_ptr().cast()))?;
    Ok(module)
}

fn function(driver: &Driver, module: CUmodule, name: &str) -> TestResult<CUfunction> {
    let (name, mut function) = (CString::new(name)?, null_mut());
    call!(driver.cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    Ok(function)
}

/// PTX with a kernel `k` that calls a function for one number.
fn caller(name: &str) -> CString {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 status) {name}(.param .b64 into);\n\
         .visible .entry k(.param .u64 into) {{ .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [into];\n\
         {{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd; call (b), {name}, (a); ld.param.b32 %r, [b]; }}\n\
         st.global.u32 [%rd+4], %r; ret; }}\n"
    );
    CString::new(text).expect("a text without zeros")
}

/// An archive with one member, as NVIDIA's is.
fn archive() -> Vec<u8> {
    let names = b"cuda_device_runtime.o/\n\n";
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    [b"!<arch>\n", header("//", names.len()).as_bytes(), names, header("/0", 4).as_bytes(), b"\x7fELF"].concat()
}

/// PTX with a kernel `k` that copies the text that a function gives for an error.
fn copier(name: &str) -> CString {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 text) {name}(.param .b32 error);\n\
         .visible .entry k(.param .u64 into, .param .u32 error) {{ .reg .pred %p; .reg .b32 %r; .reg .b64 %to, %from;\n\
         ld.param.u64 %to, [into]; ld.param.u32 %r, [error];\n\
         {{ .param .b32 a; .param .b64 b; st.param.b32 [a], %r; call (b), {name}, (a); ld.param.b64 %from, [b]; }}\n\
         NEXT: ld.u8 %r, [%from]; st.global.u8 [%to], %r; add.s64 %from, %from, 1; add.s64 %to, %to, 1;\n\
         setp.ne.u32 %p, %r, 0; @%p bra NEXT; ret; }}\n"
    );
    CString::new(text).expect("a text without zeros")
}

/// The module of a kernel that calls a function, linked with the archive.
fn with_archive(driver: &Driver, text: &CString) -> TestResult<CUmodule> {
    let (archive, mut state) = (archive(), null_mut());
    call!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state))?;
    let pieces: [(CUjitInputType, &[u8]); 2] = [
        (CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes_with_nul()),
        (CUjitInputType::CU_JIT_INPUT_LIBRARY, &archive),
    ];
    for (kind, bytes) in pieces {
        let data = bytes.as_ptr().cast_mut().cast();
        call!(driver.cuLinkAddData_v2(state, kind, data, bytes.len(), c"piece".as_ptr(), 0, null_mut(), null_mut()))?;
    }
    let (mut image, mut module) = (null_mut(), null_mut());
    call!(driver.cuLinkComplete(state, &mut image, null_mut()))?;
    call!(driver.cuModuleLoadData(&mut module, image))?;
    call!(driver.cuLinkDestroy(state))?;
    Ok(module)
}

driver_tests! {
    sim fn kernels_ask_the_device_runtime_for_values(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = linked(driver)?;
        let into = upload(driver, &[u32::MAX; 26])?;
        launch(driver, function(driver, module, "runtime_values")?, (1, 1), null_mut(), &mut arguments!(into))?;
        let found = download(driver, into, 26)?;
        let longs: Vec<u64> = found.chunks(2).map(|two| u64::from(two[1]) << 32 | u64::from(two[0])).collect();
        assert_eq!(longs, [0, 0, 0, 1, 0, 132, 0, 1024, 0, 0, 0, 1, 0]);
        call!(driver.cuMemFree_v2(into))?;
        call!(driver.cuModuleUnload(module))?;
    }

    sim fn a_grid_synchronises_through_its_handle(driver) {
        const THREADS: usize = 256;
        let _primary = Primary::of(driver, 0)?;
        let module = linked(driver)?;
        let before: Vec<u32> = (0..THREADS as u32).collect();
        let (x, y) = (upload(driver, &before)?, upload(driver, &before)?);
        let (ranks, sizes) = (upload(driver, &[0; THREADS])?, upload(driver, &[0; THREADS])?);
        let (kernel, rounds) = (function(driver, module, "runtime_groups")?, 4_u32);
        let mut arguments = arguments!(x, y, rounds, ranks, sizes);
        call!(driver.cuLaunchCooperativeKernel(
            kernel, 2, 2, 1, 16, 2, 2, 0, null_mut(), arguments.as_mut_ptr()
        ))?;
        let mut expected = before.clone();
        for _ in 0..rounds {
            expected = (0..THREADS).map(|i| expected[i] + expected[(i + 1) % THREADS]).collect();
        }
        assert_eq!(download(driver, x, THREADS)?, expected);
        // The grid is number one.
        let ranked: Vec<u32> = (1..=THREADS as u32).collect();
        assert_eq!(download(driver, ranks, THREADS)?, ranked);
        assert_eq!(download(driver, sizes, THREADS)?, [THREADS as u32; THREADS]);
        for memory in [x, y, ranks, sizes] {
            call!(driver.cuMemFree_v2(memory))?;
        }
        call!(driver.cuModuleUnload(module))?;
    }

    sim fn the_device_runtime_is_linked_where_its_archive_is_added(driver) {
        let _primary = Primary::of(driver, 0)?;
        // The version is that of an H200.
        for (name, value) in [("cudaGetDevice", 0), ("cudaRuntimeGetVersion", 6000), ("__cudaCDP2RuntimeGetVersion", 6000)] {
            let module = with_archive(driver, &caller(name))?;
            let into = upload(driver, &[7; 2])?;
            launch(driver, function(driver, module, "k")?, (1, 1), null_mut(), &mut arguments!(into))?;
            assert_eq!(download(driver, into, 2)?, [value, 0], "{name}");
            call!(driver.cuMemFree_v2(into))?;
            call!(driver.cuModuleUnload(module))?;
        }
    }

    sim fn kernels_ask_for_names_and_descriptions_of_errors(driver) {
        let _primary = Primary::of(driver, 0)?;
        // Where the driver has the code, the description is the driver's.
        let of_driver = |code| status_text(CUresult(code)).and_then(|text| text.to_str().ok()).unwrap_or_default();
        let texts = [
            (0_u32, "cudaSuccess", of_driver(0)),
            (10, "unrecognized error code", "unrecognized error code"),
            (13, "cudaErrorInvalidSymbol", "no variable of the device has this symbol"),
            (102, "cudaErrorDeviceNotLicensed", of_driver(102)),
            (719, "cudaErrorLaunchFailure", of_driver(719)),
            (999, "cudaErrorUnknown", of_driver(999)),
            (1000, "unrecognized error code", "unrecognized error code"),
            (u32::MAX, "unrecognized error code", "unrecognized error code"),
        ];
        for (name, is_name) in [("cudaGetErrorName", true), ("__cudaCDP2GetErrorString", false)] {
            let module = with_archive(driver, &copier(name))?;
            let into = upload(driver, &[0; 16])?;
            for (error, error_name, description) in texts {
                launch(driver, function(driver, module, "k")?, (1, 1), null_mut(), &mut arguments!(into, error))?;
                let bytes: Vec<u8> = download(driver, into, 16)?.into_iter().flat_map(u32::to_le_bytes).collect();
                let found = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                let expected = if is_name { error_name } else { description };
                assert_eq!(String::from_utf8_lossy(found), expected, "{name} of {error}");
            }
            call!(driver.cuMemFree_v2(into))?;
            call!(driver.cuModuleUnload(module))?;
        }
    }

    fn functions_that_nothing_defines_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        for name in ["cudaGetDevice", "cudaCGGetIntrinsicHandle", "cudaGetParameterBufferV2", "cudaLaunchDeviceV2", "__nv_sinf"] {
            let mut module = null_mut();
            answers!(driver.cuModuleLoadData(&mut module, caller(name).as_ptr().cast()), CUDA_ERROR_INVALID_PTX);
        }
    }
}

#[test]
fn the_log_says_what_to_do_about_functions_of_device_libraries() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    for (name, remedy) in [
        ("cudaGetDevice", "libcudadevrt.a"),
        ("cudaLaunchDeviceV2", "launch it from the host"),
        ("__cudaCDP2GetParameterBufferV2", "launch it from the host"),
        ("cudaGraphLaunch", "not simulated"),
        ("__nv_sinf", "libdevice.10.bc"),
    ] {
        let mut module = null_mut();
        answers!(driver.cuModuleLoadData(&mut module, caller(name).as_ptr().cast()), CUDA_ERROR_INVALID_PTX);
        let reason = machine.log().pop().expect("it was refused").reason;
        assert!(reason.contains(name) && reason.contains(remedy), "{reason}");
    }
    Ok(())
}
