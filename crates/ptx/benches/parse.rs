//! Parsing speed: 10 MB of NVRTC's output as one module.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use warploom_ptx::Program;
use warploom_ptx::syntax::Module;

const LENGTH: usize = 10_000_000;
const ROUNDS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let text = text(|_| true)?;
    let megabytes = text.len() as f64 / 1e6;
    let report = |what: &str, took: Duration| {
        let seconds = took.as_secs_f64();
        println!("{what:<28}{:>8.1} ms{:>8.0} MB/s", seconds * 1e3, megabytes / seconds);
    };
    let module = Module::parse(&text)?;
    println!("{megabytes:.1} MB, {} functions, {} variables", module.functions.len(), module.variables.len());
    report(
        "into words, by white space",
        fastest(|| {
            std::hint::black_box(text.split_ascii_whitespace().count());
        }),
    );
    report("parsed, and let go", fastest(|| drop(std::hint::black_box(Module::parse(&text)))));
    let text = self::text(|text| Program::from_text(text).is_ok())?;
    Program::from_text(&text)?;
    report("parsed, decoded, and let go", fastest(|| drop(std::hint::black_box(Program::from_text(&text)))));
    Ok(())
}

/// All texts that are wanted behind each other and again, under one header.
fn text(is_wanted: impl Fn(&str) -> bool) -> Result<String, Box<dyn Error>> {
    let mut bodies = String::new();
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx"))? {
        for file in fs::read_dir(folder?.path())? {
            let text = fs::read_to_string(file?.path())?;
            if !is_wanted(&text) {
                continue;
            }
            let body = text.split_once(".address_size 64\n").ok_or("a text without a header")?.1;
            bodies.push_str(body);
        }
    }
    let mut text = ".version 9.4\n.target sm_90\n.address_size 64\n".to_owned();
    while text.len() < LENGTH {
        text.push_str(&bodies);
    }
    Ok(text)
}

/// The fastest round, or what a round takes of a processor, if that is less: rounds are long enough for
/// others to come between.
fn fastest(mut work: impl FnMut()) -> Duration {
    let (mut best, before) = (Duration::MAX, processor_time());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    let own = before.zip(processor_time()).map(|(before, after)| (after - before) / ROUNDS as u32);
    own.map_or(best, |own| best.min(own))
}

/// Processor time of this thread, in steps of a hundredth of a second, if the system reports it.
fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name, which is in parentheses, may hold anything; user and system time are the 12th and 13th behind
    // it.
    let mut times = text.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(Duration::from_millis(ticks * 10))
}
