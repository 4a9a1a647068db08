//! Fragmentation of a cache on a trace of a training.
//!
//! The trace is made anew in each run, always the same: [`ALLOCATIONS`] allocations of random sizes on 8
//! streams. One in twenty is a parameter, which stays. Of the others, half are activations: they are freed at
//! the end of their step, the newest first. The rest are workspaces, freed after a few allocations. Half the
//! sizes are up to 1 MiB, four in ten up to 32 MiB, one in ten up to 128 MiB, each with a uniform logarithm.

use std::collections::VecDeque;

use warploom::{Buffer, Cached, Context, DevicePool, Stream};
use warploom_testkit::{Random, TestResult, driver_tests};

const ALLOCATIONS: usize = 10_000;
/// Allocations of a step.
const STEP: usize = 250;

/// A size between two powers of two, with a uniform logarithm.
fn between(random: &mut Random, low: u32, high: u32) -> usize {
    let exponent = low + random.below((high - low) as usize) as u32;
    (1 << exponent) + random.below(1 << exponent)
}

fn random_size(random: &mut Random) -> usize {
    match random.below(10) {
        0..5 => between(random, 9, 20),
        5..9 => between(random, 20, 25),
        _ => between(random, 25, 27),
    }
}

/// The peaks of requested and of reserved bytes.
fn replay(context: &Context, seed: u64) -> TestResult<(usize, usize)> {
    let cache = Cached::new(&DevicePool::new(context)?);
    let streams = (0..8).map(|_| context.stream()).collect::<warploom::Result<Vec<Stream>>>()?;
    let mut random = Random::new(seed);
    let (mut demand, mut peak) = (0, 0);
    let (mut kept, mut activations) = (Vec::new(), Vec::new());
    let mut workspaces: VecDeque<Buffer> = VecDeque::new();
    for at in 0..ALLOCATIONS {
        let bytes = random_size(&mut random);
        let stream = &streams[random.below(streams.len())];
        let buffer = cache.allocate::<u8>(bytes, stream)?;
        demand += bytes;
        peak = peak.max(demand);
        match random.below(20) {
            0 if bytes < 4 << 20 => kept.push(buffer),
            0..10 => activations.push(buffer),
            _ => workspaces.push_back(buffer),
        }
        while workspaces.len() > 4 {
            demand -= workspaces.pop_front().map_or(0, |freed| freed.size_in_bytes());
        }
        if at % STEP == STEP - 1 {
            while let Some(freed) = activations.pop() {
                demand -= freed.size_in_bytes();
            }
        }
    }
    assert_eq!(demand, kept.iter().chain(&workspaces).map(Buffer::size_in_bytes).sum::<usize>());
    let statistics = cache.statistics();
    Ok((peak, statistics.reserved_peak))
}

driver_tests! {
    /// At most a quarter more than the peak demand is taken from the pool below.
    unchecked fn a_trace_of_a_training_leaves_little_memory_unused(driver) {
        let context = driver.device(0)?.context()?;
        for seed in [1, 2] {
            let (demand, reserved) = super::replay(&context, seed)?;
            assert!(reserved * 4 <= demand * 5, "{reserved} bytes for {demand}");
        }
    }
}
