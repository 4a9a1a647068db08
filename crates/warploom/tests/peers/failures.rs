//! The set with each of its driver calls failing: nothing is written, swallowed or left over.

use warploom::sys::types::CUresult;
use warploom::{DevicePool, Driver, Function, LiveSet, PeerSet, Result};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, open};

use super::{ordinals, set};

/// An operation, by name.
type Operation = (&'static str, fn(PeerSet<'_>) -> Result<()>);

/// Every operation there is, from a set of 1 and 2 on a machine of four.
const OPERATIONS: &[Operation] = &[
    ("snapshot", |peers| peers.snapshot().map(drop)),
    ("contains", |peers| peers.contains(1).map(drop)),
    ("len", |peers| peers.len().map(drop)),
    ("is_empty", |peers| peers.is_empty().map(drop)),
    ("iter", |peers| peers.iter().map(drop)),
    ("level", |peers| peers.level(1).map(drop)),
    ("insert", |peers| peers.insert(3).map(drop)),
    ("remove", |peers| peers.remove(1).map(drop)),
    ("pop_first", |peers| peers.pop_first().map(drop)),
    ("extend", |peers| peers.extend([1, 3])),
    ("subtract", |peers| peers.subtract([2, 3])),
    ("intersect", |peers| peers.intersect([2, 3])),
    ("toggle", |peers| peers.toggle([1, 3])),
    ("retain", |peers| peers.retain(|device| device.ordinal() == 1)),
    ("assign", |peers| peers.assign([2, 3])),
    ("clear", |peers| peers.clear()),
];

/// A set of 1 and 2 in a pool that does nothing when it is let go.
fn prepared(driver: &Driver) -> Result<DevicePool> {
    let pool = DevicePool::default_of(&driver.device(0)?.context()?)?;
    pool.peers().assign([1, 2])?;
    Ok(pool)
}

/// S0.10, S0.16: an operation of which any call fails is an error, and the grants are what they were.
#[test]
fn nothing_is_written_on_any_error() -> TestResult {
    for (name, operation) in OPERATIONS {
        for call in 1.. {
            let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Sync)?;
            let pool = prepared(&driver)?;
            let rule = Rule::on(Calls::all()).nth(call).fail(CUresult::CUDA_ERROR_UNKNOWN);
            let scope = machine.inject_on_this_thread(Plan::new().rule(rule))?;
            let result = operation(pool.peers());
            let fired = scope.fired();
            drop(scope);
            if fired.is_empty() {
                assert!(result.is_ok() && call > 1, "{name}: {result:?}");
                break;
            }
            let error = result.expect_err(name);
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_UNKNOWN), "{name}");
            assert_eq!(ordinals(pool.peers())?, set([1, 2]), "{name}, call {call}");
        }
    }
    Ok(())
}

/// A refused write is the driver's refusal of all of it: what was to be removed is still there.
#[test]
fn a_failed_write_can_be_repeated() -> TestResult {
    let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Sync)?;
    let pool = prepared(&driver)?;
    let rule = Rule::on(Function::cuMemPoolSetAccess).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    let refused = pool.peers().assign([2, 3]).expect_err("the plan says so");
    assert!(refused.is_out_of_memory());
    assert_eq!(ordinals(pool.peers())?, set([1, 2]));
    pool.peers().assign([2, 3])?;
    assert_eq!(ordinals(pool.peers())?, set([2, 3]));
    Ok(())
}

/// Every operation in the sweep: no panic, nothing left over, nothing swallowed, and the machine works
/// afterwards.
#[test]
fn every_operation_survives_every_failure() -> TestResult {
    for (_, operation) in OPERATIONS {
        let sweep = Sweep::new(Topology::preset("hgx-a100-4")?).after_effect(true);
        sweep.run(|_: &Machine, driver: &Driver| operation(prepared(driver)?.peers()));
    }
    Ok(())
}

/// A pool of one's own swallows what goes wrong while it takes its grants back, and nothing else.
#[test]
fn pools_with_grants_leave_nothing_behind() -> TestResult {
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(Topology::preset("hgx-a100-4")?).mode(mode).after_effect(true);
        let parting =
            ["cuMemPoolGetAccess", "cuMemPoolSetAccess", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxSynchronize"];
        let named = parting.into_iter().map(Calls::named).collect::<Result<Vec<_>, _>>()?;
        let sweep = named.into_iter().fold(sweep, Sweep::tolerates);
        sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
            let pool = DevicePool::new(&driver.device(0)?.context()?)?;
            pool.peers().extend(1..4)
        });
    }
    Ok(())
}
