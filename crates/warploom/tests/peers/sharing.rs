//! Several values of one pool, and code that calls the driver itself.

use warploom::sys::types::{CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType};
use warploom::{DevicePool, Driver, Function, LiveSet};
use warploom_testkit::{TestResult, budget, call, driver_tests};

use super::{ordinals, pool_on, set};

driver_tests! {
    fn the_current_pool_of_a_device_is_its_default_one(driver) {
        let context = driver.device(0)?.context()?;
        let (default, current) = (DevicePool::default_of(&context)?, DevicePool::current(&context)?);
        assert_eq!(default.as_raw(), current.as_raw());
        assert_ne!(default.as_raw(), DevicePool::new(&context)?.as_raw());
        let stream = context.stream()?;
        let buffer = default.upload(b"from the default pool", &stream)?;
        drop((default, current));
        assert_eq!(buffer.download(&stream)?, b"from the default pool");
    }

    fn a_pool_that_is_not_ours_does_not_end_with_its_value(driver) {
        let context = driver.device(0)?.context()?;
        let default = DevicePool::default_of(&context)?;
        let current = DevicePool::current(&context)?;
        budget(driver, &[], || drop((default, current)));
        assert!(DevicePool::default_of(&context)?.statistics().is_ok());
    }
}

/// Sets access behind the library's back.
fn grant(driver: &Driver, pool: &DevicePool, ordinal: i32, flags: CUmemAccess_flags) -> TestResult {
    let location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ordinal);
    let descriptor = CUmemAccessDesc { location, flags };
    call!(driver.cuMemPoolSetAccess(pool.as_raw(), &descriptor, 1))?;
    Ok(())
}

/// S0.3: what other code tells the driver is seen by the next read.
#[test]
fn grants_of_other_code_are_seen() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    grant(&driver, &pool, 2, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)?;
    assert_eq!(ordinals(peers)?, set([2]));
    peers.insert(1)?;
    grant(&driver, &pool, 2, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE)?;
    assert_eq!(ordinals(peers)?, set([1]));
    Ok(())
}

/// S0.2, S0.3: two values of the default pool are one pool; a value that ends takes no grant with it.
#[test]
fn values_of_the_default_pool_see_each_other() -> TestResult {
    let (_machine, driver, _) = pool_on("hgx-a100-4")?;
    let context = driver.device(1)?.context()?;
    let (one, other) = (DevicePool::default_of(&context)?, DevicePool::default_of(&context)?);
    one.peers().extend([0, 2])?;
    assert_eq!(ordinals(other.peers())?, set([0, 2]));
    other.peers().toggle([2, 3])?;
    assert_eq!(ordinals(one.peers())?, set([0, 3]));
    budget(&driver, &[], || drop((one, other)));
    assert_eq!(ordinals(DevicePool::current(&context)?.peers())?, set([0, 3]));
    Ok(())
}

/// S0.2, S0.3: an own pool that was made current, and the value that finds it there.
#[test]
fn an_own_pool_and_the_current_one_may_be_the_same() -> TestResult {
    let (_machine, driver, own) = pool_on("hgx-a100-4")?;
    let context = own.context().clone();
    call!(driver.cuDeviceSetMemPool(0, own.as_raw()))?;
    let current = DevicePool::current(&context)?;
    assert_eq!(current.as_raw(), own.as_raw());
    own.peers().extend([1, 2])?;
    assert_eq!(ordinals(current.peers())?, set([1, 2]));
    current.peers().remove(1)?;
    assert_eq!(ordinals(own.peers())?, set([2]));
    assert!(DevicePool::default_of(&context)?.peers().is_empty()?);
    drop(current);
    assert_eq!(ordinals(own.peers())?, set([2]));
    Ok(())
}

/// S0.18: a value that has granted nothing finds, and takes back, what another granted.
#[test]
fn assigning_nothing_revokes_grants_of_another_value() -> TestResult {
    let (_machine, driver, _) = pool_on("hgx-a100-4")?;
    let context = driver.device(0)?.context()?;
    DevicePool::default_of(&context)?.peers().extend([1, 3])?;
    let fresh = DevicePool::default_of(&context)?;
    let allowed = [(Function::cuMemPoolGetAccess, 3), (Function::cuMemPoolSetAccess, 1)];
    budget(&driver, &allowed, || fresh.peers().assign(std::iter::empty::<u32>()))?;
    assert!(DevicePool::current(&context)?.peers().is_empty()?);
    Ok(())
}

/// Pools of one device are different pools.
#[test]
fn a_grant_concerns_one_pool() -> TestResult {
    let (_machine, _driver, one) = pool_on("hgx-a100-4")?;
    let other = DevicePool::new(one.context())?;
    one.peers().insert(1)?;
    assert!(other.peers().is_empty()?);
    Ok(())
}
