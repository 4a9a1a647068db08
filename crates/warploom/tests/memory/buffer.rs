//! Buffers: copies, fills, and freeing.

use std::sync::Arc;
use std::time::Duration;

use warploom::{
    Buffer, ContextError, CopyError, DeviceError, DevicePool, Driver, Error, Function, Stream, sys::types::CUresult,
};
use warploom_sim::{Machine, Mode, topology::Topology};
use warploom_testkit::{TestResult, budget, call, driver_tests, in_every_mode, open};

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..=255).cycle().take(len).collect()
}

driver_tests! {
    fn bytes_survive_the_trip_to_the_device_and_back(driver) {
        let (pool, stream) = setup(driver)?;
        for len in [1, 3, 256, 100_000, 5_000_000] {
            let sent = pattern(len);
            assert!(pool.upload(&sent, &stream)?.download(&stream)? == sent, "{len} bytes");
        }
    }

    fn a_zeroed_buffer_is_zero_also_in_memory_that_was_used_before(driver) {
        let (pool, stream) = setup(driver)?;
        drop(pool.upload(&pattern(10_000), &stream)?);
        assert_eq!(pool.zeroed::<u8>(10_000, &stream)?.download(&stream)?, vec![0; 10_000]);
    }

    fn a_fill_sets_every_byte_and_no_other(driver) {
        let (pool, stream) = setup(driver)?;
        let neighbours = [pool.zeroed::<u8>(1000, &stream)?, pool.zeroed::<u8>(1000, &stream)?];
        let mut filled = pool.zeroed::<u8>(1000, &stream)?;
        filled.fill(0xa5, &stream)?;
        assert_eq!(filled.download(&stream)?, vec![0xa5; 1000]);
        for neighbour in neighbours {
            assert_eq!(neighbour.download(&stream)?, vec![0; 1000]);
        }
    }

    fn a_copy_to_another_buffer_is_ordered_on_the_stream(driver) {
        let (pool, stream) = setup(driver)?;
        let sent = pattern(70_000);
        let source = pool.upload(&sent, &stream)?;
        let mut copy = pool.zeroed::<u8>(sent.len(), &stream)?;
        source.copy_to(&mut copy, &stream)?;
        drop(source);
        assert!(copy.download(&stream)? == sent);
    }

    fn bytes_can_be_replaced(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(b"old", &stream)?;
        buffer.copy_from_host(b"new", &stream)?;
        assert_eq!(buffer.download(&stream)?, b"new");
    }

    fn lengths_must_be_equal(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.zeroed::<u8>(4, &stream)?;
        let mut other = pool.zeroed::<u8>(5, &stream)?;
        assert_eq!(buffer.len(), 4);
        let refused = |source_len, destination_len| Err(Error::Copy(CopyError::LengthMismatch { source_len, destination_len }));
        budget(driver, &[], || {
            assert_eq!(buffer.copy_from_host(&[0; 3], &stream), refused(3, 4));
            assert_eq!(buffer.copy_from_host(&[], &stream), refused(0, 4));
            assert_eq!(buffer.copy_to(&mut other, &stream), refused(4, 5));
        });
    }

    /// BUF-7: a size of 0 is allowed.
    fn empty_buffers_make_no_driver_call(driver) {
        let (pool, stream) = setup(driver)?;
        let other = pool.context().stream()?;
        let calls = driver.count_calls();
        for mut empty in [pool.allocate::<u8>(0, &stream)?, pool.zeroed::<u8>(0, &stream)?, pool.upload(&[], &stream)?] {
            assert_eq!((empty.as_raw(), empty.len()), (0, 0));
            empty.set_free_stream(&other)?;
            empty.close_on(&stream)?;
        }
        drop(pool.allocate::<()>(5, &stream)?);
        assert_eq!(calls.total(), 0);
    }

    fn a_buffer_on_its_own_stream_costs_one_call_each_way(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = budget(driver, &[(Function::cuMemAllocFromPoolAsync, 1)], || pool.allocate::<u8>(64, &stream))?;
        budget(driver, &[(Function::cuMemsetD8Async, 1)], || buffer.fill(1, &stream))?;
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || drop(buffer));
    }

    fn the_second_use_on_another_stream_costs_one_call(driver) {
        let (pool, stream) = setup(driver)?;
        let other = pool.context().stream()?;
        let mut buffer = pool.zeroed::<u8>(64, &stream)?;
        buffer.fill(1, &other)?;
        budget(driver, &[(Function::cuMemsetD8Async, 1)], || buffer.fill(2, &other))?;
        assert_eq!(buffer.download(&other)?, [2; 64]);
    }

    fn a_buffer_dropped_while_another_stream_uses_it_is_freed_after_that_use(driver) {
        let (pool, stream) = setup(driver)?;
        let other = pool.context().stream()?;
        let mut results = Vec::new();
        for round in 0..8_u8 {
            // The memory of one round is what the next one gets: freed too early, it would be filled too
            // early.
            let mut source = pool.allocate::<u8>(1 << 20, &stream)?;
            source.fill(round, &stream)?;
            let mut result = pool.allocate::<u8>(1 << 20, &other)?;
            source.copy_to(&mut result, &other)?;
            drop(source);
            results.push(result);
        }
        for (round, result) in results.iter().enumerate() {
            let bytes = result.download(&other)?;
            assert!(bytes.iter().all(|byte| usize::from(*byte) == round), "round {round}");
        }
    }

    fn a_buffer_outlives_its_pool_and_stream_values(driver) {
        let (pool, stream) = setup(driver)?;
        let buffer = pool.upload(b"still here", &stream)?;
        drop((pool, stream));
        let other = buffer.context().stream()?;
        assert_eq!(buffer.download(&other)?, b"still here");
    }

    fn a_buffer_may_be_dropped_on_another_thread(driver) {
        let (pool, stream) = setup(driver)?;
        let buffer = pool.zeroed::<u8>(1000, &stream)?;
        std::thread::spawn(move || drop(buffer)).join().expect("the thread does not panic");
        stream.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
    }
}

#[test]
fn memory_on_one_device_is_copied_to_another() -> TestResult {
    let topology = Topology::preset("hgx-a100-4")?;
    let sent = pattern(300_000);
    let received = in_every_mode(&topology, 4, |_, driver| {
        let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
        let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>, _>>()?;
        let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>, _>>()?;
        let mut buffer = pools[0].upload(&sent, &streams[0])?;
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
            let mut copy = pools[to].zeroed(sent.len(), &streams[to])?;
            // Alternately on a stream of the source and of the destination.
            let on = &streams[if to % 2 == 0 { to } else { from }];
            on.wait(&streams[from].record()?)?;
            on.wait(&streams[to].record()?)?;
            buffer.copy_to(&mut copy, on)?;
            streams[to].wait(&on.record()?)?;
            buffer = copy;
        }
        Ok(buffer.download(&streams[0])?)
    })?;
    assert!(received == sent);
    Ok(())
}

#[test]
fn a_stream_of_another_device_is_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let contexts = (0..3).map(|ordinal| driver.device(ordinal)?.context()).collect::<Result<Vec<_>, _>>()?;
    let (pool, own) = (DevicePool::new(&contexts[0])?, contexts[0].stream()?);
    let foreign = contexts[2].stream()?;
    let mut buffer = pool.zeroed::<u8>(8, &own)?;
    let mut far = DevicePool::new(&contexts[1])?.zeroed(8, &contexts[1].stream()?)?;
    budget(&driver, &[], || {
        let refused = Err(Error::Context(ContextError::Mismatch { stream: 2, memory: 0 }));
        assert_eq!(pool.allocate::<u8>(8, &foreign).map(|_| ()), refused);
        assert_eq!(buffer.fill(1, &foreign), refused);
        assert_eq!(buffer.copy_from_host(&[0; 8], &foreign), refused);
        assert_eq!(buffer.download(&foreign).map(|_| ()), refused);
        assert_eq!(buffer.copy_to(&mut far, &foreign), refused);
    });
    Ok(())
}

#[test]
fn memory_of_another_driver_is_refused() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (pool, stream) = setup(&one)?;
    let (foreign_pool, foreign_stream) = setup(&other)?;
    let buffer = pool.zeroed::<u8>(8, &stream)?;
    let mut foreign = foreign_pool.zeroed::<u8>(8, &foreign_stream)?;
    let refused = [
        pool.allocate::<u8>(8, &foreign_stream).map(|_| ()),
        buffer.download(&foreign_stream).map(|_| ()),
        buffer.copy_to(&mut foreign, &stream),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    }
    Ok(())
}

#[test]
fn a_download_whose_end_cannot_be_awaited_is_an_error_and_the_bytes_may_still_come() -> TestResult {
    let machine = Machine::builder().patience(Duration::from_millis(300)).start()?;
    let driver = Driver::open(&machine)?;
    let (pool, stream) = setup(&driver)?;
    let other = pool.context().stream()?;
    let buffer = pool.upload(b"late", &stream)?;
    let gate = pool.zeroed::<u8>(4, &stream)?;
    stream.synchronize()?;

    call!(driver.cuStreamWaitValue32_v2(stream.as_raw(), gate.as_raw(), 1, 0))?;
    let failed = buffer.download(&stream).map_err(|error| error.code());
    assert_eq!(failed, Err(Some(CUresult::CUDA_ERROR_TIMEOUT)));
    call!(driver.cuStreamWriteValue32_v2(other.as_raw(), gate.as_raw(), 1, 0))?;
    assert_eq!(buffer.download(&stream)?, b"late");
    Ok(())
}

/// S3.29: what a device had enqueued before its context was reset is over, and keeps no memory of another
/// device from being freed.
#[test]
fn a_buffer_is_freed_though_the_context_of_a_stream_that_used_it_was_reset() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    let (stream, other) = (here.stream()?, there.stream()?);
    let pool = DevicePool::new(&here)?;
    let (sent, kept) = (pool.upload(b"sent", &stream)?, Arc::new(()));
    let mut arrived = DevicePool::new(&there)?.zeroed(4, &other)?;
    sent.copy_to(&mut arrived, &other)?;
    #[expect(unsafe_code, reason = "wraps memory that somebody else owns")]
    // SAFETY: the memory is there until `sent` is closed below, and nobody writes it.
    let wrapped = unsafe { Buffer::from_owner(sent.as_raw(), 4, &here, Arc::clone(&kept)) }?;
    wrapped.copy_to(&mut arrived, &other)?;
    other.synchronize()?;
    drop(arrived);
    #[expect(unsafe_code, reason = "resets a context")]
    // SAFETY: nothing made in the context is used from here on.
    unsafe { driver.device(1)?.reset_context() }?;
    wrapped.close()?;
    assert_eq!(Arc::strong_count(&kept), 1, "the owner has been let go");
    sent.close()?;
    stream.synchronize()?;
    assert_eq!(pool.statistics()?.used, 0);
    Ok(())
}
