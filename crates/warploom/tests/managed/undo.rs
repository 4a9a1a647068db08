//! Rollback when one of several pieces of advice fails.

use std::collections::BTreeSet;

use warploom::sys::types::CUresult;
use warploom::{AccessedBy, Driver, Error, Function, Host, LiveSet, Location, ManagedBuffer, ManagedError, Result};
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, open};

use super::{LARGE, setup};

const ADVISE: Function = Function::cuMemAdvise_v2;
const FAILED: CUresult = CUresult::CUDA_ERROR_UNKNOWN;

/// A machine of four devices, and memory mapped to 0 and 1.
fn prepared() -> TestResult<(Machine, Driver, ManagedBuffer)> {
    let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Sync)?;
    let buffer = setup(&driver)?.2.allocate(LARGE)?;
    buffer.accessed_by().assign([driver.device(0)?, driver.device(1)?])?;
    Ok((machine, driver, buffer))
}

/// Makes the set have 1, 2, 3 and the host: one to remove, three to add.
fn change(driver: &Driver, set: AccessedBy<'_>) -> Result<()> {
    let devices = [1, 2, 3].into_iter().map(|ordinal| driver.device(ordinal).map(Location::from));
    set.assign(devices.chain([Ok(Host::Any.into())]).collect::<Result<Vec<_>>>()?)
}

/// S1.24: whichever fails, before or after its effect, the set is as it was before, and the error says so.
#[test]
fn applied_advice_is_rolled_back() -> TestResult {
    for number in 1..=4_u64 {
        for after_effect in [false, true] {
            let (machine, driver, buffer) = prepared()?;
            let before = buffer.accessed_by().snapshot()?;
            let order = [0, 2, 3].map(|ordinal| driver.device(ordinal).map(Location::from));
            let order: Vec<Location> = order.into_iter().chain([Ok(Host::Any.into())]).collect::<Result<_>>()?;
            let rule = Rule::on(ADVISE).nth(number);
            let rule = if after_effect { rule.fail_after(FAILED) } else { rule.fail(FAILED) };
            let scope = machine.inject(Plan::new().rule(rule))?;
            let error = change(&driver, buffer.accessed_by()).expect_err("the plan says so");
            drop(scope);
            assert_eq!(buffer.accessed_by().snapshot()?, before, "call {number}");
            assert_eq!(error.code(), Some(FAILED));
            let done = usize::try_from(number - 1)?;
            match error {
                Error::Managed(ManagedError::PartlyAdvised { applied, failed, undone: true, .. }) => {
                    assert_eq!((&applied[..], &failed), (&order[..done], &order[done]));
                    assert!(done > 0);
                }
                error => assert!(done == 0 && matches!(error, Error::Driver(_)), "{error:?}"),
            }
            change(&driver, buffer.accessed_by())?;
            assert_eq!(buffer.accessed_by().len()?, 4);
        }
    }
    Ok(())
}

/// S1.24: what cannot be taken back is said, too.
#[test]
fn a_failed_rollback_is_reported() -> TestResult {
    let (machine, driver, buffer) = prepared()?;
    let rules = (3..=6).map(|call| Rule::on(ADVISE).nth(call).fail(FAILED));
    let scope = machine.inject(rules.fold(Plan::new(), Plan::rule))?;
    let error = change(&driver, buffer.accessed_by()).expect_err("the plan says so");
    assert_eq!(
        error.to_string().split(": ").next(),
        Some(
            "advice about device 3 failed after that about device 0, device 2, and not everything could be taken back"
        )
    );
    let Error::Managed(ManagedError::PartlyAdvised { undone: false, .. }) = error else { panic!("{error:?}") };
    drop(scope);
    let left: BTreeSet<_> =
        [1, 2].into_iter().map(|ordinal| driver.device(ordinal).map(Location::from)).collect::<Result<_>>()?;
    assert_eq!(buffer.accessed_by().snapshot()?, left);
    Ok(())
}

/// S1.24: of one change, too, if it had its effect and cannot be taken back.
#[test]
fn one_change_that_had_its_effect_is_taken_back_or_reported() -> TestResult {
    let (machine, driver, buffer) = prepared()?;
    let (set, new) = (buffer.accessed_by(), driver.device(3)?);
    let scope = machine.inject(Plan::new().rule(Rule::on(ADVISE).nth(1).fail_after(FAILED)))?;
    assert!(matches!(set.insert(&new), Err(Error::Driver(_))));
    drop(scope);
    assert!(!set.contains(&new)?);
    let plan = Plan::new().rule(Rule::on(ADVISE).nth(1).fail_after(FAILED)).rule(Rule::on(ADVISE).nth(2).fail(FAILED));
    let scope = machine.inject(plan)?;
    let error = set.insert(&new).expect_err("the plan says so");
    drop(scope);
    let Error::Managed(ManagedError::PartlyAdvised { applied, undone: false, .. }) = error else { panic!("{error:?}") };
    assert!(applied.is_empty() && set.contains(&new)?);
    Ok(())
}
