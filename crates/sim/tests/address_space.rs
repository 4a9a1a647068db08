//! Address space of the process: the cost of machines, and forbidden accesses. Each case has a process of its
//! own.
#![expect(unsafe_code, reason = "one case follows a device pointer, which must not work")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode, StartError};
use warploom_testkit::{Primary, TestResult, call, open};

const SEGMENTATION_FAULT: i32 = 11;

/// `true` if this process runs the case, rather than the test that starts it.
fn is_case() -> bool {
    std::env::var_os("WARPLOOM_CASE").is_some()
}

/// Runs the test of this name again, alone, in a process of its own, after a shell command.
fn run_case(name: &str, before: &str) -> TestResult<Output> {
    let me = std::env::current_exe()?;
    let script = format!("{before}\nexec \"$0\" --exact {name} --nocapture");
    Ok(Command::new("sh").arg("-c").arg(script).arg(me).env("WARPLOOM_CASE", "1").output()?)
}

fn passes(name: &str, before: &str) -> TestResult {
    let output = run_case(name, before)?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {text}", output.status);
    Ok(())
}

fn resident_bytes() -> TestResult<u64> {
    let pages: u64 =
        std::fs::read_to_string("/proc/self/statm")?.split(' ').nth(1).ok_or("no second field")?.parse()?;
    Ok(pages * 4096)
}

#[test]
fn the_host_cannot_follow_a_device_pointer() -> TestResult {
    if !is_case() {
        let output = run_case("the_host_cannot_follow_a_device_pointer", "")?;
        assert_eq!(output.status.signal(), Some(SEGMENTATION_FAULT), "{:?}", output.status);
        return Ok(());
    }
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let _primary = Primary::of(&driver, 0)?;
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, 4096))?;
    let pointer: *const u8 = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: none, on purpose: the test is that the hardware stops it.
    let byte = unsafe { pointer.read_volatile() };
    Err(format!("read {byte} from device memory").into())
}

#[test]
fn the_host_cannot_follow_a_pointer_to_freed_managed_memory() -> TestResult {
    if !is_case() {
        let output = run_case("the_host_cannot_follow_a_pointer_to_freed_managed_memory", "")?;
        assert_eq!(output.status.signal(), Some(SEGMENTATION_FAULT), "{:?}", output.status);
        return Ok(());
    }
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let _primary = Primary::of(&driver, 0)?;
    let mut address = 0;
    call!(driver.cuMemAllocManaged(&mut address, 4096, 1))?;
    let pointer: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: managed memory of 4096 bytes.
    unsafe { pointer.write_volatile(1) };
    call!(driver.cuMemFree_v2(address))?;
    // SAFETY: none, on purpose: the test is that the hardware stops it.
    let byte = unsafe { pointer.read_volatile() };
    Err(format!("read {byte} from freed memory").into())
}

#[test]
fn a_machine_of_eight_large_devices_costs_next_to_nothing() -> TestResult {
    if !is_case() {
        return passes("a_machine_of_eight_large_devices_costs_next_to_nothing", "");
    }
    let before = resident_bytes()?;
    let start = Instant::now();
    let (_machine, _driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    // Ten times what it takes, for a busy machine.
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    let resident = resident_bytes()?;
    assert!(resident < 50 << 20, "{resident} bytes");
    assert!(resident - before < 20 << 20, "{before} bytes became {resident}");
    Ok(())
}

#[test]
fn as_many_large_machines_fit_as_there_can_be() -> TestResult {
    if !is_case() {
        return passes("as_many_large_machines_fit_as_there_can_be", "");
    }
    let mut machines = Vec::new();
    for _ in 0..16 {
        let machine = Machine::preset("dgx-h100")?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        machines.push((machine, driver));
    }
    for (_, driver) in &machines {
        for device in 0..8 {
            let _primary = Primary::of(driver, device)?;
            let (mut free, mut address, mut managed, mut pinned) = (0, 0, 0, null_mut());
            call!(driver.cuMemGetInfo_v2(&mut free, null_mut()))?;
            call!(driver.cuMemAlloc_v2(&mut address, free - (4 << 20)))?;
            call!(driver.cuMemAllocManaged(&mut managed, free, 1))?;
            call!(driver.cuMemHostAlloc(&mut pinned, 4096, 0))?;
        }
    }
    assert!(resident_bytes()? < 100 << 20, "{} bytes", resident_bytes()?);
    Ok(())
}

#[test]
fn a_process_with_little_address_space_is_told_so() -> TestResult {
    if !is_case() {
        return passes("a_process_with_little_address_space_is_told_so", "ulimit -v 50000000");
    }
    match Machine::preset("dgx-h100") {
        Err(error @ StartError::AddressSpace(_)) => {
            assert!(error.to_string().contains("ulimit -v"), "{error}");
        }
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}
