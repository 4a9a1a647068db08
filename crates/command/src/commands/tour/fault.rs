//! More memory than there is: an error that says so, and nothing else has changed.

use warploom::Driver;

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

/// Bytes requested beyond the total memory of the device.
const TOO_MUCH: u64 = 1 << 30;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let asked_bytes = driver.device(0)?.total_memory()? + TOO_MUCH;
    let refused = pool.allocate::<u8>(usize::try_from(asked_bytes)?, &stream).map(drop);
    let works = pool.upload(b"as before", &stream)?.download(&stream)? == b"as before";
    let checks = vec![
        Check::new(
            "the error is known by its kind, not by its text",
            matches!(&refused, Err(error) if error.is_out_of_memory()),
        ),
        Check::new("the pool works as before", works),
    ];
    let message = refused.map_or_else(|error| error.to_string(), |()| "it was granted".to_owned());
    Ok((Findings::Fault { asked_bytes, message }, checks))
}
