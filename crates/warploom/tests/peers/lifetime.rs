//! The end of a pool takes its grants back first (S0.24).

use warploom::sys::types::CUresult;
use warploom::{DevicePool, Function, LiveSet};
use warploom_sim::Machine;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{AccessSpy, TestResult, in_every_mode};

use super::pool_on;

/// S0.24: in one write, of what was granted, without the owner, and before the pool is destroyed.
#[test]
fn an_own_pool_takes_its_grants_back_before_it_ends() -> TestResult {
    let machine = Machine::preset("dgx-h100")?;
    let (driver, spy) = AccessSpy::open(&machine)?;
    let context = driver.device(2)?.context()?;
    let pool = DevicePool::new(&context)?;
    pool.peers().extend([7, 0, 4])?;
    assert_eq!(spy.take().len(), 1);
    let calls = driver.record_calls();
    drop(pool.clone());
    assert!(calls.calls().is_empty());
    drop(pool);
    let made: Vec<_> = calls.take().into_iter().map(|(function, _)| function).collect();
    let first = |function: Function| {
        made.iter().position(|called| *called == function).ok_or_else(|| format!("no {function} in {made:?}"))
    };
    let asked = first(Function::cuMemPoolGetAccess)?;
    let (waited, written) = (first(Function::cuCtxSynchronize)?, first(Function::cuMemPoolSetAccess)?);
    // Dropped buffers may still be in use; the write comes when that is over.
    assert!(asked < waited && waited < written, "{made:?}");
    assert_eq!(made[made.len() - 2..], [Function::cuMemPoolSetAccess, Function::cuMemPoolDestroy]);
    assert_eq!(spy.take(), [[(0, 0), (4, 0), (7, 0)]]);
    Ok(())
}

/// S0.24: a pool of the device's own keeps its grants when a handle is dropped.
#[test]
fn a_pool_that_is_not_ours_keeps_its_grants() -> TestResult {
    let machine = Machine::preset("pcie-pair")?;
    let (driver, spy) = AccessSpy::open(&machine)?;
    let context = driver.device(0)?.context()?;
    let pool = DevicePool::default_of(&context)?;
    pool.peers().insert(1)?;
    assert_eq!(spy.take().len(), 1);
    drop(pool);
    assert!(spy.take().is_empty());
    assert!(DevicePool::default_of(&context)?.peers().contains(1)?);
    Ok(())
}

/// S0.24: if that fails, the pool ends all the same.
#[test]
fn a_pool_ends_although_its_grants_cannot_be_taken_back() -> TestResult {
    for function in [Function::cuMemPoolGetAccess, Function::cuCtxSynchronize, Function::cuMemPoolSetAccess] {
        let (machine, driver, pool) = pool_on("pcie-pair")?;
        pool.peers().insert(1)?;
        let rule = Rule::on(Calls::from(function)).fail(CUresult::CUDA_ERROR_UNKNOWN);
        let scope = machine.inject(Plan::new().rule(rule))?;
        let calls = driver.record_calls();
        drop(pool);
        assert_eq!(scope.fired().len(), 1);
        let written = calls.calls().iter().any(|(called, _)| *called == Function::cuMemPoolSetAccess);
        assert_eq!(written, function == Function::cuMemPoolSetAccess, "not before the work is known to be over");
        assert!(calls.calls().contains(&(Function::cuMemPoolDestroy, CUresult::CUDA_SUCCESS)), "{calls:?}");
    }
    Ok(())
}

/// S0.24, S0.27: a dropped pool waits for work in flight before it revokes access, so it harms none.
#[test]
fn a_pool_may_end_while_its_memory_is_on_its_way_to_a_peer() -> TestResult {
    in_every_mode(&Topology::preset("pcie-pair")?, 4, |_, driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (stream, other) = (here.stream()?, there.stream()?);
        let mut arrived = DevicePool::new(&there)?.zeroed(1 << 16, &other)?;
        let pool = DevicePool::new(&here)?;
        pool.peers().insert(1)?;
        let mut sent = pool.zeroed::<u8>(1 << 16, &stream)?;
        sent.fill(7, &stream)?;
        other.wait(&stream.record()?)?;
        sent.copy_to(&mut arrived, &other)?;
        drop((sent, pool));
        Ok(arrived.download(&other)?)
    })
    .map(|bytes| assert_eq!(bytes, [7; 1 << 16]))
}

/// A new pool grants nothing, wherever its handle was before.
#[test]
fn a_new_pool_starts_without_grants() -> TestResult {
    let (_machine, _driver, first) = pool_on("hgx-a100-4")?;
    let context = first.context().clone();
    first.peers().extend([1, 2, 3])?;
    drop(first);
    for _ in 0..8 {
        let pool = DevicePool::new(&context)?;
        assert!(pool.peers().is_empty()?);
        pool.peers().insert(1)?;
    }
    Ok(())
}
