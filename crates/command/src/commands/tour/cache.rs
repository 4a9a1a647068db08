//! A cache on a pool: allocations without a driver call.

use warploom::{Cached, Driver};

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

const STEPS: usize = 100;
const BYTES: usize = 4 << 20;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let other = stream.context().stream()?;
    let cache = Cached::new(&pool);
    drop(cache.allocate::<u8>(BYTES, &stream)?);

    let calls = driver.count_calls();
    for _ in 0..STEPS {
        drop(cache.allocate::<u8>(BYTES, &stream)?);
    }
    let driver_calls = calls.total();
    drop(calls);
    let mut elsewhere = cache.allocate::<u8>(BYTES, &other)?;
    elsewhere.fill(7, &other)?;
    let is_filled = elsewhere.slice(BYTES - 1..)?.download(&other)? == [7];
    drop(elsewhere);
    let statistics = cache.statistics();
    let released_bytes = cache.release_unused()? as u64;
    let checks = vec![
        Check::new("memory of a stream is reused on it without a driver call", driver_calls == 0),
        Check::new("another stream reuses it behind an event", statistics.crossings == 1 && is_filled),
        Check::new("unused memory goes back to the pool", cache.statistics().reserved == 0),
    ];
    let (hits, misses) = (statistics.hits, statistics.misses);
    Ok((Findings::Cache { hits, misses, driver_calls, released_bytes }, checks))
}
