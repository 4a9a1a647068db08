//! The driver's own pools of page-locked and managed memory.

use warploom::{
    Context, DeviceError, Driver, Error, Host, Location, ManagedError, ManagedPool, MemoryError, NumaId,
    OrderedResource, PinnedPool,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sys::types::{CUmemAllocationType, CUmemLocation, CUresult};
use warploom_testkit::{TestResult, budget, call, driver_tests, open};

const MANAGED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;

/// Preferred locations of managed memory.
fn places(context: &Context) -> [Option<Location>; 3] {
    [None, Some(context.device().into()), Some(Host::Any.into())]
}

fn set_current(driver: &Driver, location: &mut CUmemLocation, pool: &ManagedPool) -> TestResult {
    Ok(call!(driver.cuMemSetMemPool(location, MANAGED, pool.as_raw()))?)
}

driver_tests! {
    fn the_drivers_own_managed_pools_are_used_and_stay(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        for preferred in places(&context) {
            let pool = ManagedPool::default_of(&context, preferred.clone())?;
            assert_eq!(pool.as_raw(), ManagedPool::current(&context, preferred.clone())?.as_raw());
            assert_eq!(pool.preferred_location(), preferred.as_ref());
            let mut buffer = pool.upload(&[1_u8, 2, 3], &stream)?;
            buffer.slice_mut(1..)?.fill(5, &stream)?;
            assert_eq!(buffer.download(&stream)?, [1, 5, 5]);
            drop(buffer);
            budget(driver, &[], || drop(pool));
            assert_eq!(ManagedPool::default_of(&context, preferred)?.zeroed::<u8>(3, &stream)?.download(&stream)?, [0; 3]);
        }
    }

    fn the_hosts_own_pools_are_used_and_stay(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        for place in [Host::Any, Host::Numa(NumaId::try_from(0_u32)?)] {
            let pool = PinnedPool::default_of(&context, place)?;
            assert_eq!(pool.as_raw(), PinnedPool::current(&context, place)?.as_raw());
            let mut buffer = pool.upload(&[1_u8, 2, 3], &stream)?;
            buffer.slice_mut(1..)?.fill(5, &stream)?;
            assert_eq!(buffer.into_pinned()?.as_slice(), [1, 5, 5]);
            budget(driver, &[], || drop(pool));
        }
    }

    fn the_current_managed_pool_is_the_one_that_was_chosen(driver) {
        let context = driver.device(0)?.context()?;
        let here = Location::from(context.device());
        let (own, default) = (ManagedPool::preferring(&context, here.clone())?, ManagedPool::default_of(&context, Some(here.clone()))?);
        set_current(driver, &mut here.to_raw(), &own)?;
        let (found, untouched) = (ManagedPool::current(&context, Some(here.clone()))?, ManagedPool::current(&context, None)?);
        assert_eq!(found.as_raw(), own.as_raw());
        assert_ne!(untouched.as_raw(), own.as_raw());
        set_current(driver, &mut here.to_raw(), &default)?;
        assert_eq!(ManagedPool::current(&context, Some(here))?.as_raw(), default.as_raw());
    }
}

#[test]
fn the_current_pool_of_the_host_is_the_one_that_was_chosen() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let context = driver.device(0)?.context()?;
    let own = PinnedPool::new(&context)?;
    let kind = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    call!(driver.cuMemSetMemPool(&mut Location::from(Host::Any).to_raw(), kind, own.as_raw()))?;
    assert_eq!(PinnedPool::current(&context, Host::Any)?.as_raw(), own.as_raw());
    assert_ne!(PinnedPool::default_of(&context, Host::Any)?.as_raw(), own.as_raw());
    Ok(())
}

/// S1.38: it says so, and what to do.
#[test]
fn a_default_pool_that_cannot_allocate_managed_memory_is_an_error_that_suggests_a_new_one() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let rule = Rule::on(Calls::named("cuMemGet*MemPool")?).fail(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    for found in [ManagedPool::default_of(&context, None), ManagedPool::current(&context, None)] {
        let error = found.map(drop).expect_err("the driver has none");
        assert_eq!(error, Error::Managed(ManagedError::NoDefaultPool { device: 0 }));
        assert!(error.to_string().contains("make one with ManagedPool::new"), "{error}");
    }
    ManagedPool::new(&context)?;
    Ok(())
}

#[test]
fn drivers_before_13_0_have_none_and_say_so() -> TestResult {
    let machine = Machine::builder().faults(Plan::new().driver_version(12_080)).start()?;
    let driver = Driver::open(&machine)?;
    let context = driver.device(0)?.context()?;
    let managed = Error::Memory(MemoryError::PoolUnsupported { of: "managed memory", device: 0 });
    for found in [ManagedPool::default_of(&context, None), ManagedPool::current(&context, None)] {
        assert_eq!(found.map(drop), Err(managed.clone()));
    }
    let pinned = Error::Memory(MemoryError::PoolUnsupported { of: "page-locked memory", device: 0 });
    for found in [PinnedPool::default_of(&context, Host::Any), PinnedPool::current(&context, Host::Any)] {
        assert_eq!(found.map(drop), Err(pinned.clone()));
    }
    Ok(())
}

#[test]
fn a_place_of_another_driver_is_refused_before_the_driver_is_asked() -> TestResult {
    let (_here, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_there, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (context, foreign) = (driver.device(0)?.context()?, other.device(0)?);
    budget(&driver, &[], || {
        let found = ManagedPool::default_of(&context, Some(foreign.into())).map(drop);
        assert!(matches!(found, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{found:?}");
    });
    Ok(())
}
