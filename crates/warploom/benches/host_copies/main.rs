//! Rates of copies between pageable host memory and a device: the driver's own calls, and warploom.
//!
//! `cargo bench -p warploom --bench host_copies` runs on the system's driver, or on a simulated machine where
//! there is none. Each row gives the best and the median of its rounds, which take turns with those of the
//! other rows of the same size and direction.
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod ways;

use std::time::{Duration, Instant};

use warploom::Driver;
use warploom_sim::Machine;

use crate::ways::{Outcome, Setup, Way};

/// The sizes of the copies.
const SIZES: [usize; 11] =
    [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 64 << 20, 1 << 30];

/// The time that the rounds of one size and direction may take.
const TIME: Duration = Duration::from_secs(3);

/// The most rounds of one size and direction.
const ROUNDS: usize = 200;

fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(_) => Driver::open(&Machine::preset("h200")?)?,
    };
    println!("{}, driver {}", driver.description(), driver.version());
    println!("{:>9}  {:<34}{:>14}{:>14}", "", "GB/s", "best", "median");
    for bytes in SIZES {
        let mut setup = Setup::new(&driver, bytes)?;
        for ways in [Way::UPLOADS, Way::DOWNLOADS] {
            compare(&mut setup, ways)?;
        }
        setup.check()?;
    }
    Ok(())
}

fn compare(setup: &mut Setup, ways: &[Way]) -> Outcome {
    let mut rounds = vec![Vec::with_capacity(ROUNDS); ways.len()];
    let started = Instant::now();
    for round in 0..=ROUNDS {
        if round > 1 && started.elapsed() > TIME {
            break;
        }
        for turn in 0..ways.len() {
            let index = (turn + round) % ways.len();
            let start = Instant::now();
            setup.copy(ways[index])?;
            // The first round warms up.
            if round > 0 {
                rounds[index].push(start.elapsed().as_secs_f64());
            }
        }
    }
    for (way, mut seconds) in ways.iter().zip(rounds) {
        seconds.sort_by(f64::total_cmp);
        let rate = |seconds: f64| setup.bytes() as f64 / seconds / 1e9;
        let (best, median) = (rate(seconds[0]), rate(seconds[seconds.len() / 2]));
        println!("{:>5} KiB  {:<34}{best:>14.2}{median:>14.2}", setup.bytes() >> 10, way.name());
    }
    Ok(())
}
