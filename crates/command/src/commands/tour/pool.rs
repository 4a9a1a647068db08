//! A pool that reuses the memory of dropped buffers.

use warploom::Driver;

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

const BYTES: usize = 8 << 20;
const ROUNDS: u32 = 10;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    drop(pool.zeroed::<u8>(BYTES, &stream)?);
    let after_one = pool.statistics()?;
    for _ in 1..ROUNDS {
        drop(pool.zeroed::<u8>(BYTES, &stream)?);
    }
    stream.synchronize()?;
    let after_all = pool.statistics()?;
    pool.trim(0)?;
    let trimmed = pool.statistics()?;
    let checks = vec![
        Check::new("later buffers reused the memory of the first", after_all.reserved_high == after_one.reserved_high),
        Check::new("nothing is in use at the end", after_all.used == 0),
        Check::new("trimming gave everything back to the device", trimmed.reserved == 0),
    ];
    let findings = Findings::Pool {
        rounds: ROUNDS,
        bytes_per_round: BYTES,
        reserved_bytes: after_all.reserved_high,
        used_high_bytes: after_all.used_high,
    };
    Ok((findings, checks))
}
