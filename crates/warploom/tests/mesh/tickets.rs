//! Tickets: completion of copies (S3.21).

use warploom::{ContextError, DeviceMemory, Error, Function};
use warploom_testkit::{TestResult, budget};

use super::gate::Gate;
use super::{Site, warm};

/// S3.21: an unused ticket costs nothing; a used one records one event.
#[test]
fn a_ticket_records_when_it_is_first_asked_and_once() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    warm(&streams)?;
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    mesh.copy(&source, &mut target, &streams[1])?;
    let copy = (Function::cuMemcpyPeerAsync, 1);
    let ticket = budget(&site.driver, &[copy], || mesh.copy(&source, &mut target, &streams[1]))?;
    budget(&site.driver, &[(Function::cuEventRecord, 1), (Function::cuEventSynchronize, 1)], || ticket.synchronize())?;
    assert!(budget(&site.driver, &[(Function::cuEventQuery, 1)], || ticket.is_complete())?);
    budget(&site.driver, &[(Function::cuStreamWaitEvent, 1)], || ticket.hold_back(&streams[0]))?;
    budget(&site.driver, &[], || ticket.hold_back(&streams[1]))?;
    budget(&site.driver, &[], || ticket.into_event())?.synchronize()?;
    let record = (Function::cuEventRecord, 1);
    budget(&site.driver, &[copy, record], || mesh.copy(&source, &mut target, &streams[1])?.mark())?.synchronize()?;
    Ok(())
}

/// S3.21: what is enqueued after a ticket was marked is not waited for.
#[test]
fn a_marked_ticket_does_not_wait_for_later_work() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let marked = mesh.copy(&source, &mut target, &streams[1])?.mark()?;
    let late = mesh.copy(&source, &mut target, &streams[1])?;
    let gate = Gate::close(&streams[1])?;
    marked.synchronize()?;
    assert!(marked.is_complete()? && !late.is_complete()?);
    gate.open();
    late.synchronize()?;
    Ok(())
}

/// S3.21: a stream of any device can be held back until a copy is done.
#[test]
fn another_stream_is_held_back_until_the_copy_is_done() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let gate = Gate::close(&streams[1])?;
    let ticket = mesh.copy(&source, &mut target, &streams[1])?;
    ticket.hold_back(&streams[3])?;
    assert!(!streams[3].is_idle()? && !ticket.is_complete()?);
    gate.open();
    streams[3].synchronize()?;
    assert!(ticket.is_complete()?);
    Ok(())
}

/// A ticket of a device that was reset is stale, like everything else of it.
#[test]
fn a_ticket_of_a_device_that_was_reset_is_stale() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let ticket = mesh.copy(&source, &mut target, &streams[1])?.mark()?;
    ticket.synchronize()?;
    #[expect(unsafe_code, reason = "resets a device")]
    // SAFETY: nothing runs on the device, and what was made there is only asked about.
    unsafe { site.contexts[1].device().reset_context() }?;
    let stale = Err(Error::Context(ContextError::Stale { device: 1, expected: 0, found: 1 }));
    assert_eq!(ticket.is_complete().map(|_| ()), stale);
    assert_eq!(ticket.hold_back(&streams[0]), stale);
    Ok(())
}
