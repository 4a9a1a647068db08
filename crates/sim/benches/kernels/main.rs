//! Speed of kernels through the simulated driver, as a program launches them: nanoseconds per thread on one
//! core and on all, next to a plain loop over the same data, and nanoseconds per instruction of a warp. And
//! the time to load 10 MB of PTX (`loading`).
//!
//! `cargo bench -p warploom-sim --bench kernels [-- [--json] [PART OF A NAME…]]`
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod cases;
mod loading;
mod plain;

use std::ffi::CString;
use std::num::NonZero;
use std::ptr::{null_mut, without_provenance_mut};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use cases::{Case, WORDS};
use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};
use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Machine;
use warploom_testkit::sys::types::CUfunction;
use warploom_testkit::{Primary, TestResult, call};

/// A round is short, so that on a machine that others use as well some rounds have their cores for
/// themselves; the fastest counts.
const ROUNDS: usize = 200;
const ENOUGH: Duration = Duration::from_millis(1000);

/// The measurements of one kernel.
#[derive(serde::Serialize)]
struct Row {
    kernel: &'static str,
    threads: u64,
    warp_instructions: u64,
    ns_per_thread_on_one_core: f64,
    ns_per_thread_on_all_cores: f64,
    ns_per_thread_of_a_plain_loop: f64,
    ns_per_warp_instruction: f64,
}

fn main() -> TestResult {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_json = std::env::args().any(|argument| argument == "--json");
    let cores = available_parallelism().map_or(1, NonZero::get);
    let is_asked = |case: &Case| asked.is_empty() || asked.iter().any(|part| case.kernel.contains(part.as_str()));
    if !is_json {
        println!("{cores} cores, load {}", load().unwrap_or_default());
        println!(
            "{:<18}{:>9}{:>13}{:>13}{:>14}{:>13}{:>11}",
            "kernel", "threads", "warp instr.", "ns/instr.", "ns/thread", "on all cores", "plain"
        );
    }
    let mut rows = Vec::new();
    for case in cases::all().iter_mut().filter(|case| is_asked(case)) {
        let row = measure(case, cores)?;
        if !is_json {
            println!(
                "{:<18}{:>9}{:>13}{:>13.1}{:>14.2}{:>13.2}{:>11.2}",
                row.kernel,
                row.threads,
                row.warp_instructions,
                row.ns_per_warp_instruction,
                row.ns_per_thread_on_one_core,
                row.ns_per_thread_on_all_cores,
                row.ns_per_thread_of_a_plain_loop,
            );
        }
        rows.push(row);
    }
    let is_loading_asked = asked.is_empty() || asked.iter().any(|part| "loading".contains(part.as_str()));
    let loading = if is_loading_asked { Some(loading::measure()?) } else { None };
    if let (false, Some(loading)) = (is_json, &loading) {
        println!("{loading}");
    }
    if is_json {
        let report = serde_json::json!({ "cores": cores, "load": load(), "kernels": rows, "loading": loading });
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    Ok(())
}

/// The load average of the last minute, if the system reports it.
fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

fn measure(case: &mut Case, cores: usize) -> TestResult<Row> {
    let instructions = instructions(case)?;
    let one = on_machine(case, 1)?;
    let all = on_machine(case, cores)?;
    let threads: u64 = case.grid.iter().chain(&case.block).map(|size| u64::from(*size)).product();
    let plain = fastest(|| {
        (case.plain)();
        Ok(())
    })?;
    let per_thread = |took: Duration| took.as_secs_f64() * 1e9 / threads as f64;
    Ok(Row {
        kernel: case.kernel,
        threads,
        warp_instructions: instructions,
        ns_per_thread_on_one_core: per_thread(one),
        ns_per_thread_on_all_cores: per_thread(all),
        ns_per_thread_of_a_plain_loop: per_thread(plain),
        ns_per_warp_instruction: one.as_secs_f64() * 1e9 / instructions as f64,
    })
}

/// Instructions of warps, which no driver counts: the interpreter itself does.
fn instructions(case: &Case) -> TestResult<u64> {
    let memory = VecMemory::new(4 * WORDS * 4);
    let program = memory.place(&Program::from_text(case.text)?);
    let kernel = program.kernel(case.kernel).ok_or("there is no such kernel")?;
    let buffers = [0; 3].map(|_| memory.upload(&cases::data()));
    let arguments = (case.arguments)(buffers);
    let launch = Launch { grid: case.grid, block: case.block, arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(kernel, launch, &memory)?;
    match grid.step(u64::MAX) {
        Step::Done => Ok(grid.instructions()),
        other => Err(format!("{other:?}").into()),
    }
}

/// The fastest launch on a machine with so many threads for blocks, from the call to the end of the wait for
/// it.
fn on_machine(case: &Case, workers: usize) -> TestResult<Duration> {
    let machine = Machine::builder().workers(NonZero::new(workers).unwrap_or(NonZero::<usize>::MIN)).start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    // The simulated driver is older than the compiler; the kernels need nothing new.
    let (_, rest) = case.text.split_once('\n').ok_or("a text of one line")?;
    let (text, name) = (CString::new(format!(".version 8.0\n{rest}"))?, CString::new(case.kernel)?);
    let (mut module, mut function) = (null_mut(), null_mut());
    call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    let (data, mut buffers) = (cases::data(), [0; 3]);
    for buffer in &mut buffers {
        call!(driver.cuMemAlloc_v2(buffer, data.len()))?;
        call!(driver.cuMemcpyHtoD_v2(*buffer, data.as_ptr().cast(), data.len()))?;
    }
    let arguments = (case.arguments)(buffers);
    fastest(|| launch(driver, function, case, &arguments))
}

fn launch(driver: &Driver, function: CUfunction, case: &Case, arguments: &[u8]) -> TestResult {
    let mut size = arguments.len();
    let mut extra = [
        without_provenance_mut(1),
        arguments.as_ptr().cast_mut().cast(),
        without_provenance_mut(2),
        (&raw mut size).cast(),
        null_mut(),
    ];
    let ([gx, gy, gz], [bx, by, bz]) = (case.grid, case.block);
    call!(driver.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, 0, null_mut(), null_mut(), extra.as_mut_ptr()))?;
    Ok(call!(driver.cuCtxSynchronize())?)
}

fn fastest(mut run: impl FnMut() -> TestResult) -> TestResult<Duration> {
    let (begun, mut best) = (Instant::now(), Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
        if begun.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(best)
}
