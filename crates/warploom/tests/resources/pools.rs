//! Pools of device, page-locked and managed memory.

use warploom::{
    DevicePool, Error, Function, Host, Location, LocationError, ManagedError, ManagedMemory, ManagedPool, MemoryError,
    NumaId, PinnedPool, PoolOptions, Reuse,
};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, fault::Plan};
use warploom_testkit::{TestResult, budget, driver_tests, open};

driver_tests! {
    fn a_new_pool_keeps_its_memory_and_reuses_it_in_every_way(driver) {
        let pool = DevicePool::new(&driver.device(0)?.context()?)?;
        assert_eq!((pool.release_threshold()?, pool.reuse()?), (u64::MAX, Reuse::default()));
    }

    fn a_pool_is_as_its_options_say(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let reuse = Reuse { opportunistic: false, ..Reuse::default() };
        let options = PoolOptions::new().max_size(32 << 20).release_threshold(1 << 20).reuse(reuse);
        let pool = DevicePool::with(&context, options)?;
        assert_eq!((pool.release_threshold()?, pool.reuse()?), (1 << 20, reuse));
        let error = pool.allocate::<u8>(65 << 20, &stream).map(drop).expect_err("more than its maximum");
        assert!(error.is_out_of_memory(), "{error}");
        pool.allocate::<u8>(16 << 20, &stream)?;
    }

    fn a_pool_can_be_told_otherwise_later(driver) {
        let pool = DevicePool::new(&driver.device(0)?.context()?)?;
        let reuse = Reuse { follow_events: false, opportunistic: true, internal_dependencies: false };
        pool.set_reuse(reuse)?;
        pool.set_release_threshold(7)?;
        assert_eq!((pool.release_threshold()?, pool.reuse()?), (7, reuse));
        budget(driver, &[(Function::cuMemPoolGetAttribute, 3)], || pool.set_reuse(reuse))?;
    }

    fn high_marks_start_again_from_the_current_value(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let kept = pool.allocate::<u8>(1 << 20, &stream)?;
        drop(pool.allocate::<u8>(64 << 20, &stream)?);
        stream.synchronize()?;
        pool.trim(0)?;
        assert!(pool.statistics()?.used_high >= 65 << 20);
        pool.reset_high_marks()?;
        let statistics = pool.statistics()?;
        assert_eq!((statistics.used_high, statistics.reserved_high), (statistics.used, statistics.reserved));
        drop(kept);
    }

    fn memory_of_a_managed_pool_is_used_by_the_device(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let here = Location::from(driver.device(0)?);
        let preferring = |place: &Location| ManagedPool::preferring(&context, place.clone());
        for pool in [ManagedPool::new(&context)?, preferring(&here)?, preferring(&Host::Any.into())?] {
            let mut buffer = pool.upload(&[1_u8, 2, 3], &stream)?;
            buffer.slice_mut(1..)?.fill(5, &stream)?;
            assert_eq!(buffer.download(&stream)?, [1, 5, 5]);
            assert_eq!(pool.statistics()?.used, 3);
            assert_eq!(buffer.into_buffer().into_pinned().map(drop), Err(Error::Memory(MemoryError::NotPinned)));
        }
        assert_eq!(preferring(&here)?.preferred_location(), Some(&here));
    }
}

#[test]
fn a_driver_without_such_pools_is_an_error_that_names_them() -> TestResult {
    let machine = Machine::builder().faults(Plan::new().driver_version(12_020)).start()?;
    let driver = warploom::Driver::open(&machine)?;
    let context = driver.device(0)?.context()?;
    let pinned = Err(Error::Memory(MemoryError::PoolUnsupported { of: "page-locked memory", device: 0 }));
    let managed = Err(Error::Memory(MemoryError::PoolUnsupported { of: "managed memory", device: 0 }));
    // The driver does not know the attributes, so that it is asked for a pool.
    let asked = [(Function::cuDeviceGetAttribute, 1), (Function::cuMemPoolCreate, 1)];
    budget(&driver, &asked, || assert_eq!(PinnedPool::new(&context).map(drop), pinned));
    let node = NumaId::try_from(0_u32)?;
    let refused = Err(Error::Location(LocationError::NumaRefused { host: Host::Numa(node) }));
    budget(&driver, &asked, || {
        assert_eq!(PinnedPool::on_numa_node(&context, node, PoolOptions::new()).map(drop), refused);
    });
    budget(&driver, &[], || assert_eq!(ManagedPool::new(&context).map(drop), managed));
    ManagedMemory::new(&context)?;
    Ok(())
}

#[test]
fn a_device_without_managed_memory_is_an_error_that_names_it() -> TestResult {
    let text = "[[device]]\nmodel = \"h200\"\nattributes = { managed_memory = 0, concurrent_managed_access = 0 }\n";
    let (_machine, driver) = open(Topology::from_toml(text)?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    assert_eq!(ManagedMemory::new(&context).map(drop), Err(Error::Managed(ManagedError::Unsupported { device: 0 })));
    let managed = Err(Error::Memory(MemoryError::PoolUnsupported { of: "managed memory", device: 0 }));
    assert_eq!(ManagedPool::new(&context).map(drop), managed);
    Ok(())
}
