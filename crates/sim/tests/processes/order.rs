//! Order between processes: an access that another process has not finished is a finding, which names it.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Backtraces, Checks, Finding, FindingKind, Machine, MissingWait, Mode};
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::sys::types::CUevent;
use warploom_testkit::{Gate, MACHINE, Primary, Stream, TestResult, call};

use crate::handles::{Bytes, INTERPROCESS, LAZY, event, event_handle, memory_handle, open_event, open_memory};

const BYTES: usize = 4096;

/// One of two processes: a machine that checks, with a stream, and the memory and event that both have.
///
/// The fields are dropped in this order: the stream goes before its context.
struct Side {
    stream: Stream,
    _primary: Primary,
    driver: Driver,
    machine: Machine,
    memory: u64,
    event: CUevent,
    is_importer: bool,
}

impl Side {
    fn start(mode: Mode) -> TestResult<(Machine, Driver, Primary)> {
        let checks = Checks::report().backtraces(Backtraces::Off);
        let topology = Topology::preset(MACHINE)?;
        let machine = Machine::builder().topology(topology).mode(mode).checks(checks).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let primary = Primary::of(&driver, 0)?;
        Ok((machine, driver, primary))
    }

    /// Allocates the memory and creates the event.
    fn exporter(mode: Mode) -> TestResult<Self> {
        let (machine, driver, _primary) = Self::start(mode)?;
        let (stream, event) = (Stream::new(&driver)?, event(&driver, INTERPROCESS)?);
        let mut memory = 0;
        call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
        Ok(Self { machine, driver, _primary, stream, memory, event, is_importer: false })
    }

    /// Opens the memory and the event of the parent.
    fn importer(parent: &Channel) -> TestResult<Self> {
        let (machine, driver, _primary) = Self::start(Mode::Threads)?;
        let stream = Stream::new(&driver)?;
        let handles: [Bytes; 2] = [parent.receive_array()?, parent.receive_array()?];
        let (memory, event) = (open_memory(&driver, handles[0], LAZY)?, open_event(&driver, handles[1])?);
        Ok(Self { machine, driver, _primary, stream, memory, event, is_importer: true })
    }

    /// Starts a child that opens the memory and the event.
    fn child(&self, part: &str) -> TestResult<Child> {
        let child = Child::start_on(MACHINE, "child", part)?;
        child.channel().send(&memory_handle(&self.driver, self.memory)?, &[])?;
        child.channel().send(&event_handle(&self.driver, self.event)?, &[])?;
        Ok(child)
    }

    /// Enqueues a write of all bytes.
    fn fill(&self, value: u8) -> Result<(), Error> {
        let Self { driver, memory, stream, .. } = self;
        call!(driver.cuMemsetD8Async(*memory, value, BYTES, stream.raw))
    }

    fn record(&self) -> Result<(), Error> {
        let Self { driver, event, stream, .. } = self;
        call!(driver.cuEventRecord(*event, stream.raw))
    }

    /// Reads all bytes in another stream, behind the event if that is wanted, and waits for it.
    fn read(&self, behind_event: bool) -> TestResult {
        let driver = &self.driver;
        let stream = Stream::new(driver)?;
        if behind_event {
            call!(driver.cuStreamWaitEvent(stream.raw, self.event, 0))?;
        }
        let mut bytes = vec![0_u8; BYTES];
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), self.memory, BYTES, stream.raw))?;
        stream.synchronize()
    }

    /// Checks that the only finding is a race with a call of another process.
    fn found_race_with(&self, process: u32, function: &str) -> TestResult {
        let [found] = <[Finding; 1]>::try_from(self.machine.findings()).map_err(|all| format!("found {all:?}"))?;
        let FindingKind::Race { first, second, missing, .. } = &found.kind else {
            return Err(format!("{found}").into());
        };
        assert_eq!(first.process, Some(process), "{found}");
        assert_eq!(first.function.map(|function| function.name()), Some(function), "{found}");
        assert_eq!(second.process, None, "{found}");
        assert_eq!(*missing, MissingWait::ProcessAfterProcess { first: process }, "{found}");
        let text = found.to_string();
        for words in [format!("{function} of process {process} (call "), "cuIpcGetEventHandle".to_owned()] {
            assert!(text.contains(&words), "no {words:?} in: {text}");
        }
        Ok(())
    }

    fn end(self) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuEventDestroy_v2(self.event))?;
        match self.is_importer {
            true => call!(driver.cuIpcCloseMemHandle(self.memory))?,
            false => call!(driver.cuMemFree_v2(self.memory))?,
        }
        Ok(())
    }
}

/// A child reads what its parent writes, with and without the event between them.
pub(crate) fn reader(_: &Driver, parent: &Channel) -> TestResult {
    let side = Side::importer(parent)?;
    // The parent's fill is over, and its host has waited for it.
    side.read(false)?;
    assert_eq!(side.machine.findings(), []);
    parent.signal()?;
    // It is enqueued, and an event is recorded behind it.
    parent.wait()?;
    side.read(true)?;
    assert_eq!(side.machine.findings(), []);
    parent.signal()?;
    // It is enqueued, and nothing lies between.
    parent.wait()?;
    side.read(false)?;
    side.found_race_with(std::os::unix::process::parent_id(), "cuMemsetD8Async")?;
    parent.signal()?;
    parent.wait()?;
    side.end()
}

#[test]
fn a_read_of_unfinished_bytes_of_another_process_is_found() -> TestResult {
    let side = Side::exporter(Mode::Threads)?;
    side.fill(1)?;
    side.stream.synchronize()?;
    let child = side.child("order_reader")?;
    child.channel().wait()?;
    side.fill(2)?;
    side.record()?;
    child.channel().signal()?;
    child.channel().wait()?;
    let gate = Gate::new(&side.driver)?;
    side.fill(3)?;
    gate.hold(side.stream.raw)?;
    child.channel().signal()?;
    child.channel().wait()?;
    assert_eq!(side.machine.findings(), [], "the reader's process knows");
    gate.open_and_wait()?;
    drop(gate);
    child.channel().signal()?;
    child.join()?;
    side.end()
}

/// A child reads bytes that a fill of its parent writes.
pub(crate) fn reader_of_fill(_: &Driver, parent: &Channel) -> TestResult {
    let side = Side::importer(parent)?;
    side.read(false)?;
    side.found_race_with(std::os::unix::process::parent_id(), "cuMemsetD8Async")?;
    side.end()
}

/// Accesses from before the memory was shared count as well.
#[test]
fn bytes_that_were_unfinished_when_they_were_shared_are_found() -> TestResult {
    let side = Side::exporter(Mode::Threads)?;
    side.fill(1)?;
    side.child("order_reader_of_fill")?.join()?;
    side.end()
}

/// A child reads bytes that a kernel of its parent writes.
pub(crate) fn reader_of_kernel(_: &Driver, parent: &Channel) -> TestResult {
    let side = Side::importer(parent)?;
    parent.signal()?;
    parent.wait()?;
    side.read(false)?;
    side.found_race_with(std::os::unix::process::parent_id(), "cuLaunchKernel")?;
    side.end()
}

const KERNEL: &str = ".version 8.3
.target sm_75
.address_size 64
.visible .entry write(.param .u64 at) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
    st.global.u64 [%rd1], 1;
    ret; }";

/// The accesses of a kernel are known when it has run, which this machine does at the launch.
#[test]
fn a_read_of_bytes_that_a_kernel_of_another_process_writes_is_found() -> TestResult {
    let side = Side::exporter(Mode::Sync)?;
    side.fill(1)?;
    side.stream.synchronize()?;
    let child = side.child("order_reader_of_kernel")?;
    child.channel().wait()?;
    let Side { driver, memory, stream, .. } = &side;
    let (mut module, mut function, text, none) = (null_mut(), null_mut(), CString::new(KERNEL)?, null_mut());
    call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, c"write".as_ptr()))?;
    let mut arguments = [(&raw const *memory).cast_mut().cast()];
    let arguments = arguments.as_mut_ptr();
    call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.raw, arguments, none))?;
    child.channel().signal()?;
    child.join()?;
    side.end()
}

/// A child writes and does not wait for it.
pub(crate) fn writer(_: &Driver, parent: &Channel) -> TestResult {
    let side = Side::importer(parent)?;
    side.fill(4)?;
    parent.signal()?;
    parent.wait()?;
    side.record()?;
    parent.signal()?;
    parent.wait()?;
    side.end()
}

/// The finding is in the process whose access comes second, whichever allocated the memory. A wait for the
/// event on the host orders all that follows.
#[test]
fn a_read_of_bytes_that_an_importer_has_not_finished_is_found() -> TestResult {
    let side = Side::exporter(Mode::Threads)?;
    side.fill(1)?;
    side.stream.synchronize()?;
    let child = side.child("order_writer")?;
    child.channel().wait()?;
    side.read(false)?;
    side.found_race_with(child.pid(), "cuMemsetD8Async")?;
    child.channel().signal()?;
    child.channel().wait()?;
    let (driver, event) = (&side.driver, side.event);
    call!(driver.cuEventSynchronize(event))?;
    side.fill(5)?;
    assert_eq!(side.machine.findings().len(), 1);
    child.channel().signal()?;
    child.join()?;
    side.end()
}

/// The work of a process that was killed has ended with it.
#[test]
fn a_killed_process_has_no_unfinished_accesses() -> TestResult {
    let side = Side::exporter(Mode::Threads)?;
    side.fill(1)?;
    side.stream.synchronize()?;
    let child = side.child("order_writer")?;
    child.channel().wait()?;
    child.kill()?;
    side.read(false)?;
    assert_eq!(side.machine.findings(), []);
    side.end()
}
