//! Kernels with each of the calls around them failing.

use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::sys::types::CUjitInputType;
use warploom_testkit::{TestResult, call};

use crate::arguments;
use crate::support::{launch, memory, vector};

/// Links two texts, and destroys the linker in any case.
fn link(driver: &Driver) -> Result<(), Error> {
    let (mut state, mut module, mut image) = (null_mut(), null_mut(), null_mut());
    let mut run = || -> Result<(), Error> {
        call!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state))?;
        for text in [memory(), vector()] {
            let (data, size) = (text.as_ptr().cast_mut().cast(), text.as_bytes_with_nul().len());
            let (kind, name) = (CUjitInputType::CU_JIT_INPUT_PTX, c"text".as_ptr());
            call!(driver.cuLinkAddData_v2(state, kind, data, size, name, 0, null_mut(), null_mut()))?;
        }
        call!(driver.cuLinkComplete(state, &mut image, null_mut()))?;
        call!(driver.cuModuleLoadData(&mut module, image))
    };
    let outcome = run();
    if !module.is_null() {
        call!(driver.cuModuleUnload(module)).unwrap_or_default();
    }
    if !state.is_null() {
        call!(driver.cuLinkDestroy(state)).unwrap_or_default();
    }
    outcome
}

/// Loads code in every way, runs a kernel of two, and unloads all that was loaded.
fn scenario(_: &Machine, driver: &Driver) -> TestResult {
    let (mut context, mut module, mut library, mut y) = (null_mut(), null_mut(), null_mut(), 0);
    call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
    let (text, add) = (memory(), 1_i32);
    let image = text.as_ptr().cast();
    let mut run = || -> Result<(), Error> {
        call!(driver.cuMemAlloc_v2(&mut y, 64))?;
        call!(driver.cuModuleLoadData(&mut module, image))?;
        call!(driver.cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
        let (mut function, mut kernel, mut result) = (null_mut(), null_mut(), [0_u64; 1]);
        call!(driver.cuModuleGetFunction(&mut function, module, c"count_calls".as_ptr()))?;
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"count_calls".as_ptr()))?;
        launch(driver, function, (1, 1), null_mut(), &mut arguments!(y, add))?;
        launch(driver, kernel.cast(), (1, 1), null_mut(), &mut arguments!(y, add))?;
        call!(driver.cuCtxSynchronize())?;
        link(driver)?;
        call!(driver.cuMemcpyDtoH_v2(result.as_mut_ptr().cast(), y, 8))
    };
    let outcome = run();
    if !library.is_null() {
        call!(driver.cuLibraryUnload(library)).unwrap_or_default();
    }
    if !module.is_null() {
        call!(driver.cuModuleUnload(module)).unwrap_or_default();
    }
    call!(driver.cuMemFree_v2(y)).unwrap_or_default();
    call!(driver.cuCtxDestroy_v2(context)).unwrap_or_default();
    Ok(outcome?)
}

#[test]
fn nothing_is_left_when_a_call_around_a_kernel_fails() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy)] {
        Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true).run(scenario);
    }
    Ok(())
}
