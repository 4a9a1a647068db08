//! Cost of graphs in the simulator: time and memory per node.
//!
//! `cargo bench -p warploom-sim --bench graph` prints two tables, each row of which a process of its own
//! measures, so that none is given the memory that another has freed. It fails if a node takes more bytes
//! than it may, or a launch more time, or a call more time per node in a large graph. The real driver's figures were measured on one H200 with driver 580,
//! for a graph of 1,000 kernel nodes; they are there to compare orders of magnitude.
#![expect(clippy::print_stdout, reason = "prints its tables")]

mod calls;
#[path = "../common/mod.rs"]
mod common;

use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::sys::types::{CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUgraph, CUgraphNode, CUstream};
use warploom_testkit::{Primary, TestResult, call};

use common::{resident, start};

/// Nanoseconds that a launch of 1,000 empty nodes may take: those of an H200, and so many for each node.
const LAUNCH_LIMIT: f64 = 3900.0 + 150.0 * 1000.0;

/// Bytes that a node may take in a graph, in its executable, or in a launch that waits.
const BYTES_LIMIT: f64 = 300.0;

/// The way in which a stream compares a word that it waits for.
const EQUAL: u32 = 1;

/// The bytes that all memset nodes write.
const BYTES: usize = 64;

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// `true` for memset nodes, `false` for empty ones.
    fills: bool,
    /// `true` if every node waits for the one before, `false` if all wait for the first.
    is_chain: bool,
}

const CASES: [Case; 4] = [
    Case { name: "empty, chain", fills: false, is_chain: true },
    Case { name: "empty, fan", fills: false, is_chain: false },
    Case { name: "memset, chain", fills: true, is_chain: true },
    Case { name: "memset, fan", fills: true, is_chain: false },
];

/// Figures per node.
struct Figures {
    /// Nanoseconds to add it, to instantiate it, to enqueue it behind work that waits, to run it when that is
    /// over, and to launch it on an idle stream.
    times: [f64; 5],
    /// Bytes in the definition, in the executable, and in a launch that waits.
    bytes: [f64; 3],
}

/// A machine with a stream and memory for memset nodes.
struct Bench {
    driver: Driver,
    primary: Primary,
    stream: CUstream,
    /// Opens the gate.
    other: CUstream,
    /// A word that a stream waits for.
    gate: CUdeviceptr,
    fill: CUDA_MEMSET_NODE_PARAMS,
}

impl Bench {
    fn new(mode: Mode) -> TestResult<Bench> {
        let (_machine, driver, primary) = start(Machine::builder().mode(mode).patience(Duration::from_secs(60)))?;
        let (mut stream, mut other, mut memory, mut gate) = (null_mut(), null_mut(), 0, 0);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamCreate(&mut other, 1))?;
        call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
        call!(driver.cuMemAlloc_v2(&mut gate, 4))?;
        call!(driver.cuMemsetD32_v2(gate, 0, 1))?;
        let fill = CUDA_MEMSET_NODE_PARAMS { dst: memory, pitch: 0, value: 7, elementSize: 1, width: BYTES, height: 1 };
        Ok(Bench { driver, primary, stream, other, gate, fill })
    }

    fn add(&self, graph: CUgraph, case: Case, after: Option<&CUgraphNode>) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (&self.driver, null_mut());
        let (first, count) = (after.map_or(null(), |after| &raw const *after), usize::from(after.is_some()));
        if case.fills {
            call!(driver.cuGraphAddMemsetNode(&mut node, graph, first, count, &self.fill, self.primary.context))?;
        } else {
            call!(driver.cuGraphAddEmptyNode(&mut node, graph, first, count))?;
        }
        Ok(node)
    }

    fn measure(&self, case: Case, count: u32) -> TestResult<Figures> {
        let (driver, stream, per_node) = (&self.driver, self.stream, f64::from(count));
        let (mut graph, mut exec) = (null_mut(), null_mut());
        let at_first = resident()?;
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        let start = Instant::now();
        let mut last = self.add(graph, case, None)?;
        for _ in 1..count {
            let added = self.add(graph, case, Some(&last))?;
            if case.is_chain {
                last = added;
            }
        }
        let add = nanoseconds(start);
        let defined = resident()?;
        let start = Instant::now();
        call!(driver.cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        let instantiate = nanoseconds(start);
        let instantiated = resident()?;
        let (mut enqueuing, mut running, mut launching, mut pending) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for round in 1..=(100_000 / count).clamp(5, 51) {
            call!(driver.cuStreamWaitValue32_v2(stream, self.gate, round, EQUAL))?;
            let start = Instant::now();
            call!(driver.cuGraphLaunch(exec, stream))?;
            enqueuing.push(nanoseconds(start));
            pending = f64::max(pending, resident()? - instantiated);
            let start = Instant::now();
            call!(driver.cuStreamWriteValue32_v2(self.other, self.gate, round, 0))?;
            call!(driver.cuStreamSynchronize(stream))?;
            running.push(nanoseconds(start));
            let start = Instant::now();
            call!(driver.cuGraphLaunch(exec, stream))?;
            launching.push(nanoseconds(start));
            call!(driver.cuStreamSynchronize(stream))?;
        }
        call!(driver.cuMemsetD32_v2(self.gate, 0, 1))?;
        call!(driver.cuGraphExecDestroy(exec))?;
        call!(driver.cuGraphDestroy(graph))?;
        let times = [add, instantiate, median(enqueuing), median(running), median(launching)];
        let bytes = [defined - at_first, instantiated - defined, pending];
        Ok(Figures { times: times.map(|all| all / per_node), bytes: bytes.map(|all| all / per_node) })
    }
}

fn nanoseconds(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

const MODES: [(&str, Mode); 2] = [("threads", Mode::Threads), ("eager", Mode::Deterministic(Order::Eager))];

/// The rows of the first table.
const CASE_COUNT: usize = MODES.len() * CASES.len();

/// Measures one case in one mode, and prints its rows.
fn rows(index: usize) -> TestResult {
    let ((mode_name, mode), case) = (MODES[index / CASES.len()], CASES[index % CASES.len()]);
    let bench = Bench::new(mode)?;
    let mut flat = [0.0; 5];
    for count in [1_000, 100_000] {
        let Figures { times, bytes } = bench.measure(case, count)?;
        print!("{mode_name:<10}{:<16}{count:>7}", case.name);
        times.iter().for_each(|time| print!("{time:>12.0}"));
        if count == 1_000 {
            // Pages are too large to count the bytes of so few.
            println!();
            let launch = times[4] * f64::from(count);
            assert!(case.fills || launch <= LAUNCH_LIMIT, "{launch} ns are too many for a launch");
            flat = times;
            continue;
        }
        bytes.iter().for_each(|bytes| print!("{bytes:>12.0}"));
        println!();
        assert!(bytes.iter().all(|bytes| *bytes <= BYTES_LIMIT), "{bytes:?} bytes per node are too many");
        let is_flat = times.iter().zip(flat).all(|(many, few)| *many <= 5.0 * few + 200.0);
        assert!(is_flat, "the cost per node grows with the number of nodes: {flat:?}, {times:?}");
    }
    Ok(())
}

fn main() -> TestResult {
    if let Some(Ok(index)) = std::env::args().nth(1).map(|argument| argument.parse()) {
        return if index < CASE_COUNT { rows(index) } else { calls::row(index - CASE_COUNT) };
    }
    let columns = ["add", "instantiate", "enqueue", "run", "launch", "defined", "executable", "pending"];
    print!("{:<26}{:>7}", "ns, then bytes, per node", "nodes");
    columns.iter().for_each(|column| print!("{column:>12}"));
    println!();
    println!("{:<26}{:>7}{:>12}{:>12}{:>36}", "an H200, kernels", 1000, 429, 1891, 4);
    let in_a_process = |index: usize| -> TestResult {
        let status = std::process::Command::new(std::env::current_exe()?).arg(index.to_string()).status()?;
        assert!(status.success(), "case {index} failed");
        Ok(())
    };
    (0..CASE_COUNT).try_for_each(in_a_process)?;
    println!("limits: {LAUNCH_LIMIT} ns for a launch of 1,000 empty nodes, {BYTES_LIMIT} bytes per node");
    calls::print_heading();
    (CASE_COUNT..CASE_COUNT + calls::ROWS).try_for_each(in_a_process)
}
