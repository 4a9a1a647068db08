//! The contract of every live set, for peer sets (S0.26).

use warploom::{Device, DevicePool, DeviceRef, Function, LiveSet as _};
use warploom_testkit::TestResult;

use super::{pool_of, pool_on};

#[path = "../contract/live_set.rs"]
mod live_set;
#[path = "../contract/turns.rs"]
mod turns;

/// S0.26: two devices leave room for one; the other is the pool's own, which is passed over.
#[test]
fn with_two_devices_the_pool_s_own_is_passed_over() -> TestResult {
    let (_machine, driver, pool) = pool_on("pcie-pair")?;
    live_set::of_capacity_one(&pool.peers(), &driver.device(1)?, || DeviceRef::from(0), false)
}

/// S0.26, S0.20: a device that does not exist is refused by what adds, and ignored by what removes.
#[test]
fn with_two_devices_a_third_is_refused() -> TestResult {
    let (_machine, driver, pool) = pool_on("pcie-pair")?;
    live_set::of_capacity_one(&pool.peers(), &driver.device(1)?, || DeviceRef::from(2), true)
}

/// S0.26: a device of another driver is no device of this one, even with the same ordinal.
#[test]
fn with_two_devices_one_of_another_driver_is_refused() -> TestResult {
    let (_machine, driver, pool) = pool_on("pcie-pair")?;
    let (_other, other, _) = pool_on("pcie-pair")?;
    let foreign = other.device(1)?;
    live_set::of_capacity_one(&pool.peers(), &driver.device(1)?, || DeviceRef::from(&foreign), true)
}

/// S0.26: in general.
#[test]
fn with_eight_devices_it_is_a_set_like_any_other() -> TestResult {
    let topology = warploom_sim::topology::Topology::preset("dgx-h100")?;
    for owner in [0, 3, 7] {
        let (_machine, driver, pool) = pool_of(topology.clone(), owner)?;
        let others: Vec<Device> = driver.devices()?.into_iter().filter(|device| device.ordinal() != owner).collect();
        live_set::in_general(&pool.peers(), &others)?;
    }
    Ok(())
}

/// C.6: through two values for one pool.
#[test]
fn changes_take_turns() -> TestResult {
    let (machine, driver, _) = pool_on("pcie-pair")?;
    let context = driver.device(0)?.context()?;
    let (pool, again) = (DevicePool::default_of(&context)?, DevicePool::default_of(&context)?);
    pool.peers().insert(1)?;
    let pop = || Ok(pool.peers().pop_first()?.is_some());
    turns::changes_take_turns(&machine, Function::cuMemPoolSetAccess, pop, || again.peers().remove(1))
}
