//! Pools of page-locked memory: every buffer operation, each one driver call.

use warploom::{
    Buffer, Context, DevicePool, Driver, Error, Function, Host, Location, LocationError, MemoryError, NumaId,
    OrderedResource, PinnedPool, PoolOptions, Result, Stream, copy_batch,
};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sys::types::{CUmemAccess_flags, CUresult};
use warploom_testkit::{TestResult, assert_sound, budget, call, driver_tests, open};

fn pools(context: &Context) -> Result<[PinnedPool; 2]> {
    let node = PinnedPool::on_numa_node(context, NumaId::try_from(0_u32)?, PoolOptions::new())?;
    Ok([PinnedPool::new(context)?, node])
}

/// A buffer of the pool, one of the device, and a stream that has met both.
fn setup(driver: &Driver, pool: &PinnedPool) -> TestResult<(Buffer<u16>, Buffer<u16>, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let pinned = pool.upload(&[1, 2, 3, 4, 5, 6, 7, 8], &stream)?;
    let device = DevicePool::new(&context)?.zeroed(8, &stream)?;
    Ok((pinned, device, stream))
}

driver_tests! {
    fn memory_of_a_pinned_pool_is_used_by_device_and_host(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        for pool in pools(&context)? {
            let mut buffer = pool.upload(&[1_u32, 2, 3, 4], &stream)?;
            buffer.slice_mut(..2)?.fill(9, &stream)?;
            let mut pinned = buffer.into_pinned()?;
            pinned[3] = 40;
            let mut device = DevicePool::new(&context)?.allocate(4, &stream)?;
            let pinned = device.as_slice_mut().copy_from_pinned(pinned, &stream)?.wait()?;
            assert_eq!((device.download(&stream)?, &pinned[..]), (vec![9, 9, 3, 40], &[9, 9, 3, 40][..]));
            budget(driver, &[(Function::cuMemFreeAsync, 1)], || drop(pinned));
            pool.trim(0)?;
        }
    }

    fn copies_and_fills_of_a_pinned_pool_are_one_call_each(driver) {
        for pool in pools(&driver.device(0)?.context()?)? {
            let (mut pinned, mut device, stream) = setup(driver, &pool)?;
            let one = [(Function::cuMemcpyAsync, 1)];
            budget(driver, &one, || pinned.copy_to(&mut device, &stream))?;
            assert_eq!(device.download(&stream)?, [1, 2, 3, 4, 5, 6, 7, 8]);
            budget(driver, &[(Function::cuMemsetD16Async, 1)], || pinned.fill(9, &stream))?;
            budget(driver, &one, || device.slice(..4)?.copy_to(pinned.slice_mut(4..)?, &stream))?;
            let waited = [(Function::cuMemcpyAsync, 1), (Function::cuStreamSynchronize, 1)];
            let found = budget(driver, &waited, || pinned.download(&stream))?;
            assert_eq!(found, [9, 9, 9, 9, 1, 2, 3, 4]);
            budget(driver, &waited, || pinned.copy_from_host(&[3; 8], &stream))?;
            let mut other = pool.zeroed::<u16>(8, &stream)?;
            budget(driver, &one, || pinned.copy_to(&mut other, &stream))?;
            assert_eq!(other.download(&stream)?, [3; 8]);
            assert_eq!(pinned.duplicate(&stream)?.download(&stream)?, [3; 8]);
        }
    }

    fn rows_of_a_pinned_pool_are_copied_and_filled_with_one_call_each(driver) {
        for pool in pools(&driver.device(0)?.context()?)? {
            let (mut pinned, mut device, stream) = setup(driver, &pool)?;
            let one = [(Function::cuMemcpy2DAsync_v2, 1)];
            budget(driver, &one, || pinned.rows(4, 2, 2)?.copy_to(device.rows_mut(4, 2, 2)?, &stream))?;
            assert_eq!(device.download(&stream)?, [1, 2, 0, 0, 5, 6, 0, 0]);
            budget(driver, &[(Function::cuMemsetD2D16Async, 1)], || pinned.rows_mut(4, 1, 2)?.fill(7, &stream))?;
            budget(driver, &one, || device.rows(4, 1, 2)?.copy_to(pinned.rows_mut(3, 1, 2)?, &stream))?;
            assert_eq!(pinned.download(&stream)?, [1, 2, 3, 5, 7, 6, 7, 8]);
            let mut part = pinned.rows_mut(4, 2, 2)?;
            part.reborrow().copy_from_host(&[10, 20, 30, 40], &stream)?;
            assert_eq!(part.as_rows().download(&stream)?, [10, 20, 30, 40]);
        }
    }

    /// MR-9: a pool says which memory of the host it has.
    fn the_location_of_a_pinned_pool_is_the_one_asked_for(driver) {
        let context = driver.device(0)?.context()?;
        let node = Host::Numa(NumaId::try_from(0_u32)?);
        assert_eq!(pools(&context)?.map(|pool| pool.location()), [Host::Any, node]);
        assert_eq!(PinnedPool::default_of(&context, node)?.location(), node);
    }

    fn batches_take_memory_of_a_pinned_pool(driver) {
        let pool = PinnedPool::new(&driver.device(0)?.context()?)?;
        let (pinned, mut device, stream) = setup(driver, &pool)?;
        let mut back = pool.zeroed::<u16>(8, &stream)?;
        let (left, right) = device.as_slice_mut().split_at_mut(4)?;
        copy_batch([(pinned.slice(4..)?, left), (pinned.slice(..4)?, right)], &stream)?;
        let (left, right) = back.as_slice_mut().split_at_mut(1)?;
        copy_batch([(device.slice(7..)?, left), (device.slice(..7)?, right)], &stream)?;
        assert_eq!(back.download(&stream)?, [4, 5, 6, 7, 8, 1, 2, 3]);
    }

    fn a_copy_gives_memory_of_a_pinned_pool_back(driver) {
        let pool = PinnedPool::new(&driver.device(0)?.context()?)?;
        let (pinned, mut device, stream) = setup(driver, &pool)?;
        let pinned = device.as_slice_mut().copy_from_pinned(pinned.into_pinned()?, &stream)?.wait()?;
        let mut other = pool.allocate(8, &stream)?;
        let taken = other.as_slice_mut().copy_from_pinned(pinned, &stream)?.wait()?;
        let back = other.as_slice().copy_to_pinned(taken, &stream)?.wait()?;
        assert_eq!((back.as_slice(), device.download(&stream)?), (&[1, 2, 3, 4, 5, 6, 7, 8][..], back.to_vec()));
    }

    fn memory_of_a_pinned_pool_is_copied_between_contexts(driver) {
        let (primary, own) = (driver.device(0)?.context()?, driver.device(0)?.create_context(Default::default())?);
        between_contexts(&primary, &own)?;
    }

    fn a_pinned_pool_is_open_to_its_device_until_it_ends(driver) {
        let context = driver.device(0)?.context()?;
        let pool = PinnedPool::new(&context)?;
        let (mut flags, mut device) = (CUmemAccess_flags(0), Location::from(context.device()).to_raw());
        call!(driver.cuMemPoolGetAccess(&mut flags, pool.as_raw(), &mut device))?;
        assert_eq!(flags, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        let calls = driver.record_calls();
        drop(pool);
        let made: Vec<Function> = calls.take().iter().map(|(function, _)| *function).collect();
        assert!(made.ends_with(&[Function::cuMemPoolSetAccess, Function::cuMemPoolDestroy]), "{made:?}");
        assert!(made.contains(&Function::cuCtxSynchronize), "work on its memory is over: {made:?}");
    }
}

/// Both ways, on streams of either context, in one piece and in rows.
fn between_contexts(here: &Context, there: &Context) -> TestResult {
    let (near, far) = (here.stream()?, there.stream()?);
    for stream in [&near, &far] {
        let pinned = PinnedPool::new(here)?.upload(&[1_u8, 2, 3, 4], &near)?;
        let mut device = DevicePool::new(there)?.zeroed::<u8>(4, &far)?;
        stream.wait(&near.record()?)?;
        stream.wait(&far.record()?)?;
        pinned.copy_to(&mut device, stream)?;
        let mut back = PinnedPool::new(here)?.zeroed::<u8>(4, &near)?;
        stream.wait(&near.record()?)?;
        device.rows(2, 1, 2)?.copy_to(back.rows_mut(2, 1, 2)?, stream)?;
        near.wait(&stream.record()?)?;
        assert_eq!(back.download(&near)?, [1, 0, 3, 0]);
    }
    Ok(())
}

#[test]
fn memory_of_a_pinned_pool_is_copied_between_devices() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = open(Topology::preset("pcie-pair")?, mode)?;
        between_contexts(&driver.device(0)?.context()?, &driver.device(1)?.context()?)?;
        assert_sound(&machine);
    }
    Ok(())
}

/// The memory is there for the host when the stream has come to its allocation, and not before.
#[test]
fn the_host_waits_for_the_stream_that_the_memory_was_allocated_on() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let mut buffer = PinnedPool::new(&context)?.allocate::<u8>(4, &stream)?;
    buffer.fill(1, &other)?;
    assert!(machine.unfinished_ops() > 0);
    let waits = [(Function::cuStreamSynchronize, 2)];
    let pinned = budget(&driver, &waits, || buffer.into_pinned())?;
    assert_eq!((pinned.as_slice(), machine.unfinished_ops()), (&[1; 4][..], 0));
    Ok(())
}

#[test]
fn a_node_that_does_not_exist_has_no_pool() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let made = PinnedPool::on_numa_node(&context, NumaId::try_from(1_u32)?, PoolOptions::new()).map(drop);
    assert_eq!(made.map_err(|error: Error| error.code()), Err(Some(CUresult::CUDA_ERROR_INVALID_VALUE)));
    Ok(())
}

/// Drivers have the attribute since 12.9, and the pools since 12.6.
#[test]
fn pools_of_a_node_are_there_on_drivers_that_do_not_know_the_attribute() -> TestResult {
    let unsupported = Error::Memory(MemoryError::PoolUnsupported { of: "page-locked memory", device: 0 });
    let node = NumaId::try_from(0_u32)?;
    for minor in [6, 8, 9] {
        let topology = Topology::preset("h200")?.into_builder().driver_version(12, minor).build()?;
        let (machine, driver) = open(topology, Mode::Threads)?;
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = PinnedPool::on_numa_node(&context, node, PoolOptions::new())?;
        assert_eq!(pool.upload(&[1_u8, 2], &stream)?.download(&stream)?, [1, 2]);
        assert_eq!(PinnedPool::new(&context).map(drop), Err(unsupported.clone()));
        let nowhere = Host::Numa(NumaId::try_from(7_u32)?);
        let refused = PinnedPool::on_numa_node(&context, NumaId::try_from(7_u32)?, PoolOptions::new()).map(drop);
        assert_eq!(refused, Err(Error::Location(LocationError::NumaRefused { host: nowhere })));
        drop(pool);
        assert_sound(&machine);
    }
    Ok(())
}

#[test]
fn a_device_that_says_no_has_no_pools_of_a_node() -> TestResult {
    let text = "[[device]]\nmodel = \"h200\"\nattributes = { host_numa_memory_pools_supported = 0 }\n";
    let (_machine, driver) = open(Topology::from_toml(text)?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let made = PinnedPool::on_numa_node(&context, NumaId::try_from(0_u32)?, PoolOptions::new()).map(drop);
    let unsupported = MemoryError::PoolUnsupported { of: "page-locked memory", device: 0 };
    assert_eq!(made, Err(Error::Memory(unsupported)));
    Ok(())
}
