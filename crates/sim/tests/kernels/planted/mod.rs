//! Mistakes that are planted in `crates/ptx/kernels/planted/planted.cu`: each is found and named, and its
//! fixed twin is quiet. On simulated machines, because hardware does not say.

mod copies;
mod heap;
mod memory;
mod races;
mod streams;

use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Checks, FindingKind, KernelChecks, KernelFault, KernelRace, Machine, Mode, Order};
use warploom_testkit::driver::Driver;
use warploom_testkit::{Primary, TestResult, call, open};

use crate::support::{Module, planted, planted90, upload};

/// Every kernel says these lines of its source.
const SOURCES: [(&str, &str); 2] = [
    ("planted.cu", include_str!("../../../../ptx/kernels/planted/planted.cu")),
    ("planted90.cu", include_str!("../../../../ptx/kernels/planted/planted90.cu")),
];

/// Blocks, threads, bytes of shared memory.
type Shape = (u32, u32, u32);

/// Runs a kernel, with its mistake or without; `arguments` come before `fixed`, each in a word of eight
/// bytes.
fn run(
    mode: Mode,
    kernel: &str,
    shape: Shape,
    fixed: bool,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let (machine, _) = open(Topology::preset("h200")?, mode)?;
    run_on(&machine, kernel, shape, fixed, arguments)
}

fn run_on(
    machine: &Machine,
    kernel: &str,
    (blocks, threads, shared): Shape,
    fixed: bool,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let driver = &Driver::open(machine)?;
    driver.initialize()?;
    let primary = Primary::of(driver, 0)?;
    let is_new = SOURCES[1].1.contains(kernel);
    let module = Module::load(driver, &if is_new { planted90() } else { planted() })?;
    let function = module.function(kernel)?;
    let mut values = arguments(driver)?;
    values.push(fixed.into());
    let mut places: Vec<_> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
    let (places, none) = (places.as_mut_ptr(), null_mut());
    drop(call!(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, none, places, null_mut())));
    drop(call!(driver.cuCtxSynchronize()));
    let found = kinds(machine);
    drop((module, primary));
    Ok(found)
}

fn kinds(machine: &Machine) -> Vec<FindingKind> {
    machine.findings().into_iter().map(|finding| finding.kind).collect()
}

/// The findings in the kernel with its mistake, in every mode; asserts that there are none without it.
#[track_caller]
fn twins(
    kernel: &str,
    shape: Shape,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let mut found = Vec::new();
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads, Mode::Sync] {
        found = run(mode, kernel, shape, false, &arguments)?;
        let quiet = run(mode, kernel, shape, true, &arguments)?;
        assert!(quiet.is_empty(), "{kernel}, fixed: {quiet:#?}");
        assert!(!found.is_empty(), "{kernel}: nothing is found in mode {mode:?}");
    }
    Ok(found)
}

/// The only finding, a race, and its text.
#[track_caller]
fn race(found: &[FindingKind]) -> (&KernelRace, String) {
    match found {
        [kind @ FindingKind::KernelRace { race, .. }] => (race, kind.to_string()),
        other => panic!("one race, not {other:#?}"),
    }
}

#[track_caller]
fn fault(found: &[FindingKind]) -> &KernelFault {
    match found {
        [FindingKind::KernelFault { fault, .. }] => fault,
        other => panic!("one fault, not {other:#?}"),
    }
}

/// The number of the line of a kernel that has some text.
#[track_caller]
fn line(kernel: &str, text: &str) -> Option<(String, u32)> {
    let is_start = |line: &str| line.contains(&format!(" {kernel}("));
    let found = SOURCES.iter().find_map(|(file, source)| Some((file, source, source.lines().position(is_start)?)));
    let (file, source, start) = found.expect("the kernel");
    let behind = source.lines().skip(start).position(|line| line.contains(text)).expect("the line");
    Some(((*file).to_owned(), (start + behind + 1) as u32))
}

/// A line without the folder of its file.
fn short(source: &Option<(String, u32)>) -> Option<(String, u32)> {
    source.as_ref().map(|(file, line)| (file.rsplit('/').next().unwrap_or(file).to_owned(), *line))
}

fn words(driver: &Driver, count: u32) -> TestResult<u64> {
    upload(driver, &(0..count).collect::<Vec<_>>())
}

#[test]
fn findings_of_kernels_are_data() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 40]);
    let found = run(Mode::Sync, "planted_barrier", (1, 64, 0), false, arguments)?;
    let barrier = serde_json::to_value(&found[0])?;
    assert_eq!(
        (&barrier["kind"], &barrier["barrier"]["did"]["instead"]),
        (&"barrier_divergence".into(), &"ended".into())
    );
    let arguments = |driver: &Driver| Ok(vec![words(driver, 2)?, words(driver, 1)?]);
    let found = run(Mode::Sync, "planted_blocks", (2, 1, 0), false, arguments)?;
    let race = serde_json::to_value(&found[0])?;
    assert_eq!((&race["kind"], &race["race"]["missing"]), (&"kernel_race".into(), &"grid_order".into()));
    assert_eq!(race["race"]["memory"]["allocation"]["bytes"], 4);
    assert_eq!((&race["race"]["second"]["block"][0], &race["race"]["first_access"]), (&1.into(), &"write".into()));
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = run(Mode::Sync, "planted_unwritten_shared", (1, 64, 0), false, arguments)?;
    let read = serde_json::to_value(&found[0])?;
    assert_eq!((&read["kind"], &read["read"]["bytes"]["start"]), (&"uninitialised_shared".into(), &256.into()));
    let arguments = |driver: &Driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]);
    let found = run(Mode::Sync, "planted_copy_wait", (1, 64, 0), false, arguments)?;
    let copy = serde_json::to_value(&found[0])?;
    assert_eq!((&copy["kind"], &copy["copy"]["side"]), (&"unfinished_copy".into(), &"destination".into()));
    let found = run(Mode::Sync, "planted_cluster_end", (2, 64, 0), false, arguments)?;
    let visit = serde_json::to_value(&found[0])?;
    assert_eq!((&visit["kind"], &visit["visit"]["when"]), (&"absent_block".into(), &"ended".into()));
    let found = run(Mode::Sync, "planted_cluster_race", (2, 64, 0), false, arguments)?;
    let race = serde_json::to_value(&found[0])?;
    assert_eq!(
        (&race["race"]["missing"], &race["race"]["memory"]["cluster"]["block"][1]),
        (&"cluster_barrier".into(), &0.into())
    );
    Ok(())
}

#[test]
fn each_check_can_be_turned_off() -> TestResult {
    let all = KernelChecks::ALL;
    let planted_at: [(&str, Shape, &[u32], KernelChecks); 4] = [
        ("planted_warp", (1, 64, 0), &[64, 64], all.shared_races(false)),
        ("planted_blocks", (2, 1, 0), &[2, 1], all.global_races(false)),
        ("planted_unwritten_shared", (1, 64, 0), &[64, 64], all.uninitialised_shared(false)),
        ("planted_counts", (1, 96, 0), &[96], all.barriers(false)),
    ];
    for (kernel, shape, sizes, without) in planted_at {
        for (checks, is_found) in [(all, true), (without, false), (KernelChecks::NONE, false)] {
            let machine = Machine::builder().checks(Checks::report().kernels(checks)).mode(Mode::Sync).start()?;
            let arguments = |driver: &Driver| sizes.iter().map(|count| words(driver, *count)).collect();
            let found = run_on(&machine, kernel, shape, false, arguments)?;
            assert_eq!(!found.is_empty(), is_found, "{kernel} with {checks:?}: {found:#?}");
        }
    }
    Ok(())
}
