//! Closing, dropping and aborting communicators.

use std::sync::{Arc, Mutex};

use warploom::Error;
use warploom::diagnostics::{self, Subject};
use warploom::nccl::{NcclCode, NcclError};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, open};

use super::gate::Gate;
use super::{Alone, Fake, eager, nccl_error};

/// A communicator that has done something, and its stand-in.
fn used() -> TestResult<(warploom_sim::Machine, Alone)> {
    let (machine, driver, _) = eager("h200")?;
    let alone = Alone::on(&driver)?;
    let mut values = alone.pool.upload(&[1_u32; 4], &alone.stream)?;
    alone.communicator.broadcast(&mut values, 0, &alone.stream)?;
    fake(&alone).take_calls();
    Ok((machine, alone))
}

#[track_caller]
fn fake(alone: &Alone) -> &Fake {
    alone.library.fake.as_ref().expect("a stand-in on a simulated machine")
}

#[test]
fn a_communicator_is_closed_with_the_others_and_aborted_alone() -> TestResult {
    let (_machine, alone) = used()?;
    let next = alone.library.nccl.join_alone(std::slice::from_ref(&alone.context))?.remove(0);
    fake(&alone).take_calls();
    next.close()?;
    assert_eq!(fake(&alone).take_calls(), ["ncclCommFinalize rank 0", "ncclCommDestroy rank 0"]);
    let next = alone.library.nccl.join_alone(std::slice::from_ref(&alone.context))?.remove(0);
    fake(&alone).take_calls();
    next.abort()?;
    assert_eq!(fake(&alone).take_calls(), ["ncclCommAbort rank 0"]);
    Ok(())
}

#[test]
fn a_close_that_fails_aborts() -> TestResult {
    let (_machine, alone) = used()?;
    let Alone { communicator, library, .. } = alone;
    let fake = library.fake.ok_or("a stand-in")?;
    fake.fail("ncclCommFinalize", 6);
    let error = nccl_error(communicator.close());
    assert_eq!(error.code(), Some(NcclCode::REMOTE_ERROR));
    assert_eq!(fake.take_calls(), ["ncclCommFinalize rank 0", "ncclCommAbort rank 0"]);
    assert_eq!(fake.alive(), 0);
    Ok(())
}

#[test]
fn asynchronous_failures_are_reported_by_check() -> TestResult {
    let (_machine, alone) = used()?;
    alone.communicator.check()?;
    fake(&alone).fail_later(6);
    let error = nccl_error(alone.communicator.check());
    assert!(matches!(error, NcclError::Failed { code: NcclCode::REMOTE_ERROR, .. }), "{error}");
    assert!(error.to_string().contains("abort it"), "{error}");
    alone.communicator.abort()?;
    Ok(())
}

/// A communicator that was told not to block, by the environment, is waited for.
#[test]
fn calls_in_progress_are_waited_for() -> TestResult {
    let (_machine, alone) = used()?;
    fake(&alone).fail("ncclCommFinalize", 7);
    let Alone { communicator, library, .. } = alone;
    communicator.close()?;
    assert_eq!(library.fake.ok_or("a stand-in")?.alive(), 0);
    Ok(())
}

#[test]
fn a_dropped_communicator_never_hangs_and_reports_unfinished_work() -> TestResult {
    let (_machine, alone) = used()?;
    alone.stream.synchronize()?;
    let Alone { communicator, library, .. } = alone;
    let stand_in = library.fake.as_ref().ok_or("a stand-in")?;
    drop(communicator);
    assert_eq!(stand_in.take_calls(), ["ncclCommDestroy rank 0"]);

    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (heard, here) = (Arc::clone(&reports), std::thread::current().id());
    // Other tests drop communicators, too, on threads of their own.
    diagnostics::set_hook(move |report| {
        if std::thread::current().id() == here && matches!(report.subject, Subject::Communicator { device: 0 }) {
            heard.lock().expect("no panic").push(report.error.clone());
        }
    });
    let Alone { communicator, stream, pool, library, .. } = Alone::on(&driver)?;
    let stand_in = library.fake.as_ref().ok_or("a stand-in")?;
    let mut values = pool.upload(&[1_u32; 4], &stream)?;
    let gate = Gate::close(&stream)?;
    communicator.broadcast(&mut values, 0, &stream)?;
    stand_in.take_calls();
    drop(communicator);
    diagnostics::reset_hook();
    assert_eq!(stand_in.take_calls(), ["ncclCommAbort rank 0"]);
    assert_eq!(*reports.lock().expect("no panic"), [Error::from(NcclError::DroppedInUse)]);
    drop(gate);
    Ok(())
}

#[test]
fn a_panic_aborts() -> TestResult {
    let (_machine, alone) = used()?;
    let Alone { communicator, library, stream, .. } = alone;
    stream.synchronize()?;
    let thread = std::thread::spawn(move || {
        let _communicator = communicator;
        panic!("on purpose");
    });
    assert!(thread.join().is_err());
    assert_eq!(library.fake.ok_or("a stand-in")?.take_calls(), ["ncclCommAbort rank 0"]);
    Ok(())
}

#[test]
fn a_call_that_fails_ends_the_use_of_a_communicator() -> TestResult {
    let (_machine, alone) = used()?;
    let mut values = alone.pool.upload(&[1_u32; 4], &alone.stream)?;
    fake(&alone).fail("ncclBroadcast", 2);
    let error = nccl_error(alone.communicator.broadcast(&mut values, 0, &alone.stream));
    assert_eq!(error.code(), Some(NcclCode::SYSTEM_ERROR));
    fake(&alone).fail("ncclBroadcast", 0);
    let error = nccl_error(alone.communicator.broadcast(&mut values, 0, &alone.stream));
    assert_eq!(error, NcclError::Broken);
    fake(&alone).take_calls();
    let Alone { communicator, library, .. } = alone;
    assert_eq!(nccl_error(communicator.close()), NcclError::Broken);
    assert_eq!(library.fake.ok_or("a stand-in")?.take_calls(), ["ncclCommAbort rank 0"]);
    Ok(())
}

/// It may go to another thread, and is used by one at a time.
#[test]
fn a_communicator_goes_to_another_thread() -> TestResult {
    let (_machine, alone) = used()?;
    let Alone { communicator, stream, pool, library, .. } = alone;
    let mut values = pool.upload(&[1_u32; 4], &stream)?;
    let thread = std::thread::spawn(move || {
        communicator.broadcast(&mut values, 0, &stream)?;
        communicator.close()
    });
    thread.join().map_err(|_| "it does not panic")??;
    assert_eq!(library.fake.ok_or("a stand-in")?.alive(), 0);
    Ok(())
}
