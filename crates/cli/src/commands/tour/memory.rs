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
    // Into memory that the program has, through page-locked pieces that the context keeps.
    let mut again = vec![0; BYTES];
    copy.copy_to_host(&mut again, &stream)?;
    let checks = vec![
        Check::new("what came back is what was sent", back == sent),
        Check::new("and again, into memory that was there", again == sent),
    ];
    Ok((Findings::RoundTrip { bytes: BYTES }, checks))
}
