//! Duplicates of buffers.

use warploom::{Buffer, ContextError, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError, Result, Stream};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

driver_tests! {
    /// BUF-10: without a destination, one is allocated from the resource of the source.
    fn a_duplicate_comes_from_the_same_resource(driver) {
        let (pool, stream) = setup(driver)?;
        let buffer = pool.upload(&[1_u32, 2, 3], &stream)?;
        let used = pool.statistics()?.used;
        let calls = [(Function::cuMemAllocFromPoolAsync, 1), (Function::cuMemcpyDtoDAsync_v2, 1)];
        let mut duplicate = budget(driver, &calls, || buffer.duplicate(&stream))?;
        assert_eq!(pool.statistics()?.used, 2 * used);
        duplicate.fill(7, &stream)?;
        assert_eq!((buffer.download(&stream)?, duplicate.download(&stream)?), (vec![1, 2, 3], vec![7; 3]));
        let plain = DeviceMemory::new(stream.context()).upload(&[4_u8, 5], &stream)?;
        let duplicate = plain.duplicate(&stream)?;
        budget(driver, &[(Function::cuMemFree_v2, 1)], || drop(plain));
        assert_eq!(duplicate.download(&stream)?, [4, 5]);
        budget(driver, &[(Function::cuMemFree_v2, 1)], || drop(duplicate));
    }

    fn a_duplicate_lives_in_the_order_of_the_stream_that_it_was_made_on(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let buffer = pool.upload(&[1_u8, 2, 3], &stream)?;
        let duplicate = buffer.duplicate(&other)?;
        drop(buffer);
        assert_eq!(duplicate.download(&other)?, [1, 2, 3]);
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || drop(duplicate));
    }

    fn memory_of_others_has_nowhere_to_be_duplicated(driver) {
        let (pool, stream) = setup(driver)?;
        let owner = pool.upload(&[1_u8, 2, 3], &stream)?;
        let (address, len) = (owner.as_raw(), owner.len());
        #[expect(unsafe_code, reason = "memory that somebody else owns")]
        // SAFETY: the owner has that many bytes, and does nothing with them.
        let borrowed = unsafe { Buffer::<u8>::from_owner(address, len, stream.context(), owner) }?;
        let refused = budget(driver, &[], || borrowed.duplicate(&stream).map(drop));
        assert_eq!(refused, Err(Error::Memory(MemoryError::NoResource)));
    }
}

#[test]
fn a_stream_of_another_device_makes_no_duplicate() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (pool, stream) = setup(&driver)?;
    let foreign = driver.device(1)?.context()?.stream()?;
    let buffer = pool.zeroed::<u8>(4, &stream)?;
    let refused = budget(&driver, &[], || buffer.duplicate(&foreign).map(drop));
    assert_eq!(refused, Err(Error::Context(ContextError::Mismatch { stream: 1, memory: 0 })));
    Ok(())
}

#[test]
fn duplicates_leave_nothing_behind_whichever_call_fails() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            DevicePool::new(&context)?.upload(b"pool", &stream)?.duplicate(&stream)?.download(&stream)?;
            DeviceMemory::new(&context).upload(b"plain", &stream)?.duplicate(&stream)?.download(&stream)?;
            Ok(())
        });
    }
    Ok(())
}
