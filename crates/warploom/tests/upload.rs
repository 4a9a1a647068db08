//! Uploads: what the host has to wait for, and what it does not.

mod gate;

use warploom::{DevicePool, Devices, Driver, Function, Stream};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, in_every_mode};

use crate::gate::Gate;

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

driver_tests! {
    fn an_upload_returns_before_its_stream_gets_there_and_the_values_may_change(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut values, mut buffer) = ([7_u8; 256], pool.zeroed::<u8>(256, &stream)?);
        let gate = Gate::close(&stream)?;
        buffer.copy_from_host(&values, &stream)?;
        values.fill(9);
        assert!(!stream.is_idle()?);
        gate.open();
        assert_eq!(buffer.download(&stream)?, [7; 256]);
        assert_eq!(values, [9; 256]);
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

    fn an_upload_of_many_megabytes_arrives_whole(driver) {
        let (pool, stream) = setup(driver)?;
        let mut values: Vec<u32> = (0..4 << 20).collect();
        let buffer = pool.upload(&values, &stream)?;
        let sent = std::mem::replace(&mut values, vec![0; 4 << 20]);
        assert!(buffer.download(&stream)? == sent);
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
