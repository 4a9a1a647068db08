//! Pools on a full device, on machines small enough to fill.

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::{DeviceModel, Topology};
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::{Primary, Stream, TestResult, answers, call, open};

use crate::fixture::{CHUNK, INTERNAL, Pool, RESERVED, USED};

/// A machine whose device has room for ten chunks.
fn small(mode: Mode) -> TestResult<(Machine, Driver)> {
    let mut topology = Topology::builder().device(DeviceModel::H100).build()?;
    topology.devices[0].set_memory(10 * CHUNK);
    topology.devices[0].context_memory = 0;
    open(topology, mode)
}

#[test]
fn a_full_device_takes_back_what_other_pools_do_not_use() -> TestResult {
    let (_machine, driver) = small(Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let [first, second] = [Pool::hoarding(driver)?, Pool::hoarding(driver)?];
    let address = first.take(6 * CHUNK, stream.raw)?;
    first.free(address, stream.raw)?;
    stream.synchronize()?;
    assert_eq!(first.get(RESERVED)?, 6 * CHUNK);
    let address = second.take(6 * CHUNK, stream.raw)?;
    assert_eq!([first.get(RESERVED)?, second.get(RESERVED)?], [0, 6 * CHUNK]);
    second.free(address, stream.raw)?;
    stream.synchronize()?;
    let mut plain = 0;
    call!(driver.cuMemAlloc_v2(&mut plain, (6 * CHUNK) as usize))?;
    assert_eq!([first.get(RESERVED)?, second.get(RESERVED)?], [0, 0]);
    call!(driver.cuMemFree_v2(plain))?;
    Ok(())
}

#[test]
fn memory_in_use_is_never_taken_back() -> TestResult {
    let (_machine, driver) = small(Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let pool = Pool::hoarding(driver)?;
    let live = pool.take(6 * CHUNK, stream.raw)?;
    let mut address = 1;
    let bytes = (6 * CHUNK) as usize;
    answers!(driver.cuMemAllocFromPoolAsync(&mut address, bytes, pool.raw, stream.raw), CUDA_ERROR_OUT_OF_MEMORY);
    assert_eq!(address, 0);
    assert_eq!([pool.get(RESERVED)?, pool.get(USED)?], [6 * CHUNK, 6 * CHUNK]);
    pool.free(live, stream.raw)?;
    stream.synchronize()?;
    Ok(())
}

#[test]
fn a_full_device_waits_for_a_free_that_is_yet_to_come_if_it_may() -> TestResult {
    for allowed in [true, false] {
        let (_machine, driver) = small(Mode::Deterministic(Order::Lazy))?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let [first, second] = [Stream::new(driver)?, Stream::new(driver)?];
        let pool = Pool::hoarding(driver)?;
        pool.set(INTERNAL, allowed.into())?;
        let address = pool.take(6 * CHUNK, first.raw)?;
        first.synchronize()?;
        pool.free(address, first.raw)?;
        let mut again = 0;
        let bytes = (6 * CHUNK) as usize;
        if allowed {
            call!(driver.cuMemAllocFromPoolAsync(&mut again, bytes, pool.raw, second.raw))?;
            assert_eq!(again, address);
            pool.free(again, second.raw)?;
            second.synchronize()?;
            assert_eq!(pool.get(RESERVED)?, 6 * CHUNK);
        } else {
            answers!(driver.cuMemAllocFromPoolAsync(&mut again, bytes, pool.raw, second.raw), CUDA_ERROR_OUT_OF_MEMORY);
        }
    }
    Ok(())
}

#[test]
fn a_destroyed_pool_gives_its_memory_back_when_its_last_allocation_is_freed() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (_machine, driver) = small(mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for round in 0..20 {
            let pool = Pool::hoarding(driver)?;
            let [first, second] = [pool.take(3 * CHUNK, stream.raw)?, pool.take(3 * CHUNK, stream.raw)?];
            drop(pool);
            call!(driver.cuMemFreeAsync(first, stream.raw))?;
            call!(driver.cuMemFreeAsync(second, stream.raw))?;
            stream.synchronize().map_err(|error| format!("round {round}: {error}"))?;
        }
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, (10 * CHUNK) as usize))?;
        call!(driver.cuMemFree_v2(plain))?;
    }
    Ok(())
}
