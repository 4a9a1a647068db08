//! Batches of copies, with and without the driver's batch call.

use warploom::sys::types::{CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpySrcAccessOrder};
use warploom::{
    ContextError, CopyError, DeviceError, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError, Result,
    Slice, SliceMut, Stream, copy_batch,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, call, driver_tests, in_every_mode, open};

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

fn with_driver(preset: &str, version: &str) -> TestResult<Topology> {
    Ok(Topology::from_toml(&format!("driver = \"{version}\"\npreset = \"{preset}\""))?)
}

/// The driver calls of a batch of `copies`.
fn calls_for(driver: &Driver, copies: u64) -> Vec<(Function, u64)> {
    let care = |batch| vec![(batch, 1), (Function::cuCtxGetCurrent, 1), (Function::cuCtxSetCurrent, 2)];
    if driver.supports(Function::cuMemcpyBatchAsync_v2) {
        care(Function::cuMemcpyBatchAsync_v2)
    } else if driver.supports(Function::cuMemcpyBatchAsync) {
        care(Function::cuMemcpyBatchAsync)
    } else {
        vec![(Function::cuMemcpyDtoDAsync_v2, copies)]
    }
}

/// Copies the pieces of one buffer into those of another, the other way around.
fn reversed(driver: &Driver) -> TestResult<Vec<u32>> {
    let (pool, stream) = setup(driver)?;
    let sent: Vec<u32> = (0..1000).collect();
    let from = pool.upload(&sent, &stream)?;
    let mut to = pool.zeroed::<u32>(1000, &stream)?;
    let (mut rest, mut copies) = (to.as_slice_mut(), Vec::new());
    for piece in from.as_slice().chunks(100)? {
        let (before, last) = rest.split_at_mut(900 - 100 * copies.len())?;
        copies.push((piece, last));
        rest = before;
    }
    budget(driver, &calls_for(driver, 10), || copy_batch(copies, &stream))?;
    Ok(to.download(&stream)?)
}

driver_tests! {
    fn the_pieces_of_a_buffer_are_copied_in_one_call(driver) {
        let expected: Vec<u32> = (0..10).rev().flat_map(|piece| piece * 100..piece * 100 + 100).collect();
        assert_eq!(reversed(driver)?, expected);
    }

    fn a_batch_is_ordered_with_the_rest_of_its_stream(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut first, mut second) = (pool.zeroed::<u8>(70_000, &stream)?, pool.zeroed::<u8>(70_000, &stream)?);
        let mut from = pool.allocate::<u8>(70_000, &stream)?;
        from.fill(1, &stream)?;
        copy_batch([(&from, &mut first), (&from, &mut second)], &stream)?;
        from.fill(2, &stream)?;
        drop(from);
        assert_eq!((first.download(&stream)?, second.download(&stream)?), (vec![1; 70_000], vec![1; 70_000]));
    }

    fn a_batch_is_ordered_after_earlier_waits_and_before_the_free_of_its_memory(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut results = Vec::new();
        for round in 0..6_u8 {
            // The memory of one round is what the next one gets: freed too early, it would be filled too
            // early.
            let mut source = pool.allocate::<u8>(1 << 20, &stream)?;
            source.fill(round, &stream)?;
            let (mut one, mut two) = (pool.allocate::<u8>(1 << 19, &other)?, pool.allocate::<u8>(1 << 19, &other)?);
            let (left, right) = source.as_slice().split_at(1 << 19)?;
            copy_batch([(left, &mut one), (right, &mut two)], &other)?;
            drop(source);
            results.extend([(round, one), (round, two)]);
        }
        for (round, result) in results {
            assert!(result.download(&other)?.iter().all(|byte| *byte == round), "round {round}");
        }
    }

    fn invalid_batches_are_refused_before_the_driver_is_called(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let from = pool.upload(&[1_u16, 2, 3], &stream)?;
        let (mut right, mut wrong) = (pool.upload(&[0_u16; 3], &stream)?, pool.upload(&[0_u16; 2], &stream)?);
        // A stream that has not met the memory: it must not meet it now, either.
        let refused = budget(driver, &[], || copy_batch([(&from, &mut right), (&from, &mut wrong)], &other));
        let error = Box::new(Error::Copy(CopyError::LengthMismatch { source_len: 3, destination_len: 2 }));
        assert_eq!(refused, Err(Error::Memory(MemoryError::InBatch { index: 1, error })));
        assert_eq!(
            refused.expect_err("the lengths differ").to_string(),
            "item 1 of the batch: 3 values cannot be copied to 2; the lengths must be equal"
        );
        assert_eq!(right.download(&stream)?, [0; 3]);
    }

    fn the_default_streams_take_batches_too(driver) {
        let (pool, stream) = setup(driver)?;
        let context = stream.context();
        for (default, has_batches) in [(context.legacy_stream(), false), (context.per_thread_stream(), true)] {
            let from = pool.upload(&[1_u8, 2, 3, 4], &default)?;
            let mut to = pool.zeroed::<u8>(4, &default)?;
            let (left, right) = to.as_slice_mut().split_at_mut(2)?;
            let (before, after) = from.as_slice().split_at(2)?;
            let calls = driver.count_calls();
            copy_batch([(before, right), (after, left)], &default)?;
            let single = calls.by_function().contains(&(Function::cuMemcpyDtoDAsync_v2, 2));
            assert_eq!(single, !has_batches || calls_for(driver, 2)[0].1 == 2);
            assert_eq!(to.download(&default)?, [3, 4, 1, 2]);
        }
    }

    fn copies_of_nothing_are_left_out(driver) {
        let (pool, stream) = setup(driver)?;
        let from = pool.upload(&[1_u8, 2, 3, 4], &stream)?;
        let mut to = pool.zeroed::<u8>(4, &stream)?;
        budget(driver, &[], || -> Result<()> {
            copy_batch(std::iter::empty::<(Slice<'_>, SliceMut<'_>)>(), &stream)?;
            copy_batch([(from.slice(1..1)?, to.slice_mut(4..)?)], &stream)
        })?;
        let (left, right) = to.as_slice_mut().split_at_mut(2)?;
        let copies = [(from.slice(..0)?, left.slice_mut(..0)?), (from.slice(1..3)?, right)];
        budget(driver, &[(Function::cuMemcpyDtoDAsync_v2, 1)], || copy_batch(copies, &stream))?;
        assert_eq!(to.download(&stream)?, [0, 0, 2, 3]);
    }
}

#[test]
fn drivers_with_and_without_batches_copy_the_same() -> TestResult {
    for (version, function) in [
        ("12.2", Function::cuMemcpyDtoDAsync_v2),
        ("12.8", Function::cuMemcpyBatchAsync),
        ("13.0", Function::cuMemcpyBatchAsync_v2),
    ] {
        let expected: Vec<u32> = (0..10).rev().flat_map(|piece| piece * 100..piece * 100 + 100).collect();
        let copied = in_every_mode(&with_driver("h200", version)?, 2, |_, driver| {
            assert_eq!(calls_for(driver, 10)[0].0, function, "driver {version}");
            reversed(driver)
        })?;
        assert_eq!(copied, expected, "driver {version}");
    }
    Ok(())
}

#[test]
fn copies_to_another_device_are_separate_from_the_batch() -> TestResult {
    for (version, preset) in [("12.2", "hgx-a100-4"), ("12.8", "pcie-t4"), ("13.0", "hgx-a100-4")] {
        in_every_mode(&with_driver(preset, version)?, 2, |_, driver| {
            let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
            let (stream, other) = (here.stream()?, there.stream()?);
            let (near, far) = (DevicePool::new(&here)?, DevicePool::new(&there)?);
            let from = near.upload(b"both", &stream)?;
            let (mut one, mut two) = (near.zeroed(4, &stream)?, near.zeroed(4, &stream)?);
            let mut away = far.zeroed(4, &other)?;
            stream.wait(&other.record()?)?;
            // The first time, the stream meets the memory of the other device.
            copy_batch([(&from, &mut one), (&from, &mut away), (&from, &mut two)], &stream)?;
            let again = [(&from, &mut one), (&from, &mut away), (&from, &mut two)];
            let calls = [calls_for(driver, 2), vec![(Function::cuMemcpyPeerAsync, 1)]].concat();
            budget(driver, &calls, || copy_batch(again, &stream))?;
            other.wait(&stream.record()?)?;
            for (buffer, stream) in [(one, &stream), (two, &stream), (away, &other)] {
                assert_eq!(buffer.download(stream)?, b"both");
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_batch_refuses_streams_of_other_devices_and_memory_of_other_drivers() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let (_other_machine, other_driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (pool, stream) = setup(&driver)?;
    let foreign = driver.device(2)?.context()?.stream()?;
    let (other_pool, other_stream) = setup(&other_driver)?;
    let from = pool.zeroed::<u8>(4, &stream)?;
    let (mut one, mut two) = (pool.zeroed::<u8>(4, &stream)?, other_pool.zeroed::<u8>(4, &other_stream)?);
    budget(&driver, &[], || {
        let error = Box::new(Error::Context(ContextError::Mismatch { stream: 2, memory: 0 }));
        assert_eq!(
            copy_batch([(&from, &mut one)], &foreign),
            Err(Error::Memory(MemoryError::InBatch { index: 0, error }))
        );
        let refused = copy_batch([(&from, &mut one), (&from, &mut two)], &stream);
        let Err(Error::Memory(MemoryError::InBatch { index: 1, error })) = refused else { panic!("{refused:?}") };
        assert!(matches!(*error, Error::Device(DeviceError::DriverMismatch { .. })), "{error}");
    });
    Ok(())
}

/// S3.28, of the end that the stream does not belong to.
#[test]
fn memory_of_a_context_that_was_reset_is_refused_as_either_end() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (pool, stream) = setup(&driver)?;
    let mut near = pool.zeroed::<u8>(4, &stream)?;
    let device = driver.device(1)?;
    let mut far = DeviceMemory::new(&device.context()?).allocate::<u8>(4)?;
    #[expect(unsafe_code, reason = "resets a context with memory in it that is not used any more")]
    // SAFETY: what is tested is that it is not.
    unsafe { device.reset_context() }?;
    let stale = Error::Context(ContextError::Stale { device: 1, expected: 0, found: 1 });
    budget(&driver, &[], || -> TestResult {
        assert_eq!(near.copy_to(&mut far, &stream), Err(stale.clone()));
        assert_eq!(far.copy_to(&mut near, &stream), Err(stale.clone()));
        assert_eq!(far.rows(2, 2, 2)?.copy_to(near.rows_mut(2, 2, 2)?, &stream), Err(stale.clone()));
        let error = Box::new(stale.clone());
        assert_eq!(
            copy_batch([(&near, &mut far)], &stream),
            Err(Error::Memory(MemoryError::InBatch { index: 0, error }))
        );
        Ok(())
    })
}

/// The machine's checks find overlapping copies in a batch: the borrow rules allow none, so the addresses are
/// passed to the driver directly.
#[test]
fn the_checks_see_copies_of_a_batch_that_touch_each_other() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Eager))?;
    let (pool, stream) = setup(&driver)?;
    let from = pool.zeroed::<u8>(64, &stream)?;
    let mut to = pool.zeroed::<u8>(64, &stream)?;
    let (left, right) = to.as_slice_mut().split_at_mut(32)?;
    copy_batch([(from.slice(..32)?, left), (from.slice(16..48)?, right)], &stream)?;
    assert_eq!(machine.findings(), []);
    let nowhere = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, 0);
    let in_order = CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    let mut order = CUmemcpyAttributes { srcAccessOrder: in_order, srcLocHint: nowhere, dstLocHint: nowhere, flags: 0 };
    let mut addresses = [[to.as_raw(), to.as_raw() + 31], [from.as_raw(), from.as_raw() + 32]];
    let [destinations, sources] = &mut addresses;
    stream.context().scope(|| {
        call!(driver.cuMemcpyBatchAsync_v2(
            destinations.as_mut_ptr(),
            sources.as_mut_ptr(),
            [32, 32].as_mut_ptr(),
            2,
            &mut order,
            &mut 0,
            1,
            stream.as_raw()
        ))
    })??;
    let found = machine.take_findings();
    assert!(matches!(found[..], [ref only] if matches!(only.kind, FindingKind::Race { .. })), "{found:?}");
    Ok(())
}

#[test]
fn batches_leave_nothing_behind_whichever_call_fails() -> TestResult {
    for version in ["12.2", "12.8", "13.0"] {
        for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
            let sweep = Sweep::new(with_driver("h200", version)?).mode(mode).after_effect(true);
            sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_: &Machine, driver: &Driver| -> Result<()> {
                let context = driver.device(0)?.context()?;
                let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
                let from = pool.upload(b"twice", &stream)?;
                let (mut one, mut two) = (pool.allocate(5, &stream)?, pool.allocate(5, &stream)?);
                copy_batch([(&from, &mut one), (&from, &mut two)], &stream)?;
                one.download(&stream)?;
                two.download(&stream)?;
                Ok(())
            });
        }
    }
    Ok(())
}
