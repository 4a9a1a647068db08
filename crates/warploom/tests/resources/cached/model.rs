//! Blocks of a cache against a model: the ranges of live buffers.

use std::collections::BTreeMap;

use warploom::{Buffer, CacheOptions, Cached, Context, DevicePool, OtherStreams, Stream};
use warploom_testkit::{Random, TestResult, driver_tests};

/// The live buffers by address, with the byte that fills each and its stream.
type Live = BTreeMap<u64, (Buffer, u8, Stream)>;

fn random_len(random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.pick(&[1, 512, 4096, 1 << 20]),
        1 => 1 + random.below(2000),
        2 => 1 + random.below(100_000),
        _ => 1 + random.below(3 << 20),
    }
}

/// Adds a buffer. It overlaps none that is alive.
fn add(live: &mut Live, mut buffer: Buffer, byte: u8, stream: &Stream) -> TestResult {
    let (start, end) = (buffer.as_raw(), buffer.as_raw() + buffer.len() as u64);
    assert!(start.is_multiple_of(512), "{buffer:?}");
    let before = live.range(..end).next_back().map(|(base, (other, ..))| base + other.len() as u64);
    assert!(before.is_none_or(|before| before <= start), "{start:#x}..{end:#x} overlaps another");
    buffer.fill(byte, stream)?;
    live.insert(start, (buffer, byte, stream.clone()));
    Ok(())
}

fn run(context: &Context, seed: u64, options: CacheOptions) -> TestResult {
    let pool = DevicePool::new(context)?;
    let cache = Cached::with(&pool, options);
    let streams = (0..4).map(|_| context.stream()).collect::<warploom::Result<Vec<Stream>>>()?;
    let (mut random, mut live) = (Random::new(seed), Live::new());
    for turn in 0..400 {
        let stream = &streams[random.below(streams.len())];
        let any = live.keys().copied().nth(random.below(live.len().max(1)));
        match (random.below(10), any) {
            (0..5, _) | (_, None) => {
                let buffer = cache.allocate(random_len(&mut random), stream)?;
                add(&mut live, buffer, turn as u8, stream)?;
            }
            // Used on another stream, and freed in that one's order.
            (5, Some(at)) => {
                if let Some((mut buffer, byte, home)) = live.remove(&at) {
                    stream.wait_for(&home)?;
                    assert_eq!(buffer.slice(..1)?.download(stream)?, [byte]);
                    buffer.set_free_stream(stream)?;
                    buffer.fill(0, stream)?;
                }
            }
            (6, _) => {
                cache.release_unused()?;
            }
            (_, Some(at)) => {
                if let Some((buffer, byte, home)) = live.remove(&at) {
                    stream.wait_for(&home)?;
                    assert_eq!(buffer.slice(buffer.len() - 1..)?.download(stream)?, [byte]);
                }
            }
        }
        let statistics = cache.statistics();
        let asked: usize = live.values().map(|(buffer, ..)| buffer.len()).sum();
        assert!(asked <= statistics.in_use, "{statistics:?}");
        assert_eq!(statistics.reserved, statistics.in_use + statistics.cached, "{statistics:?}");
    }
    live.clear();
    cache.release_unused()?;
    let statistics = cache.statistics();
    assert_eq!((statistics.reserved, statistics.in_use, statistics.segments), (0, 0, 0));
    context.synchronize()?;
    assert_eq!(pool.statistics()?.used, 0);
    Ok(())
}

driver_tests! {
    fn blocks_in_use_never_overlap_and_all_come_back(driver) {
        let context = driver.device(0)?.context()?;
        for (seed, other_streams) in [OtherStreams::Wait, OtherStreams::Idle, OtherStreams::Never].into_iter().enumerate() {
            super::run(&context, seed as u64, CacheOptions::new().other_streams(other_streams))?;
        }
    }
}
