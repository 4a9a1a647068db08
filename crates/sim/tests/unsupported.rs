//! What is not simulated says so, by name.

use std::ptr::null_mut;

use warploom_driver::Function;
use warploom_sim::topology::Topology;
use warploom_sim::{LogKind, Mode};
use warploom_testkit::{Primary, TestResult, answers, open};

#[test]
fn families_that_are_not_simulated_answer_so_and_are_named_in_the_log() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (mut module, mut library, mut graph) = (null_mut(), null_mut(), null_mut());
    let text = c".version 8.0";
    answers!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()), CUDA_ERROR_NOT_SUPPORTED);
    answers!(
        driver.cuLibraryLoadData(
            &mut library,
            text.as_ptr().cast(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0
        ),
        CUDA_ERROR_NOT_SUPPORTED
    );
    answers!(
        driver.cuLaunchKernel(null_mut(), 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()),
        CUDA_ERROR_NOT_SUPPORTED
    );
    answers!(driver.cuGraphCreate(&mut graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    answers!(driver.cuIpcGetEventHandle(null_mut(), null_mut()), CUDA_ERROR_NOT_SUPPORTED);
    answers!(driver.cuTensorMapReplaceAddress(null_mut(), null_mut()), CUDA_ERROR_NOT_SUPPORTED);
    assert!(module.is_null() && library.is_null() && graph.is_null());

    let named: Vec<Function> =
        machine.log().iter().filter(|entry| entry.kind == LogKind::Unsupported).map(|entry| entry.function).collect();
    use Function::*;
    assert_eq!(
        named,
        [
            cuModuleLoadData,
            cuLibraryLoadData,
            cuLaunchKernel,
            cuGraphCreate,
            cuIpcGetEventHandle,
            cuTensorMapReplaceAddress
        ]
    );
    for entry in machine.log().iter().filter(|entry| entry.kind == LogKind::Unsupported) {
        assert!(entry.reason.contains(entry.function.name()), "{entry}");
    }
    Ok(())
}
