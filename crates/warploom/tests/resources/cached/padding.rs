//! Values with padding in memory that the host can use, and that goes from one buffer to the next.
#![expect(unsafe_code, reason = "wraps memory of a cache")]

use std::any::type_name;

use warploom::{
    Cached, Context, Counted, DeviceCopy, DevicePool, Driver, Error, Limited, ManagedBuffer, ManagedPool, MemoryError,
    OrderedResource, PinnedBuffer, PinnedPool, Result, Stream,
};
use warploom_testkit::{TestResult, driver_tests};

#[derive(Clone, Copy, Debug, DeviceCopy, PartialEq)]
#[repr(C)]
struct Padded(u8, u32);

#[derive(Clone, Copy, Debug, DeviceCopy, PartialEq)]
#[repr(C)]
struct Full(u8, [u8; 3], u32);

fn setup(driver: &Driver) -> TestResult<(Context, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((context, stream))
}

fn refused<T>(result: Result<T>) {
    let refused = MemoryError::ReusedPadding { padded: type_name::<Padded>() };
    assert_eq!(result.map(drop), Err(Error::Memory(refused)));
}

driver_tests! {
    /// Its padding would be bytes of the next buffer, which never were initialised.
    fn the_host_writes_no_padding_to_page_locked_memory_of_a_cache(driver) {
        let (context, stream) = setup(driver)?;
        let pool = PinnedPool::new(&context)?;
        let cache = Cached::new(&pool);
        let layers = [cache.resource(), Limited::ordered(&cache, 1 << 20), Counted::ordered(&cache)];
        let caches = layers.iter().map(|layer| Cached::new(layer).resource());
        for resource in layers.iter().cloned().chain(caches) {
            refused(resource.allocate::<Padded>(64, &stream)?.into_pinned());
            let address = resource.allocate_raw(512, &stream)?;
            // SAFETY: allocated above, in the order of the stream, and used by nothing else.
            refused(unsafe { PinnedBuffer::<Padded>::from_ordered(address, 64, &resource, &stream) });
            // SAFETY: as above; after the refusal, the address is still the caller's.
            let mut full = unsafe { PinnedBuffer::<Full>::from_ordered(address, 64, &resource, &stream) }?;
            full[0] = Full(1, [2; 3], 3);
            drop(full);
            assert_eq!(resource.allocate::<u8>(512, &stream)?.into_pinned()?.len(), 512);
        }
        // What the driver copies is initialised in any case, and a pool gets its memory from the driver.
        let values = [Padded(1, 2), Padded(3, 4)];
        assert_eq!(cache.upload(&values, &stream)?.download(&stream)?, values);
        let mut pinned = pool.allocate::<Padded>(2, &stream)?.into_pinned()?;
        pinned.copy_from_slice(&values);
        assert_eq!(pinned.as_slice(), values);
    }

    fn the_host_writes_no_padding_to_managed_memory_of_a_cache(driver) {
        let (context, stream) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        let cache = Cached::new(&pool);
        let values = [Padded(1, 2), Padded(3, 4)];
        let mut managed = ManagedBuffer::try_from(cache.upload(&values, &stream)?)?;
        refused(managed.host_mut().map(drop));
        // SAFETY: the call is refused.
        refused(unsafe { managed.host_mut_while_idle() }.map(drop));
        assert_eq!(managed.host()?, values, "the host reads it");
        assert_eq!(managed.download(&stream)?, values);

        let mut full = ManagedBuffer::try_from(cache.zeroed::<Full>(2, &stream)?)?;
        full.host_mut()?[1] = Full(1, [2; 3], 3);
        let mut uncached = pool.upload(&values, &stream)?;
        uncached.host_mut()?[0] = Padded(5, 6);
        assert_eq!(uncached.download(&stream)?, [Padded(5, 6), Padded(3, 4)]);
    }

    fn device_memory_of_a_cache_has_values_with_padding(driver) {
        let (context, stream) = setup(driver)?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let values = [Padded(1, 2), Padded(3, 4)];
        assert_eq!(cache.upload(&values, &stream)?.download(&stream)?, values);
    }
}

#[test]
fn a_refusal_of_padding_says_what_to_do() {
    let refused = MemoryError::ReusedPadding { padded: "Padded" };
    let expected = "Padded has padding, whose bytes the host would leave uninitialised in memory that a cache gives to \
                    other buffers; give each byte a field, or allocate without a cache";
    assert_eq!(refused.to_string(), expected);
}
