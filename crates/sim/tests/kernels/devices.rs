//! Kernels on machines with several devices.

use std::ptr::null_mut;

use warploom_sim::Residence;
use warploom_sim::topology::Topology;
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUcontext, CUkernel, CUlibrary, CUresult};
use warploom_testkit::{TestResult, call, code_of, modes, open};

use crate::arguments;
use crate::support::{download, launch, memory, system, upload};

fn contexts(driver: &Driver) -> TestResult<[CUcontext; 2]> {
    let mut contexts = [null_mut(); 2];
    for (device, context) in contexts.iter_mut().enumerate() {
        call!(driver.cuDevicePrimaryCtxRetain(context, device as i32))?;
    }
    Ok(contexts)
}

fn kernel(driver: &Driver, text: &std::ffi::CString, name: &std::ffi::CStr) -> TestResult<(CUlibrary, CUkernel)> {
    let (mut library, mut kernel, image) = (null_mut(), null_mut(), text.as_ptr().cast());
    call!(driver.cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
    call!(driver.cuLibraryGetKernel(&mut kernel, library, name.as_ptr()))?;
    Ok((library, kernel))
}

#[test]
fn memory_of_another_device_is_reached_with_peer_access_alone() -> TestResult {
    for (mode, enabled) in modes(1).flat_map(|mode| [(mode, false), (mode, true)]) {
        let (_machine, driver) = open(Topology::preset("pcie-pair")?, mode)?;
        let driver = &driver;
        let [first, second] = contexts(driver)?;
        let (_library, read) = kernel(driver, &system(), c"read_anywhere")?;
        call!(driver.cuCtxSetCurrent(first))?;
        let there = upload(driver, &[7, 8])?;
        call!(driver.cuCtxSetCurrent(second))?;
        let (here, offset) = (upload(driver, &[0])?, 1_i64);
        if enabled {
            call!(driver.cuCtxEnablePeerAccess(first, 0))?;
        }
        drop(launch(driver, read.cast(), (1, 1), null_mut(), &mut arguments!(there, offset, here)));
        let expected = if enabled { CUresult::CUDA_SUCCESS } else { CUresult::CUDA_ERROR_ILLEGAL_ADDRESS };
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), expected, "in mode {mode:?}");
        if enabled {
            assert_eq!(download(driver, here, 1)?, [8]);
        }
    }
    Ok(())
}

#[test]
fn each_context_has_the_variables_of_a_library_for_itself() -> TestResult {
    for mode in modes(1) {
        let (_machine, driver) = open(Topology::preset("pcie-pair")?, mode)?;
        let driver = &driver;
        let (library, count) = kernel(driver, &memory(), c"count_calls")?;
        let mut variables = Vec::new();
        for (context, calls) in contexts(driver)?.into_iter().zip([3_u32, 1]) {
            call!(driver.cuCtxSetCurrent(context))?;
            let (y, add, mut counter) = (upload(driver, &[0, 0])?, 1_i32, 0);
            for _ in 0..calls {
                launch(driver, count.cast(), (1, 1), null_mut(), &mut arguments!(y, add))?;
            }
            assert_eq!(download(driver, y, 1)?, [calls - 1]);
            call!(driver.cuLibraryGetGlobal(&mut counter, null_mut(), library, c"counter".as_ptr()))?;
            assert_eq!(download(driver, counter, 1)?, [calls]);
            variables.push(counter);
        }
        assert_ne!(variables[0], variables[1]);
        call!(driver.cuLibraryUnload(library))?;
    }
    Ok(())
}

#[test]
fn a_module_goes_with_its_context_and_a_library_stays() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, warploom_sim::Mode::Sync)?;
    let driver = &driver;
    let (library, count) = kernel(driver, &memory(), c"count_calls")?;
    let before = machine.census();
    let (mut context, mut module, text) = (null_mut(), null_mut(), memory());
    call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
    call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    let (y, add) = (upload(driver, &[0, 0])?, 1_i32);
    launch(driver, count.cast(), (1, 1), null_mut(), &mut arguments!(y, add))?;
    call!(driver.cuMemFree_v2(y))?;
    call!(driver.cuCtxDestroy_v2(context))?;
    let change = machine.census().since(&before);
    assert_eq!(change.to_string(), "1 module gone with its context");
    assert_eq!(code_of(call!(driver.cuModuleUnload(module))), CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    call!(driver.cuLibraryUnload(library))?;
    Ok(())
}

#[test]
fn managed_pages_go_to_the_device_whose_kernel_touches_them() -> TestResult {
    for mode in modes(1) {
        let (machine, driver) = open(Topology::preset("pcie-pair")?, mode)?;
        let driver = &driver;
        let (_library, read) = kernel(driver, &system(), c"read_anywhere")?;
        let [_, second] = contexts(driver)?;
        call!(driver.cuCtxSetCurrent(second))?;
        let (mut managed, offset, y) = (0, 0_i64, upload(driver, &[0])?);
        call!(driver.cuMemAllocManaged(&mut managed, 8192, 1))?;
        launch(driver, read.cast(), (1, 1), null_mut(), &mut arguments!(managed, offset, y))?;
        call!(driver.cuCtxSynchronize())?;
        let there = [managed, managed + 4096].map(|address| machine.residency(address).unwrap_or_default());
        assert!(there[0].contains(&Residence::Device(1)), "in mode {mode:?}: {there:?}");
        assert!(!there[1].contains(&Residence::Device(1)), "in mode {mode:?}: {there:?}");
    }
    Ok(())
}
