//! Order between streams, and queries of a blocked stream.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Barrier;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUevent, CUstream};
use warploom_testkit::{Primary, TestResult, call, driver_tests};

use crate::latch::{Latch, NOT_READY, SUCCESS, comes, event, legacy, per_thread, stays, stream};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Legacy,
    PerThread,
    Blocking,
    NonBlocking,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Nothing,
    Write,
    Record,
    /// Waits for an event that has been reached.
    Wait,
    HostFunction,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Legacy, Kind::PerThread, Kind::Blocking, Kind::NonBlocking];

    fn make(self, driver: &Driver) -> TestResult<CUstream> {
        match self {
            Kind::Legacy => Ok(null_mut()),
            Kind::PerThread => Ok(per_thread()),
            Kind::Blocking => stream(driver, 0),
            Kind::NonBlocking => stream(driver, 1),
        }
    }

    fn destroy(self, driver: &Driver, stream: CUstream) -> TestResult {
        if matches!(self, Kind::Blocking | Kind::NonBlocking) {
            call!(driver.cuStreamDestroy_v2(stream))?;
        }
        Ok(())
    }

    fn is_ordered_against_legacy(self) -> bool {
        matches!(self, Kind::PerThread | Kind::Blocking)
    }

    /// `true` if an op of this stream waits for one that is already in the other.
    fn waits_for(self, other: Kind) -> bool {
        (self == Kind::Legacy && other.is_ordered_against_legacy())
            || (other == Kind::Legacy && self.is_ordered_against_legacy())
    }
}

extern "C" fn nothing(_: *mut c_void) {}

fn act(driver: &Driver, doing: Doing, latch: &Latch, on: CUstream, event: CUevent) -> TestResult {
    match doing {
        Doing::Nothing => {}
        Doing::Write => call!(driver.cuStreamWriteValue32_v2(on, latch.word + 16, 1, 0))?,
        Doing::Record => call!(driver.cuEventRecord(event, on))?,
        Doing::Wait => call!(driver.cuStreamWaitEvent(on, event, 0))?,
        Doing::HostFunction => call!(driver.cuLaunchHostFunc(on, Some(nothing), null_mut()))?,
    }
    Ok(())
}

/// Blocks one stream, enqueues work in another, and queries all streams.
fn probe(driver: &Driver, blocked: Kind, other: Kind, doing: Doing) -> TestResult {
    let mut latch = Latch::new(driver)?;
    let (first, second) = (blocked.make(driver)?, other.make(driver)?);
    let event = event(driver, 0)?;
    if doing == Doing::Wait {
        call!(driver.cuEventRecord(event, latch.writer))?;
        call!(driver.cuEventSynchronize(event))?;
    }
    latch.block(first)?;
    act(driver, doing, &latch, second, event)?;
    let what = format!("{blocked:?} is blocked, {other:?} does {doing:?}");
    let waits = other.waits_for(blocked);
    let expect = |name: &str, asked: CUstream, busy: bool| {
        let what = format!("{what}: {name}");
        let ask = || call!(driver.cuStreamQuery(asked));
        if busy { stays(NOT_READY, &what, ask) } else { comes(SUCCESS, &what, ask) }
    };
    expect("the blocked one", first, true);
    // The legacy stream is busy with what it would wait for; the others only with what they have.
    let has_work = !matches!(doing, Doing::Nothing | Doing::Wait);
    let is_busy = waits && (has_work || other == Kind::Legacy);
    expect("the other", second, is_busy);
    expect("legacy", legacy(), blocked != Kind::NonBlocking);
    expect("per-thread", per_thread(), blocked == Kind::PerThread || (other == Kind::PerThread && is_busy));
    if doing == Doing::Record {
        let ask = || call!(driver.cuEventQuery(event));
        if waits { stays(NOT_READY, &what, ask) } else { comes(SUCCESS, &what, ask) }
    }
    latch.open();
    for asked in [first, second, legacy(), per_thread()] {
        comes(SUCCESS, &what, || call!(driver.cuStreamQuery(asked)));
    }
    call!(driver.cuEventDestroy_v2(event))?;
    blocked.destroy(driver, first)?;
    other.destroy(driver, second)
}

driver_tests! {
    fn streams_wait_for_the_legacy_stream_and_it_for_them_unless_they_are_non_blocking(driver) {
        let _primary = Primary::of(driver, 0)?;
        for blocked in Kind::ALL {
            for other in Kind::ALL {
                if blocked == other && matches!(blocked, Kind::Legacy | Kind::PerThread) {
                    continue;
                }
                for doing in [Doing::Nothing, Doing::Write, Doing::Record, Doing::Wait, Doing::HostFunction] {
                    probe(driver, blocked, other, doing)?;
                }
            }
        }
    }

    fn the_legacy_stream_passes_a_block_on_to_the_next_blocking_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (first, second, free) = (stream(driver, 0)?, stream(driver, 0)?, stream(driver, 1)?);
        let middle = event(driver, 0)?;
        latch.block(first)?;
        call!(driver.cuStreamWriteValue32_v2(null_mut(), latch.word + 16, 1, 0))?;
        call!(driver.cuStreamWriteValue32_v2(second, latch.word + 16, 2, 0))?;
        stays(NOT_READY, "the second", || call!(driver.cuStreamQuery(second)));
        comes(SUCCESS, "the non-blocking one", || call!(driver.cuStreamQuery(free)));
        call!(driver.cuEventRecord(middle, null_mut()))?;
        call!(driver.cuStreamWaitEvent(free, middle, 0))?;
        call!(driver.cuStreamWriteValue32_v2(free, latch.word + 20, 3, 0))?;
        stays(NOT_READY, "what waits for an event of the legacy stream", || call!(driver.cuStreamQuery(free)));
        latch.open();
        call!(driver.cuCtxSynchronize())?;
        for made in [first, second, free] {
            call!(driver.cuStreamQuery(made))?;
            call!(driver.cuStreamDestroy_v2(made))?;
        }
        call!(driver.cuEventDestroy_v2(middle))?;
    }

    fn a_wait_in_the_legacy_stream_passes_a_block_on_even_if_its_event_has_been_reached(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (first, second, reached) = (stream(driver, 0)?, stream(driver, 0)?, event(driver, 0)?);
        call!(driver.cuEventRecord(reached, latch.writer))?;
        call!(driver.cuEventSynchronize(reached))?;
        latch.block(first)?;
        call!(driver.cuStreamWaitEvent(null_mut(), reached, 0))?;
        call!(driver.cuStreamWriteValue32_v2(second, latch.word + 16, 1, 0))?;
        stays(NOT_READY, "the second", || call!(driver.cuStreamQuery(second)));
        latch.open();
        comes(SUCCESS, "the second", || call!(driver.cuStreamQuery(second)));
        for made in [first, second] {
            call!(driver.cuStreamDestroy_v2(made))?;
        }
        call!(driver.cuEventDestroy_v2(reached))?;
    }

    fn the_legacy_stream_waits_for_one_that_took_the_place_of_a_destroyed_one(driver) {
        let primary = Primary::of(driver, 0)?;
        let (mut gone, mut memory, mut bytes) = (null_mut(), 0, [0_u8; 16]);
        call!(driver.cuMemAlloc_v2(&mut memory, 16))?;
        call!(driver.cuStreamCreate(&mut gone, 0))?;
        call!(driver.cuMemsetD8Async(memory, 1, 16, gone))?;
        call!(driver.cuStreamDestroy_v2(gone))?;
        call!(driver.cuCtxSynchronize())?;
        // The thread's own default stream is made by its first use, and so is the legacy one.
        call!(driver.cuMemsetD8Async(memory, 2, 16, std::ptr::without_provenance_mut(2)))?;
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 16))?;
        assert_eq!(bytes, [2; 16]);
        call!(driver.cuMemFree_v2(memory))?;
        drop(primary);
    }

    fn a_new_blocking_stream_is_idle_while_the_legacy_stream_is_blocked(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        latch.block(null_mut())?;
        let late = stream(driver, 0)?;
        call!(driver.cuStreamQuery(late))?;
        call!(driver.cuStreamSynchronize(late))?;
        call!(driver.cuStreamSynchronize(per_thread()))?;
        latch.open();
        call!(driver.cuStreamSynchronize(null_mut()))?;
        call!(driver.cuStreamDestroy_v2(late))?;
    }

    /// The per-thread stream of another thread is one of them.
    threads fn waiting_for_the_legacy_stream_waits_for_blocking_streams(driver) {
        let primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        let context = primary.context.addr();
        for blocked in [made, per_thread()] {
            let mut latch = Latch::new(driver)?;
            latch.block(blocked)?;
            let started = Barrier::new(2);
            std::thread::scope(|scope| -> TestResult {
                let waiter = scope.spawn(|| {
                    let current = call!(driver.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)));
                    started.wait();
                    current.and_then(|()| call!(driver.cuStreamSynchronize(null_mut())))
                });
                started.wait();
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(!waiter.is_finished());
                latch.open();
                waiter.join().expect("the waiter returns")?;
                Ok(())
            })?;
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }
}
