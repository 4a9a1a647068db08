//! Plans a machine is started with.

use std::ptr::null_mut;

use warploom_driver::{Driver, DriverVersion, Error};
use warploom_sim::fault::{Class, FaultError, Plan, Rule};
use warploom_sim::{Machine, StartError};
use warploom_sys::Function;
use warploom_sys::types::CUresult;
use warploom_testkit::{TestResult, answers, call};

use crate::named;

#[test]
fn a_machine_is_started_with_a_plan() -> TestResult {
    let plan = Plan::new().rule(Rule::on(Function::cuInit).nth(1).fail(CUresult::CUDA_ERROR_NO_DEVICE));
    let machine = Machine::builder().faults(plan).start()?;
    let driver = Driver::open(&machine)?;
    answers!(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
    call!(driver.cuInit(0))?;
    assert_eq!(machine.fired().len(), 1);
    Ok(())
}

#[test]
fn a_hidden_symbol_is_not_found_and_its_slot_is_empty() -> TestResult {
    let machine = Machine::builder().faults(Plan::new().hide(named("cuMemAllocAsync")?).hide(Class::Graph)).start()?;
    let driver = Driver::open(&machine)?;
    let missing = call!(driver.cuMemAllocAsync(&mut 0, 1, null_mut()));
    assert!(matches!(missing, Err(Error::Unsupported { function: Function::cuMemAllocAsync, .. })), "{missing:?}");
    assert!(driver.table().cuGraphCreate.is_none() && driver.table().cuMemFreeAsync.is_some());
    Ok(())
}

#[test]
fn hiding_one_abi_does_not_put_another_in_its_place() -> TestResult {
    let machine = Machine::builder().faults(Plan::new().hide(Function::cuCtxCreate_v4)).start()?;
    let table = *Driver::open(&machine)?.table();
    assert!(table.cuCtxCreate_v4.is_none() && table.cuCtxCreate_v3.is_some() && table.cuCtxCreate_v2.is_some());
    Ok(())
}

#[test]
fn a_lower_driver_version_has_less() -> TestResult {
    let machine = Machine::builder().faults(Plan::new().driver_version(12020)).start()?;
    let driver = Driver::open(&machine)?;
    assert_eq!(driver.version(), DriverVersion::new(12, 2));
    assert_eq!(machine.topology().driver_version, 12020);
    assert!(driver.table().cuCtxCreate_v4.is_none() && driver.table().cuCtxCreate_v3.is_some());
    Ok(())
}

#[test]
fn a_version_that_is_not_lower_is_refused() {
    for asked in [13040, 0, -1] {
        let refused = Machine::builder().faults(Plan::new().driver_version(asked)).start().map(|_| ());
        let expected = FaultError::DriverVersion { asked, have: 13000 };
        assert!(matches!(refused, Err(StartError::Faults(error)) if error == expected), "{asked}");
    }
}

#[test]
fn settings_of_the_start_cannot_be_injected() -> TestResult {
    let machine = Machine::preset("h200")?;
    for plan in [Plan::new().driver_version(12020), Plan::new().hide(Class::Graph)] {
        let refused = machine.inject(plan.clone()).map(|_| ());
        assert_eq!(refused, Err(FaultError::TooLate));
        assert_eq!(machine.inject_on_this_thread(plan).map(|_| ()), Err(FaultError::TooLate));
    }
    Ok(())
}
