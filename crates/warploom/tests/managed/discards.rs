//! Discards of contents.

use warploom::{
    Cached, CopyError, Error, Function, Host, Location, ManagedBuffer, ManagedPool, discard_batch,
    discard_prefetch_batch, driver,
};
use warploom_testkit::{TestResult, budget, driver_tests};

use super::{LARGE, on_driver, setup};

const DISCARD: Function = Function::cuMemDiscardBatchAsync;
const BOTH: Function = Function::cuMemDiscardAndPrefetchBatchAsync;

driver_tests! {
    /// S1.25, S1.26: one is a batch of one, on the stream that is named; what is written afterwards is there.
    fn discarded_memory_is_written_again(driver) {
        let (context, stream, memory) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        for mut buffer in [memory.upload(&vec![7_u32; LARGE], &stream)?, pool.upload(&vec![7_u32; LARGE], &stream)?] {
            budget(driver, &[(DISCARD, 1)], || buffer.discard(&stream))?;
            buffer.fill(8, &stream)?;
            assert_eq!(buffer.host()?, vec![8; LARGE]);
            let here = Location::from(driver.device(0)?);
            budget(driver, &[(BOTH, 1)], || buffer.discard_prefetch(here.clone(), &stream))?;
            assert_eq!(buffer.last_prefetch_location()?, Some(here));
            buffer.host_mut()?.fill(9);
            assert_eq!(buffer.download(&stream)?, vec![9; LARGE]);
        }
    }

    /// The contents seen by the host are undefined, but stable.
    fn discarded_memory_does_not_change_under_the_host(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let mut buffer = memory.upload(&vec![7_u8; 3 * LARGE], &stream)?;
        buffer.slice_mut(LARGE..2 * LARGE).map(warploom::ManagedRangeMut::from)?.discard(&stream)?;
        let host = buffer.host()?;
        let seen = host.to_vec();
        assert_eq!((host[0], host[3 * LARGE - 1]), (7, 7), "what was not discarded is still there");
        assert_eq!(buffer.host()?, seen);
        drop(host);
        buffer.discard(&stream)?;
        buffer.host_mut()?[5] = 1;
        assert_eq!(buffer.host()?[5], 1);
    }

    /// The next buffer of a cache gets the memory without the driver, discarded as it is.
    fn memory_discarded_in_a_cache_does_not_change_under_the_host(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let cache = Cached::new(&ManagedPool::new(&context)?);
        let mut buffer = ManagedBuffer::try_from(cache.upload(&vec![7_u8; LARGE], &stream)?)?;
        buffer.discard(&stream)?;
        let address = buffer.as_raw();
        drop(buffer);
        let next = ManagedBuffer::try_from(cache.allocate::<u8>(LARGE, &stream)?)?;
        assert_eq!(next.as_raw(), address);
        let host = next.host()?;
        let seen = host.to_vec();
        assert_eq!((&host[..], next.host()?.to_vec()), (&seen[..], seen.clone()));
    }

    /// S1.29: many with one call.
    fn many_are_discarded_with_one_call(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let mut buffers: Vec<ManagedBuffer<u8>> =
            (0..4).map(|_| memory.zeroed(LARGE, &stream)).collect::<Result<_, _>>()?;
        budget(driver, &[(DISCARD, 1)], || discard_batch(&mut buffers, &stream))?;
        let each = [Location::from(driver.device(0)?), Host::Any.into(), Host::Any.into(), driver.device(0)?.into()];
        budget(driver, &[(BOTH, 1)], || discard_prefetch_batch(&mut buffers, each.clone(), &stream))?;
        for (buffer, place) in buffers.iter().zip(each) {
            assert_eq!(buffer.last_prefetch_location()?, Some(place));
        }
        budget(driver, &[(BOTH, 1)], || discard_prefetch_batch(&mut buffers, Host::Any, &stream))?;
        for buffer in &mut buffers {
            buffer.fill(3, &stream)?;
            assert_eq!(buffer.host()?, vec![3; LARGE]);
        }
    }

    /// The legacy default stream takes no batches, and there is nothing else.
    fn the_legacy_stream_discards_nothing(driver) {
        let (context, stream, memory) = setup(driver)?;
        let mut buffer = memory.upload(&vec![7_u8; LARGE], &stream)?;
        let legacy = context.legacy_stream();
        budget(driver, &[], || {
            assert_eq!(buffer.discard(&legacy), Err(Error::Copy(CopyError::LegacyStream)));
            assert_eq!(buffer.discard_prefetch(Host::Any, &legacy), Err(Error::Copy(CopyError::LegacyStream)));
        });
        assert_eq!(buffer.host()?, vec![7; LARGE]);
    }
}

/// S1.9, S1.31: drivers before 13.0 discard nothing, and are not asked.
#[test]
fn older_drivers_discard_nothing() -> TestResult {
    on_driver(12, 9, |older| {
        let (context, stream, memory) = setup(older)?;
        let mut buffer = memory.upload(&vec![7_u8; LARGE], &stream)?;
        // Used on another stream first, it would have to wait for this one.
        for queue in [&stream, &context.stream()?, &context.legacy_stream()] {
            budget(older, &[], || {
                for (refused, missing) in
                    [(buffer.discard(queue), DISCARD), (buffer.discard_prefetch(Host::Any, queue), BOTH)]
                {
                    let Err(Error::Driver(driver::Error::Unsupported { function, .. })) = refused else {
                        panic!("{refused:?}")
                    };
                    assert_eq!(function, missing);
                }
            });
        }
        assert_eq!(buffer.host()?, vec![7; LARGE]);
        Ok(())
    })
}
