//! Drivers that a test body runs on.

use std::time::Duration;

use warploom_driver::{Driver, Function};
use warploom_sim::topology::Topology;
use warploom_sim::{Checks, FindingKind, LogKind, Machine, Mode, Order};

use crate::TestResult;

/// The machine that bodies for both drivers run on: what the device machine has, one H200.
pub const MACHINE: &str = "h200";

/// The modes in which work may run later than the call that enqueues it; a right program does not notice
/// which.
pub const ASYNCHRONOUS: &[Mode] = &[
    Mode::Threads,
    Mode::Deterministic(Order::Eager),
    Mode::Deterministic(Order::Lazy),
    Mode::Deterministic(Order::Seeded(1)),
    Mode::Deterministic(Order::Seeded(2)),
];

/// Every mode there is, with `seeds` different random orders.
pub fn modes(seeds: u64) -> impl Iterator<Item = Mode> {
    let orders = [Order::Eager, Order::Lazy].into_iter().chain((0..seeds).map(Order::Seeded));
    [Mode::Sync, Mode::Threads].into_iter().chain(orders.map(Mode::Deterministic))
}

/// The mode for a random program: each one as often as the others, over many seeds.
pub fn mode_for(seed: u64) -> Mode {
    match seed % 5 {
        0 => Mode::Threads,
        1 => Mode::Sync,
        2 => Mode::Deterministic(Order::Eager),
        3 => Mode::Deterministic(Order::Lazy),
        _ => Mode::Deterministic(Order::Seeded(seed)),
    }
}

/// The number of random programs that a test runs: as many as `PROPTEST_CASES` asks for, or else `usual`.
pub fn random_programs(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// Runs a body on a fresh machine in every mode and with `seeds` random orders, and asserts that all of them
/// give the same.
///
/// A program that orders its work properly cannot tell the modes apart. The mode that differs is named, seed
/// included, so that it can be run again alone.
pub fn in_every_mode<T: PartialEq + std::fmt::Debug>(
    topology: &Topology,
    seeds: u64,
    body: impl Fn(&Machine, &Driver) -> TestResult<T>,
) -> TestResult<T> {
    let mut first: Option<(Mode, T)> = None;
    for mode in modes(seeds) {
        let (machine, driver) = open(topology.clone(), mode)?;
        let _witness = Witness { mode, machine: machine.clone() };
        let result = body(&machine, &driver).map_err(|error| format!("in mode {mode:?}: {error}"))?;
        assert_sound(&machine);
        match &first {
            None => first = Some((mode, result)),
            Some((other, expected)) => assert_eq!(&result, expected, "mode {mode:?} differs from {other:?}"),
        }
    }
    first.map(|(_, result)| result).ok_or_else(|| "there is no mode".into())
}

/// Asserts that a machine found nothing in a program that would be wrong on hardware, too, if only sometimes:
/// races, use outside the lifetime of memory, uninitialised reads. Calls that a driver refuses do not count:
/// a body may make them on purpose.
#[track_caller]
pub fn assert_sound(machine: &Machine) {
    let is_ended = machine.log().iter().any(|entry| entry.kind == LogKind::Fault);
    let is_wrong = |kind: &FindingKind| match kind {
        FindingKind::Race { .. }
        | FindingKind::KernelRace { .. }
        | FindingKind::BarrierDivergence { .. }
        | FindingKind::UnfinishedCopy { .. }
        | FindingKind::AbsentBlock { .. }
        | FindingKind::HeapMisuse { .. }
        | FindingKind::UseBeforeAllocation { .. }
        | FindingKind::UninitialisedRead { .. }
        | FindingKind::UninitialisedShared { .. } => true,
        // A block of the program's own allocator is memory that no driver refuses.
        FindingKind::UseAfterFree { missing, free, .. } => {
            missing.is_some() || free.function == Some(Function::cuGetExportTable)
        }
        // Of a kernel that ended early the body has seen the error.
        FindingKind::KernelFault { .. } => !is_ended,
        _ => false,
    };
    let wrong: Vec<String> =
        machine.findings().iter().filter(|finding| is_wrong(&finding.kind)).map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Starts a machine that checks, and opens its driver, initialised.
pub fn open(topology: Topology, mode: Mode) -> TestResult<(Machine, Driver)> {
    let machine = Machine::builder()
        .topology(topology)
        .mode(mode)
        .checks(Checks::report())
        .patience(Duration::from_secs(5))
        .start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

/// Runs a body on a simulated H200, each time on a fresh machine in another mode; says in which mode it
/// failed.
pub fn on_sim_in<D: From<Driver>>(modes: &[Mode], body: fn(&D) -> TestResult) -> TestResult {
    for mode in modes {
        let (machine, driver) = open(Topology::preset(MACHINE)?, *mode)?;
        let _witness = Witness { mode: *mode, machine: machine.clone() };
        body(&driver.into()).map_err(|error| format!("in mode {mode:?}: {error}"))?;
        assert_sound(&machine);
    }
    Ok(())
}

/// The same on machines that check nothing.
pub fn on_unchecked_sim_in<D: From<Driver>>(modes: &[Mode], body: fn(&D) -> TestResult) -> TestResult {
    for mode in modes {
        let machine = Machine::builder().topology(Topology::preset(MACHINE)?).mode(*mode);
        let machine = machine.patience(Duration::from_secs(5)).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let _witness = Witness { mode: *mode, machine };
        body(&driver.into()).map_err(|error| format!("in mode {mode:?}: {error}"))?;
    }
    Ok(())
}

/// Says, when a body panics, which mode it ran in and what its machine had refused.
struct Witness {
    mode: Mode,
    machine: Machine,
}

impl Drop for Witness {
    #[expect(clippy::print_stderr, reason = "the test harness shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in mode {:?}; the machine refused:", self.mode);
            for entry in self.machine.log() {
                eprintln!("  {entry}");
            }
        }
    }
}

/// Runs a body on the real driver.
pub fn on_cuda<D: From<Driver>>(body: fn(&D) -> TestResult) -> TestResult {
    let driver = Driver::load()?;
    driver.initialize()?;
    body(&driver.into())
}
