//! Caches with each of their driver calls failing.

use warploom::{CacheOptions, Cached, DevicePool, Limited, OtherStreams};
use warploom_testkit::TestResult;

use crate::sweeps::everywhere;

/// A driver call that is made again after memory was given back, for as little as is needed.
pub(crate) const SECOND_ATTEMPT: &[&str] = &["cuMemAllocFromPoolAsync"];

/// Driver calls that make a stream wait before memory is given back; without them, the host waits.
const WAITS: &[&str] =
    &["cuCtxGetCurrent", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize"];

/// A stream that is not idle is no failure.
const QUERY: &[&str] = &["cuStreamQuery"];

#[test]
fn reuse_on_other_streams_leaves_nothing_behind() -> TestResult {
    for other_streams in [OtherStreams::Wait, OtherStreams::Idle] {
        everywhere(&[SECOND_ATTEMPT, WAITS, QUERY].concat(), |driver| {
            let context = driver.device(0)?.context()?;
            let (stream, other) = (context.stream()?, context.stream()?);
            let cache = Cached::with(&DevicePool::new(&context)?, CacheOptions::new().other_streams(other_streams));
            cache.zeroed::<u8>(4096, &stream)?.close()?;
            cache.zeroed::<u8>(4096, &other)?.close()?;
            cache.zeroed::<u8>(3 << 20, &other)?.close_on(&stream)?;
            cache.zeroed::<u8>(2 << 20, &other)?.close()?;
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn released_memory_and_second_attempts_leave_nothing_behind() -> TestResult {
    everywhere(&[SECOND_ATTEMPT, WAITS].concat(), |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&Limited::ordered(&DevicePool::new(&context)?, 40 << 20));
        let kept = cache.zeroed::<u8>(32 << 20, &stream)?;
        let (first, second) = (cache.zeroed::<u8>(100, &stream)?, cache.zeroed::<u8>(100, &stream)?);
        second.close_on(&other)?;
        first.close()?;
        cache.zeroed::<u8>(8 << 20, &other)?.close()?;
        assert!(cache.statistics().retries > 0);
        kept.close()?;
        cache.release_unused()?;
        assert_eq!(cache.statistics().reserved, 0);
        Ok(())
    })
}
