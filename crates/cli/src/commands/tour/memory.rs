//! Bytes to the device and back.

use warploom::Driver;

use super::{StepResult, first_device, noise};
use crate::report::{Check, Findings};

const BYTES: usize = 4 << 20;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let sent = noise(BYTES);
    let there = pool.upload(&sent, &stream)?;
    let mut copy = pool.zeroed(BYTES, &stream)?;
    there.copy_to(&mut copy, &stream)?;
    let back = copy.download(&stream)?;
    let checks = vec![Check::new("what came back is what was sent", back == sent)];
    Ok((Findings::RoundTrip { bytes: BYTES }, checks))
}
