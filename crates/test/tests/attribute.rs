//! The attribute in each of its forms.
#![expect(unsafe_code, reason = "calls C functions with pointers to variables of the test")]

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use warploom::{DevicePool, Driver, PinnedMemory};
use warploom_test::sim::fault::{Class, Plan, Rule};
use warploom_test::sim::{FindingKind, Machine};
use warploom_test::sys::types::CUresult;
use warploom_test::{Case, Level};

type Outcome = Result<(), Box<dyn Error>>;

#[warploom_test::test]
fn one_h200_is_the_machine_of_a_test_that_names_none(driver: &Driver) -> warploom::Result<()> {
    assert_eq!(driver.devices()?.len(), 1);
    assert!(driver.device(0)?.name()?.contains("H200"));
    Ok(())
}

#[warploom_test::test(machine = "hgx-a100-4", seeds = 2, check = "fail", leaks = "fail")]
fn a_preset_is_chosen_by_name(driver: &Driver) -> Outcome {
    assert_eq!(driver.devices()?.len(), 4);
    let context = driver.device(3)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    assert_eq!(pool.upload(&[1, 2, 3], &stream)?.download(&stream)?, [1, 2, 3]);
    Ok(())
}

#[warploom_test::test(machine = "tests/pair.toml", seeds = 0)]
fn a_machine_is_described_by_a_file_of_the_package(driver: &Driver) -> Outcome {
    assert_eq!(driver.devices()?.len(), 2);
    Ok(())
}

#[warploom_test::test(seeds = 0)]
fn a_test_may_return_nothing(driver: &Driver) {
    assert!(!driver.is_library());
}

#[warploom_test::test(machine = "pcie-pair", seeds = 1)]
fn the_driver_may_be_the_one_with_all_c_functions(driver: &warploom_driver::Driver) -> warploom_driver::Result<()> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    unsafe { driver.cuDeviceGetCount(&mut count) }?;
    assert_eq!(count, 2);
    Ok(())
}

#[warploom_test::test(seeds = 1)]
fn a_machine_may_come_before_the_driver(machine: &Machine, driver: &Driver) -> Outcome {
    let _scope = machine.inject(Plan::new().rule(Rule::on(Class::Alloc).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY)))?;
    let context = driver.device(0)?.context()?;
    let refused = DevicePool::new(&context)?.zeroed::<u8>(64, &context.stream()?);
    assert!(refused.is_err_and(|error| error.is_out_of_memory()));
    Ok(())
}

#[warploom_test::test(seeds = 3)]
async fn an_async_test_is_woken_in_every_order(driver: &Driver) -> warploom::Result<()> {
    let context = driver.device(0)?.context()?;
    let (stream, memory) = (context.stream()?, PinnedMemory::new(&context));
    let mut device = DevicePool::new(&context)?.zeroed::<u32>(1000, &stream)?;
    let values: Vec<u32> = (0..1000).collect();
    let sent = device.as_slice_mut().copy_from_pinned(memory.buffer_of(&values)?, &stream)?.await?;
    let back = device.as_slice().copy_to_pinned(sent, &stream)?.await?;
    assert_eq!(back.as_slice(), values);
    stream.completion().await
}

#[warploom_test::test(orders = "threads")]
async fn an_async_test_may_take_the_machine(machine: &Machine, driver: &Driver) {
    assert_eq!(machine.topology().devices.len(), driver.devices().unwrap().len());
}

#[warploom_test::test(seeds = 1)]
#[should_panic(expected = "of its own")]
fn the_panic_of_the_function_is_the_panic_of_the_test(driver: &Driver) {
    assert!(driver.is_library(), "a panic of its own");
}

#[warploom_test::test(seeds = 1)]
#[should_panic(expected = "WARPLOOM_TEST_SEED=eager cargo test a_finding_is_the_panic_of_the_test")]
fn a_finding_is_the_panic_of_the_test(driver: &Driver) -> Outcome {
    let context = driver.device(0)?.context()?;
    let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
    let mut buffer = pool.zeroed::<u8>(64, &stream)?;
    buffer.download(&other)?;
    buffer.fill(1, &stream)?;
    buffer.download(&other)?; // without a wait
    Ok(())
}

#[warploom_test::test]
#[ignore = "the runner does not run it"]
fn an_ignored_test_does_not_run(_driver: &Driver) {
    panic!("it runs");
}

#[cfg(any())]
#[warploom_test::test]
fn a_test_that_is_configured_out_is_not_compiled(driver: &NoSuchType) {}

#[warploom_test::test(hardware = "ignore", seeds = 1)]
fn a_twin_runs_on_hardware(driver: &Driver) -> Outcome {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    assert_eq!(pool.upload(b"here", &stream)?.download(&stream)?, b"here");
    Ok(())
}

#[warploom_test::test(hardware = "ignore", orders = "threads")]
async fn an_async_twin_runs_on_hardware(driver: &Driver) -> warploom::Result<()> {
    driver.device(0)?.context()?.stream()?.completion().await
}

#[warploom_test::test(faults = "sweep", seeds = 1)]
fn each_driver_call_fails_in_turn(driver: &Driver) -> warploom::Result<()> {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    pool.upload(&[7_u8; 16], &stream)?.download(&stream).map(drop)
}

fn second_allocation_fails() -> Plan {
    Plan::new().rule(Rule::on(Class::Alloc).nth(2).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY))
}

#[warploom_test::test(faults = second_allocation_fails(), seeds = 1)]
fn a_plan_is_in_force_in_every_order(driver: &Driver) -> Outcome {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let first = pool.zeroed::<u8>(64, &stream)?;
    let second = pool.zeroed::<u8>(64, &stream);
    assert!(second.is_err_and(|error| error.is_out_of_memory()));
    assert_eq!(first.download(&stream)?, [0; 64]);
    Ok(())
}

#[warploom_test::test(faults = Plan::new().driver_version(12_000), seeds = 0)]
fn a_plan_may_lower_the_version_of_the_driver(driver: &Driver) {
    assert_eq!(driver.version().to_string(), "12.0");
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

fn tolerant() -> Case {
    Case::new().seeds(5).allow(|finding| matches!(finding.kind, FindingKind::UninitialisedRead { .. }))
}

#[warploom_test::test(case = tolerant(), orders = "deterministic", crate = warploom_test)]
fn a_case_is_the_beginning_and_arguments_change_it(driver: &Driver) -> Outcome {
    RUNS.fetch_add(1, Ordering::Relaxed);
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    DevicePool::new(&context)?.allocate::<u8>(64, &stream)?.download(&stream)?;
    Ok(())
}

#[test]
fn a_case_runs_once_in_each_order() {
    let runs = AtomicUsize::new(0);
    tolerant().check(Level::Off).run(|_: &Driver| {
        runs.fetch_add(1, Ordering::Relaxed);
    });
    let asked = ["WARPLOOM_TEST_SEED", "WARPLOOM_TEST_SEEDS"].iter().any(|name| std::env::var_os(name).is_some());
    assert!(asked || runs.into_inner() == 8, "eager, lazy, five seeds and threads");
}
