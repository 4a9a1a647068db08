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
    let mut graph = null_mut();
    answers!(driver.cuGraphClone(&mut graph, null_mut()), CUDA_ERROR_NOT_SUPPORTED);
    answers!(driver.cuIpcGetEventHandle(null_mut(), null_mut()), CUDA_ERROR_NOT_SUPPORTED);
    answers!(driver.cuTensorMapReplaceAddress(null_mut(), null_mut()), CUDA_ERROR_NOT_SUPPORTED);
    assert!(graph.is_null());

    let named: Vec<Function> =
        machine.log().iter().filter(|entry| entry.kind == LogKind::Unsupported).map(|entry| entry.function).collect();
    use Function::*;
    assert_eq!(named, [cuGraphClone, cuIpcGetEventHandle, cuTensorMapReplaceAddress]);
    for entry in machine.log().iter().filter(|entry| entry.kind == LogKind::Unsupported) {
        assert!(entry.reason.contains(entry.function.name()), "{entry}");
    }
    Ok(())
}
