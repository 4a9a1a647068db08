//! Page-locked memory: the host's while no stream uses it, and a copy's while one does.

use warploom::{
    ContextError, CopyError, DeviceError, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError, PinnedBuffer,
    PinnedMemory, PinnedOptions, Stream, SynchronousResource,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, budget, call, driver_tests, open};

fn setup(driver: &Driver) -> TestResult<(PinnedMemory, DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((PinnedMemory::new(&context), DevicePool::new(&context)?, stream))
}

driver_tests! {
    fn values_go_to_the_device_and_back_while_the_host_does_not_wait(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let mut sent = memory.buffer::<u32>(1000)?;
        assert!(sent.iter().all(|value| *value == 0));
        for (value, number) in sent.iter_mut().zip(0..) {
            *value = number;
        }
        let mut device = pool.allocate(1000, &stream)?;
        let sending = device.as_slice_mut().copy_from_pinned(sent, &stream)?;
        let receiving = device.as_slice().copy_to_pinned(memory.buffer(1000)?, &stream)?;
        let received = receiving.wait()?;
        assert!(sending.is_done()?);
        assert_eq!(received.as_slice(), sending.wait()?.as_slice());
        assert_eq!(received[999], 999);
    }

    /// S4.5: page-locked memory is allocated without a stream, with any current context, and leaves that as
    /// it was.
    fn allocating_and_freeing_make_one_call_beside_those_for_the_context(driver) {
        let (memory, _pool, _stream) = setup(driver)?;
        let around = [(Function::cuCtxGetCurrent, 1), (Function::cuCtxSetCurrent, 2)];
        let allowed = [&around[..], &[(Function::cuMemHostAlloc, 1)]].concat();
        let buffer = budget(driver, &allowed, || memory.buffer::<u8>(100))?;
        budget(driver, &[(Function::cuMemFreeHost, 1)], || drop(buffer));
    }

    fn a_copy_makes_one_call_and_one_record_and_does_not_wait(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let mut device = pool.zeroed::<u8>(64, &stream)?;
        let host = device.as_slice_mut().copy_from_pinned(memory.buffer(64)?, &stream)?.wait()?;
        let sent = [(Function::cuMemcpyHtoDAsync_v2, 1), (Function::cuEventRecord, 1)];
        let pending = budget(driver, &sent, || device.as_slice_mut().copy_from_pinned(host, &stream))?;
        budget(driver, &[(Function::cuEventQuery, 1)], || pending.is_done())?;
        device.as_slice().copy_to_pinned(pending.wait()?, &stream)?.wait()?;
    }

    fn a_pending_copy_may_be_dropped_or_forgotten(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let mut device = pool.zeroed::<u8>(1 << 20, &stream)?;
        drop(device.as_slice_mut().copy_from_pinned(memory.buffer_of(&vec![7; 1 << 20])?, &stream)?);
        drop(device.as_slice().copy_to_pinned(memory.buffer(1 << 20)?, &stream)?);
        assert_eq!(device.slice(5..9)?.download(&stream)?, [7; 4]);
        let lost = device.as_slice().copy_to_pinned(memory.buffer(1 << 20)?, &stream)?;
        drop(device);
        std::mem::forget(lost);
        stream.synchronize()?;
    }

    fn memory_used_on_another_threads_stream_is_given_back(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let device = pool.upload(&[5_u8; 64], &stream)?;
        stream.synchronize()?;
        let buffers = std::thread::scope(|scope| {
            let copying = scope.spawn(|| -> warploom::Result<_> {
                let own = memory.context().per_thread_stream();
                let pending = device.as_slice().copy_to_pinned(memory.buffer(64)?, &own)?;
                let mut filled = memory.buffer::<u8>(64)?.into_buffer();
                filled.fill(6, &own)?;
                Ok((pending, filled))
            });
            copying.join().map_err(|_| "the thread panicked")
        })?;
        let (pending, filled) = buffers?;
        assert_eq!((pending.wait()?.as_slice(), filled.into_pinned()?.as_slice()), (&[5; 64][..], &[6; 64][..]));
    }

    fn memory_of_the_host_is_used_by_the_device_as_it_is(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut buffer = memory.buffer_of(&[1_u16, 2, 3, 4])?.into_buffer();
        buffer.slice_mut(..2)?.fill(9, &stream)?;
        let (_, rest) = buffer.as_slice_mut().split_at_mut(2)?;
        rest.copy_from(&pool.upload(&[30_u16, 40], &other)?, &other)?;
        let mut pinned = buffer.into_pinned()?;
        assert_eq!(pinned.as_slice(), [9, 9, 30, 40]);
        pinned.as_mut_slice()[0] = 5;
        assert_eq!(pinned.into_buffer().download(&stream)?, [5, 9, 30, 40]);
    }

    fn every_kind_of_page_locked_memory_works(driver) {
        let (memory, pool, stream) = setup(driver)?;
        for options in [PinnedOptions::new().portable(), PinnedOptions::new().write_combined(), PinnedOptions::new().portable().write_combined()] {
            let sent = PinnedMemory::with(memory.context(), options).buffer_of(b"over")?;
            let mut device = pool.allocate(4, &stream)?;
            device.as_slice_mut().copy_from_pinned(sent, &stream)?.wait()?;
            assert_eq!(device.download(&stream)?, b"over");
        }
    }

    fn invalid_copies_are_refused_before_the_driver_is_called(driver) {
        let (memory, pool, stream) = setup(driver)?;
        let mut device = pool.zeroed::<u64>(4, &stream)?;
        let plain = DeviceMemory::new(memory.context());
        budget(driver, &[], || {
            let too_large = Error::Memory(MemoryError::TooLarge { len: usize::MAX / 8, element: 8 });
            assert_eq!(memory.buffer::<u64>(usize::MAX / 8).map(drop), Err(too_large));
            assert_eq!(PinnedBuffer::<u64>::zeroed(4, &plain).map(drop), Err(Error::Memory(MemoryError::NotPinned)));
        });
        assert_eq!(pool.allocate::<u8>(4, &stream)?.into_pinned().map(drop), Err(Error::Memory(MemoryError::NotPinned)));
        let short = memory.buffer(3)?;
        let refused = Error::Copy(CopyError::LengthMismatch { source_len: 3, destination_len: 4 });
        budget(driver, &[(Function::cuMemFreeHost, 1)], || {
            assert_eq!(device.as_slice_mut().copy_from_pinned(short, &stream).map(drop), Err(refused));
        });
    }

    fn too_much_page_locked_memory_is_an_error_that_changes_nothing(driver) {
        let (memory, _pool, _stream) = setup(driver)?;
        let error = memory.allocate::<u8>(1 << 60).map(drop).expect_err("more than there is");
        assert!(error.is_out_of_memory(), "{error}");
        assert_eq!(memory.buffer_of(b"works")?.as_slice(), b"works");
    }
}

#[test]
fn a_copy_is_enqueued_on_streams_of_the_device_memory_with_pages_of_the_same_driver() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let (memory, pool, stream) = setup(&driver)?;
    let there = driver.device(1)?.context()?;
    let (far_memory, far_stream) = (PinnedMemory::new(&there), there.stream()?);
    let mut device = pool.zeroed::<u8>(8, &stream)?;
    let refused = device.as_slice_mut().copy_from_pinned(memory.buffer(8)?, &far_stream).map(drop);
    assert_eq!(refused, Err(Error::Context(ContextError::Mismatch { stream: 1, memory: 0 })));
    // Freeing pages of one context waits for that context alone; their users elsewhere are waited for by
    // name.
    let pending = device.as_slice_mut().copy_from_pinned(far_memory.buffer_of(b"far away")?, &stream)?;
    let calls = driver.record_calls();
    drop(pending);
    let made: Vec<Function> = calls.take().iter().map(|(function, _)| *function).collect();
    assert!(made.starts_with(&[Function::cuStreamSynchronize, Function::cuMemFreeHost]), "{made:?}");
    assert_eq!(device.download(&stream)?, b"far away");
    let again = device.as_slice().copy_to_pinned(far_memory.buffer(8)?, &stream)?.wait()?;
    budget(&driver, &[(Function::cuMemFreeHost, 1)], || drop(again));

    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (foreign, ..) = setup(&other)?;
    let refused = device.as_slice().copy_to_pinned(foreign.buffer(8)?, &stream).map(drop);
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    Ok(())
}

/// A copy that cannot be waited for may still be running.
#[test]
fn memory_does_not_come_back_from_a_copy_whose_end_is_unknown() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let (memory, pool, stream) = setup(&driver)?;
    let device = pool.upload(b"late", &stream)?;
    let pending = device.as_slice().copy_to_pinned(memory.buffer(4)?, &stream)?;
    let before = machine.census();
    let plan = Plan::new().rule(Rule::on(Calls::named("cuEventSynchronize")?).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let scope = machine.inject(plan)?;
    let error = pending.wait().map(drop).map_err(|error| error.code());
    assert_eq!(error, Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
    drop(scope);
    assert_ne!(machine.census(), before, "the memory was freed after the copy");
    assert_eq!(machine.unfinished_ops(), 0, "for which that waited");
    Ok(())
}

#[test]
fn page_locked_memory_goes_with_no_context_or_another_one_current_and_on_any_thread() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (memory, _pool, _stream) = setup(&driver)?;
    let there = driver.device(1)?.context()?;
    let before = machine.census();
    let (first, second, third) = (memory.buffer::<u8>(8)?, memory.buffer::<u8>(8)?, memory.buffer::<u8>(8)?);
    drop(first);
    std::thread::spawn(move || drop(second)).join().map_err(|_| "the thread panicked")?;
    let foreign = there.as_raw();
    call!(driver.cuCtxSetCurrent(foreign))?;
    drop(third);
    let mut current = std::ptr::null_mut();
    call!(driver.cuCtxGetCurrent(&mut current))?;
    assert_eq!(current, foreign);
    call!(driver.cuCtxSetCurrent(std::ptr::null_mut()))?;
    assert_eq!(machine.census(), before);
    Ok(())
}
