//! A resource with a budget and statistics: adaptors that stand on a pool, or on anything else.

use warploom::{Counted, Driver, Error, Limited, MemoryError, OrderedResource as _};

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

const LIMIT: usize = 1 << 20;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let share = Counted::ordered(&Limited::ordered(&pool, LIMIT));
    let kept = share.zeroed::<f32>(LIMIT / 8, &stream)?;
    drop(share.zeroed::<f32>(LIMIT / 16, &stream)?);

    let calls = driver.count_calls();
    let refused = share.allocate::<u8>(LIMIT, &stream).map(drop);
    let asked_driver = calls.total() > 0;
    drop(calls);
    let counts = share.counts();
    let (live_bytes, peak_bytes) = (counts.live_bytes, counts.peak_bytes);
    drop(kept);
    let checks = vec![
        Check::new(
            "what is over the limit is refused without asking the driver",
            matches!(refused, Err(Error::Memory(MemoryError::OverLimit { .. }))) && !asked_driver,
        ),
        Check::new("the books agree at the end", share.counts().live == 0 && counts.allocations == 2),
    ];
    let message = refused.map_or_else(|error| error.to_string(), |()| "it was granted".to_owned());
    let limit_bytes = LIMIT as u64;
    Ok((Findings::Resources { limit_bytes, live_bytes, peak_bytes, message }, checks))
}
