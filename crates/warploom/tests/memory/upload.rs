//! Uploads: the waits of the host.

use warploom::{Buffer, DeviceMemory, DevicePool, Driver, Function, ManagedMemory, Stream};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, in_every_mode};

use crate::gate::Gate;

/// The most that is uploaded without a wait.
const SMALL: usize = 64 << 10;

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

driver_tests! {
    fn a_small_upload_returns_before_its_stream_gets_there_and_the_values_may_change(driver) {
        let (pool, stream) = setup(driver)?;
        for len in [256, SMALL] {
            let (mut values, mut buffer) = (vec![7_u8; len], pool.zeroed::<u8>(len, &stream)?);
            let gate = Gate::close(&stream)?;
            buffer.copy_from_host(&values, &stream)?;
            values.fill(9);
            assert!(!stream.is_idle()?);
            gate.open();
            assert_eq!(buffer.download(&stream)?, vec![7; len]);
        }
    }

    /// An H200 reads more than 64 KiB, and what goes to managed memory, when the stream gets there, whatever
    /// it promised. More than 64 KiB are read into staging memory by the call itself.
    fn uploads_that_a_driver_may_read_late_are_waited_for(driver) {
        let (pool, stream) = setup(driver)?;
        let context = stream.context();
        let mut large = pool.zeroed::<u8>(SMALL + 1, &stream)?;
        let mut managed = ManagedMemory::new(context)?.zeroed::<u8>(256, &stream)?;
        let plain = DeviceMemory::new(context).zeroed::<u8>(256, &stream)?;
        #[expect(unsafe_code, reason = "wraps memory that somebody else owns")]
        // SAFETY: the memory is there until `plain` is dropped, at the end, and used by nobody else.
        let mut unknown = unsafe { Buffer::<u8>::borrowed(plain.as_raw(), 256, context) }?;
        large.copy_from_host(&vec![0; SMALL + 1], &stream)?; // takes staging memory
        stream.synchronize()?;
        let staged = [(Function::cuEventQuery, 1), (Function::cuMemcpyHtoDAsync_v2, 1), (Function::cuEventRecord, 1)];
        budget(driver, &staged, || large.copy_from_host(&vec![1; SMALL + 1], &stream))?;
        let waited = [(Function::cuMemcpyHtoDAsync_v2, 1), (Function::cuStreamSynchronize, 1)];
        budget(driver, &waited, || managed.copy_from_host(&[2; 256], &stream))?;
        budget(driver, &waited, || unknown.copy_from_host(&[3; 256], &stream))?;
        assert_eq!(large.download(&stream)?, vec![1; SMALL + 1]);
        assert_eq!(managed.download(&stream)?, [2; 256]);
        assert_eq!(unknown.download(&stream)?, [3; 256]);
    }

    fn an_upload_is_one_call_with_a_current_context(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.zeroed::<u8>(256, &stream)?;
        let calls = [(Function::cuCtxGetCurrent, 1), (Function::cuMemcpyBatchAsync_v2, 1)];
        stream.context().scope(|| budget(driver, &calls, || buffer.copy_from_host(&[1; 256], &stream)))??;
        assert_eq!(buffer.download(&stream)?, [1; 256]);
    }

    fn default_streams_take_uploads_too(driver) {
        let (pool, stream) = setup(driver)?;
        for stream in [stream.context().legacy_stream(), stream.context().per_thread_stream()] {
            let values: Vec<u32> = (0..1000).collect();
            assert_eq!(pool.upload(&values, &stream)?.download(&stream)?, values);
        }
    }

    fn an_upload_of_many_megabytes_arrives_whole_though_the_values_change_afterwards(driver) {
        let (pool, stream) = setup(driver)?;
        let mut values: Vec<u32> = (0..4 << 20).collect();
        let buffer = pool.upload(&values, &stream)?;
        values.fill(0);
        assert!(buffer.download(&stream)?.into_iter().eq(0..4 << 20));
    }
}

/// Drivers before 12.8 promise nothing about when pageable memory is read.
#[test]
fn an_older_driver_is_waited_for() -> TestResult {
    let topology = Topology::preset("h200")?.into_builder().driver_version(12, 4).build()?;
    in_every_mode(&topology, 1, |_, driver| {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.zeroed::<u8>(4, &stream)?;
        let calls = [(Function::cuMemcpyHtoDAsync_v2, 1), (Function::cuStreamSynchronize, 1)];
        budget(driver, &calls, || buffer.copy_from_host(&[1, 2, 3, 4], &stream))?;
        assert_eq!(buffer.download(&stream)?, [1, 2, 3, 4]);
        Ok(())
    })
}
