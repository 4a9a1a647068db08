//! Order between processes: an access that another process has not finished is a finding, which names it.

use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Backtraces, Checks, Finding, FindingKind, Machine, MissingWait};
use warploom_testkit::driver::Driver;
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::sys::types::{CUevent, CUipcEventHandle, CUipcMemHandle};
use warploom_testkit::{Gate, MACHINE, Primary, Stream, TestResult, call};

const BYTES: usize = 4096;
/// `CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS`.
const INTERPROCESS: u32 = 6;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY: u32 = 1;

/// A machine that checks, as both processes have one.
fn checking() -> TestResult<(Machine, Driver)> {
    let checks = Checks::report().backtraces(Backtraces::Off);
    let machine = Machine::builder().topology(Topology::preset(MACHINE)?).checks(checks).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

fn event(driver: &Driver) -> TestResult<CUevent> {
    let mut event = null_mut();
    call!(driver.cuEventCreate(&mut event, INTERPROCESS))?;
    Ok(event)
}

fn bytes_of(handle: [std::ffi::c_char; 64]) -> [u8; 64] {
    handle.map(|byte| byte as u8)
}

/// Handles of memory and of an event, as one message.
fn send_handles(driver: &Driver, channel: &Channel, memory: u64, event: CUevent) -> TestResult {
    let (mut block, mut shared) = (CUipcMemHandle { reserved: [0; 64] }, CUipcEventHandle { reserved: [0; 64] });
    call!(driver.cuIpcGetMemHandle(&mut block, memory))?;
    call!(driver.cuIpcGetEventHandle(&mut shared, event))?;
    channel.send(&[bytes_of(block.reserved), bytes_of(shared.reserved)].concat(), &[])
}

fn open_handles(driver: &Driver, channel: &Channel) -> TestResult<(u64, CUevent)> {
    let handles: [u8; 128] = channel.receive_array()?;
    let half = |at: usize| std::array::from_fn(|byte| handles[at + byte] as std::ffi::c_char);
    let (mut memory, mut event) = (0, null_mut());
    call!(driver.cuIpcOpenMemHandle_v2(&mut memory, CUipcMemHandle { reserved: half(0) }, LAZY))?;
    call!(driver.cuIpcOpenEventHandle(&mut event, CUipcEventHandle { reserved: half(64) }))?;
    Ok((memory, event))
}

/// The only finding of a machine: a race with a call of a process, by its name and number.
fn race_with(machine: &Machine, process: u32, function: &str) -> TestResult<Finding> {
    let [found] =
        <[Finding; 1]>::try_from(machine.findings()).map_err(|all| format!("{} findings: {all:?}", all.len()))?;
    let FindingKind::Race { first, second, missing, .. } = &found.kind else { return Err(format!("{found}").into()) };
    assert_eq!(first.process, Some(process), "{found}");
    assert_eq!(first.function.map(|function| function.name()), Some(function), "{found}");
    assert_eq!(second.process, None, "{found}");
    assert_eq!(*missing, MissingWait::ProcessAfterProcess { first: process }, "{found}");
    let text = found.to_string();
    for words in [format!("{function} of process {process} (call "), "cuIpcGetEventHandle".to_owned()] {
        assert!(text.contains(&words), "no {words:?} in: {text}");
    }
    Ok(found)
}

/// Reads shared memory, behind the event of the parent if that is wanted.
fn read(driver: &Driver, memory: u64, event: Option<CUevent>) -> TestResult {
    let stream = Stream::new(driver)?;
    if let Some(event) = event {
        call!(driver.cuStreamWaitEvent(stream.raw, event, 0))?;
    }
    let mut bytes = vec![0_u8; BYTES];
    call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), memory, BYTES, stream.raw))?;
    stream.synchronize()
}

/// A child reads what its parent writes, with and without the event between them.
pub(crate) fn reader(_: &Driver, parent: &Channel) -> TestResult {
    let (machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (memory, event) = open_handles(driver, parent)?;
    let parent_pid = std::os::unix::process::parent_id();
    // The parent's fill is over, and its host has waited for it.
    read(driver, memory, None)?;
    assert_eq!(machine.findings(), []);
    parent.signal()?;
    // It is enqueued, and an event is recorded behind it.
    parent.wait()?;
    read(driver, memory, Some(event))?;
    assert_eq!(machine.findings(), []);
    parent.signal()?;
    // It is enqueued, and nothing lies between.
    parent.wait()?;
    read(driver, memory, None)?;
    race_with(&machine, parent_pid, "cuMemsetD8Async")?;
    parent.signal()?;
    parent.wait()?;
    call!(driver.cuEventDestroy_v2(event))?;
    call!(driver.cuIpcCloseMemHandle(memory))?;
    Ok(())
}

#[test]
fn a_read_of_unfinished_bytes_of_another_process_is_found() -> TestResult {
    let (machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stream, shared) = (Stream::new(driver)?, event(driver)?);
    let mut memory = 0;
    call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
    let fill = |value| call!(driver.cuMemsetD8Async(memory, value, BYTES, stream.raw));
    fill(1)?;
    stream.synchronize()?;
    let child = Child::start_on(MACHINE, "child", "order_reader")?;
    send_handles(driver, child.channel(), memory, shared)?;
    child.channel().wait()?;
    fill(2)?;
    call!(driver.cuEventRecord(shared, stream.raw))?;
    child.channel().signal()?;
    child.channel().wait()?;
    let gate = Gate::new(driver)?;
    fill(3)?;
    gate.hold(stream.raw)?;
    child.channel().signal()?;
    child.channel().wait()?;
    assert_eq!(machine.findings(), [], "the reader's process knows");
    gate.open_and_wait()?;
    child.channel().signal()?;
    child.join()?;
    call!(driver.cuEventDestroy_v2(shared))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

/// A child reads once.
pub(crate) fn early_reader(_: &Driver, parent: &Channel) -> TestResult {
    let (machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (memory, event) = open_handles(driver, parent)?;
    read(driver, memory, None)?;
    race_with(&machine, std::os::unix::process::parent_id(), "cuMemsetD8Async")?;
    call!(driver.cuEventDestroy_v2(event))?;
    call!(driver.cuIpcCloseMemHandle(memory))?;
    Ok(())
}

/// Accesses from before the memory was shared count as well.
#[test]
fn bytes_that_were_unfinished_when_they_were_shared_are_found() -> TestResult {
    let (_machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stream, shared) = (Stream::new(driver)?, event(driver)?);
    let mut memory = 0;
    call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
    call!(driver.cuMemsetD8Async(memory, 1, BYTES, stream.raw))?;
    let child = Child::start_on(MACHINE, "child", "order_early_reader")?;
    send_handles(driver, child.channel(), memory, shared)?;
    child.join()?;
    stream.synchronize()?;
    call!(driver.cuEventDestroy_v2(shared))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

/// A child writes and does not wait for it.
pub(crate) fn writer(_: &Driver, parent: &Channel) -> TestResult {
    let (_machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (memory, event) = open_handles(driver, parent)?;
    let stream = Stream::new(driver)?;
    call!(driver.cuMemsetD8Async(memory, 4, BYTES, stream.raw))?;
    parent.signal()?;
    parent.wait()?;
    call!(driver.cuEventRecord(event, stream.raw))?;
    parent.signal()?;
    parent.wait()?;
    Ok(())
}

/// The finding is in the process whose access comes second, whichever allocated the memory. A wait for the
/// event on the host orders all that follows.
#[test]
fn a_read_of_bytes_that_an_importer_has_not_finished_is_found() -> TestResult {
    let (machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let shared = event(driver)?;
    let mut memory = 0;
    call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
    call!(driver.cuMemsetD8_v2(memory, 1, BYTES))?;
    call!(driver.cuCtxSynchronize())?;
    let child = Child::start_on(MACHINE, "child", "order_writer")?;
    send_handles(driver, child.channel(), memory, shared)?;
    child.channel().wait()?;
    read(driver, memory, None)?;
    race_with(&machine, child.pid(), "cuMemsetD8Async")?;
    child.channel().signal()?;
    child.channel().wait()?;
    call!(driver.cuEventSynchronize(shared))?;
    call!(driver.cuMemsetD8_v2(memory, 5, BYTES))?;
    call!(driver.cuCtxSynchronize())?;
    assert_eq!(machine.findings().len(), 1);
    child.channel().signal()?;
    child.join()?;
    call!(driver.cuEventDestroy_v2(shared))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

/// The work of a process that was killed has ended with it.
#[test]
fn a_killed_process_has_no_unfinished_accesses() -> TestResult {
    let (machine, driver) = checking()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let shared = event(driver)?;
    let mut memory = 0;
    call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
    call!(driver.cuMemsetD8_v2(memory, 1, BYTES))?;
    call!(driver.cuCtxSynchronize())?;
    let child = Child::start_on(MACHINE, "child", "order_writer")?;
    send_handles(driver, child.channel(), memory, shared)?;
    child.channel().wait()?;
    child.kill()?;
    read(driver, memory, None)?;
    assert_eq!(machine.findings(), []);
    call!(driver.cuEventDestroy_v2(shared))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}
