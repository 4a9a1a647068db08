//! Cost of fault plans, and of a sweep.
//!
//! `cargo bench -p warploom-sim --bench fault` prints nanoseconds per call without a plan, with one that is
//! about other calls, with one that meets every call, and with one that has to find out where a call is; and
//! the time of a sweep of 100 calls.
#![expect(clippy::print_stdout, reason = "prints its tables")]

use std::ptr::null_mut;
use std::time::Instant;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::fault::{Calls, Class, Plan, Rule};
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::sys::types::CUstream;
use warploom_testkit::{Primary, TestResult, call, open};

const CALLS: u32 = 200_000;

/// Nanoseconds per query of an idle stream; the best of five.
fn measure(driver: &Driver, stream: CUstream) -> TestResult<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let began = Instant::now();
        for _ in 0..CALLS {
            call!(driver.cuStreamQuery(stream))?;
        }
        best = best.min(began.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    Ok(best)
}

fn main() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Eager))?;
    let _primary = Primary::of(&driver, 0)?;
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    println!("cuStreamQuery, ns per call");
    println!("  {:<40} {:>8.1}", "no plan", measure(&driver, stream)?);
    let plans = [
        ("a plan about other calls", Rule::on(Class::Alloc)),
        ("a plan that meets it, and does nothing", Rule::on(Class::Query).nth(u64::MAX)),
        ("a plan about a device", Rule::on(Class::Query).on_device(0).nth(u64::MAX)),
    ];
    for (name, rule) in plans {
        let _scope = machine.inject(Plan::new().rule(rule))?;
        println!("  {name:<40} {:>8.1}", measure(&driver, stream)?);
    }
    let report = Sweep::new(Topology::preset("h200")?).tolerates(Calls::all()).run(|_: &Machine, driver: &Driver| {
        for _ in 0..100 {
            // It may fail, and then the next may not.
            driver.initialize().unwrap_or_default();
        }
        Ok::<(), String>(())
    });
    print!("{report}");
    Ok(())
}
