//! Interprocess events.

use warploom::capture::Relaxed;
use warploom::ipc::{EventDescriptor, IpcError, IpcEvent};
use warploom::leaks::{Kind, Leaks};
use warploom::{Buffer, CaptureError, Context, Error};
use warploom_testkit::process::Channel;
use warploom_testkit::{TestResult, below, driver_tests};

use crate::gate::Gate;
use crate::support::{import, open, receive_descriptor, receive_pool, send, shareable, start};

fn receive_event(channel: &Channel, context: &Context) -> TestResult<IpcEvent> {
    let descriptor = EventDescriptor::from_bytes(&channel.receive()?.0)?;
    // SAFETY: the tests keep their events until they are told.
    Ok(unsafe { IpcEvent::import(context, &descriptor) }?)
}

/// Writes the parent's buffer after an event of the parent, and records one of its own.
pub(crate) fn add_one_after(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (driver, context, stream) = open(driver)?;
    let leaks = Leaks::track(&driver);
    let pool = receive_pool(parent, &context)?;
    let mut buffer: Buffer<u32> = import(&pool, &receive_descriptor(parent)?, &stream)?;
    let written = receive_event(parent, &context)?;
    assert!(written.is_imported() && !written.is_complete()?);
    stream.wait_ipc(&written)?;
    buffer.slice_mut(..10)?.fill(5, &stream)?;
    let done = stream.record_ipc()?;
    parent.send(&done.descriptor().to_bytes(), &[])?;
    written.synchronize()?;
    assert!(written.is_complete()?);
    parent.wait()?;
    stream.synchronize()?;
    drop((buffer, written, done, pool));
    stream.synchronize()?;
    assert_eq!(leaks.report().count(|kind| kind == Kind::Event), 0);
    parent.signal()
}

/// Opens an event and passes its descriptor on.
pub(crate) fn forward_event(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, _) = open(driver)?;
    let event = receive_event(parent, &context)?;
    event.synchronize()?;
    parent.send(&event.descriptor().to_bytes(), &[])?;
    parent.wait()
}

/// Records an event, and keeps it until it is told.
pub(crate) fn record(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, _, stream) = open(driver)?;
    let event = stream.record_ipc()?;
    event.synchronize()?;
    parent.send(&event.descriptor().to_bytes(), &[])?;
    parent.wait()
}

driver_tests! {
    /// EVT-2, EVT-3, IPC-9: work of two processes, in order without a wait of the host.
    threads fn events_order_work_of_two_processes(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let mut buffer = pool.zeroed::<u32>(1000, &stream)?;
        stream.synchronize()?;
        let child = start(driver, "add_one_after")?;
        let channel = child.channel();
        send(channel, &pool, &buffer)?;
        let gate = Gate::close(&stream)?;
        buffer.fill(3, &stream)?;
        let written = stream.record_ipc()?;
        assert!(!written.is_imported() && !written.is_complete()?);
        channel.send(&written.descriptor().to_bytes(), &[])?;
        let done = receive_event(channel, &context)?;
        assert!(!done.is_complete()?, "the child's work waits for this process");
        gate.open();
        stream.wait_ipc(&done)?;
        assert_eq!(buffer.slice(8..12)?.download(&stream)?, [5, 5, 3, 3]);
        assert!(written.is_complete()? && done.is_complete()?);
        channel.signal()?;
        channel.wait()?;
        drop((done, written));
        child.join()?;
    }

    /// EVT-2: also of an event that another process made.
    fn a_descriptor_is_that_of_the_maker(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let event = stream.record_ipc()?;
        let child = start(driver, "forward_event")?;
        child.channel().send(&event.descriptor().to_bytes(), &[])?;
        let forwarded = EventDescriptor::from_bytes(&child.channel().receive()?.0)?;
        assert_eq!(&forwarded, event.descriptor());
        child.channel().signal()?;
        child.join()?;
    }

    /// EVT-2: a captured stream records no event for other processes.
    fn a_captured_stream_neither_records_nor_waits(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let event = stream.record_ipc()?;
        let capture = stream.capture(Relaxed)?;
        let is_refused = |refused: warploom::Result<()>| {
            matches!(refused, Err(Error::Capture(CaptureError::NotCapturable { .. })))
        };
        assert!(is_refused(stream.record_ipc().map(drop)));
        assert!(is_refused(stream.wait_ipc(&event)));
        capture.end()?;
        event.synchronize()?;
    }

    /// EVT-3: checked before the driver is asked.
    fn a_wrong_event_descriptor_is_refused_without_a_driver_call(driver) {
        let context = driver.device(0)?.context()?;
        let event = context.stream()?.record_ipc()?;
        let bytes = event.descriptor().to_bytes();
        let calls = driver.count_calls();
        // SAFETY: it is refused.
        let own = unsafe { IpcEvent::import(&context, event.descriptor()) }.expect_err("it is refused");
        assert_eq!(own, Error::Ipc(IpcError::OwnProcess { what: "event descriptor" }));
        for length in 0..bytes.len() {
            let refused = EventDescriptor::from_bytes(&bytes[..length]);
            assert!(matches!(refused, Err(IpcError::Length { .. })), "{refused:?}");
        }
        assert_eq!(calls.total(), 0);
        drop(calls);
    }
}
