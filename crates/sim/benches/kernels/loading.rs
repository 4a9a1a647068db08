//! Time of loading a large text as a module, from the call to its return.

use std::ffi::CString;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Machine;
use warploom_testkit::{Primary, TestResult, call};

use crate::cases;

/// Bytes of PTX.
const LENGTH: usize = 10_000_000;
const ROUNDS: u32 = 10;

/// The measurements of loading a text.
#[derive(serde::Serialize)]
pub(crate) struct Loading {
    bytes: usize,
    kernels: usize,
    seconds: f64,
}

impl std::fmt::Display for Loading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Loading { bytes, kernels, seconds } = self;
        write!(f, "cuModuleLoadData of {:.1} MB with {kernels} kernels: {:.1} ms", *bytes as f64 / 1e6, seconds * 1e3)
    }
}

/// The fastest of some calls, or what one takes of a processor, if that is less: calls are long enough for
/// others to come between.
pub(crate) fn measure() -> TestResult<Loading> {
    let machine = Machine::builder().start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    let (text, kernels) = text();
    let (bytes, text) = (text.len(), CString::new(text)?);
    let (mut best, mut own) = (Duration::MAX, Duration::ZERO);
    for _ in 0..ROUNDS {
        let (mut module, start, before) = (null_mut(), Instant::now(), processor_time());
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        best = best.min(start.elapsed());
        own = own.saturating_add(before.zip(processor_time()).map_or(Duration::MAX, |(before, after)| after - before));
        call!(driver.cuModuleUnload(module))?;
    }
    let seconds = best.min(own / ROUNDS).as_secs_f64();
    Ok(Loading { bytes, kernels, seconds })
}

/// Processor time of this thread, in steps of a hundredth of a second, if the system reports it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name, which is in parentheses, may hold anything; user and system time are the 12th and 13th behind
    // it.
    let mut times = text.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// The texts of all cases behind each other and again, under one header, and how many kernels that are; each
/// has a name of its own.
fn text() -> (String, usize) {
    let (mut text, mut kernels) = (".version 8.0\n.target sm_75\n.address_size 64\n".to_owned(), 0);
    let cases = cases::all();
    for round in 0.. {
        for case in &cases {
            let mut body = case.text.split_once(".address_size 64\n").map_or("", |(_, body)| body).to_owned();
            let names: Vec<String> = body
                .match_indices(".entry ")
                .filter_map(|(at, word)| body[at + word.len()..].split_once('('))
                .map(|(name, _)| name.to_owned())
                .collect();
            for name in &names {
                body = body.replace(name, &format!("{name}_{round}"));
            }
            kernels += names.len();
            text.push_str(&body);
        }
        if text.len() >= LENGTH {
            break;
        }
    }
    (text, kernels)
}
