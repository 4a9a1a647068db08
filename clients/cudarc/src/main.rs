//! A cudarc program as anyone might write it, on a machine with four A100. Reports in TAP; exit code 1 if a
//! check failed.

mod devices;
mod guide;
mod kernels;
mod latch;
mod memory;
mod misuse;
mod peers;
mod streams;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

type Outcome = Result<(), Box<dyn Error>>;
/// A sentence, and what holds if it is true.
type Check = (&'static str, fn() -> Outcome);

fn main() -> ExitCode {
    let checks = [
        devices::CHECKS,
        streams::CHECKS,
        memory::CHECKS,
        peers::CHECKS,
        kernels::CHECKS,
        misuse::CHECKS,
        guide::CHECKS,
    ]
    .concat();
    println!("1..{}", checks.len());
    let mut failed = false;
    for (number, (sentence, check)) in (1..).zip(checks) {
        let outcome = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| Err("panicked".into()));
        if let Err(error) = &outcome {
            println!("# {error}");
            failed = true;
        }
        println!("{} {number} - {sentence}", if outcome.is_ok() { "ok" } else { "not ok" });
    }
    ExitCode::from(u8::from(failed))
}
