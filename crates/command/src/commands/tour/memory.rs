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
    // Values of 8 bytes, each chunk with its own; and the same memory as bytes.
    let mut numbers = pool.allocate::<f64>(1000, &stream)?;
    for (number, chunk) in (1_u8..).zip(numbers.chunks_mut(100)?) {
        chunk.fill(f64::from(number) / 10.0, &stream)?;
    }
    let tenths = numbers
        .download(&stream)?
        .chunks(100)
        .zip(1_u8..)
        .all(|(chunk, number)| chunk.iter().all(|value| *value == f64::from(number) / 10.0));
    let as_bytes = numbers.cast::<u8>()?.len() == 8000;
    let empty = pool.upload::<u8>(&[], &stream)?.download(&stream)?.is_empty();
    let checks = vec![
        Check::new("what came back is what was sent", back == sent),
        Check::new("and again, into memory that was there", again == sent),
        Check::new("ten chunks were filled with ten values of 8 bytes", tenths && as_bytes),
        Check::new("nothing was sent, and nothing came back", empty),
    ];
    Ok((Findings::RoundTrip { bytes: BYTES }, checks))
}
