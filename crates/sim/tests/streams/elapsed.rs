//! The time between events.

use std::ptr::null_mut;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::{CUevent, CUresult};
use warploom_testkit::{Primary, TestResult, call, code_of, driver_tests, open};

use crate::latch::{Latch, NOT_READY, SUCCESS, comes, event, stream};

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
const UNTOUCHED: f32 = -12345.0;

/// The code and the time of both ABIs, which agree.
fn elapsed(driver: &Driver, start: CUevent, end: CUevent) -> (CUresult, f32) {
    let (mut first, mut second) = (UNTOUCHED, UNTOUCHED);
    let code = code_of(call!(driver.cuEventElapsedTime(&mut first, start, end)));
    assert_eq!(code_of(call!(driver.cuEventElapsedTime_v2(&mut second, start, end))), code);
    assert_eq!(first, second);
    (code, first)
}

driver_tests! {
    fn time_passes_between_records(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (start, end, on) = (event(driver, 0)?, event(driver, 0)?, stream(driver, 1)?);
        call!(driver.cuEventRecord(start, on))?;
        call!(driver.cuEventRecord(end, on))?;
        call!(driver.cuStreamSynchronize(on))?;
        let (code, time) = elapsed(driver, start, end);
        assert_eq!(code, SUCCESS);
        assert!(time > 0.0 && time < 1000.0, "{time}");
        assert_eq!(elapsed(driver, end, start), (SUCCESS, -time));
        assert_eq!(elapsed(driver, start, start), (SUCCESS, 0.0));
        call!(driver.cuEventDestroy_v2(start))?;
        call!(driver.cuEventDestroy_v2(end))?;
        call!(driver.cuStreamDestroy_v2(on))?;
    }

    fn only_records_with_timing_that_were_reached_have_a_time(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (done, untimed, never, pending) =
            (event(driver, 0)?, event(driver, 2)?, event(driver, 0)?, event(driver, 0)?);
        let on = stream(driver, 1)?;
        for recorded in [done, untimed] {
            call!(driver.cuEventRecord(recorded, on))?;
        }
        call!(driver.cuStreamSynchronize(on))?;
        latch.block(on)?;
        call!(driver.cuEventRecord(pending, on))?;
        let none: CUevent = null_mut();
        for wrong in [none, untimed, never] {
            for other in [done, pending, wrong] {
                assert_eq!(elapsed(driver, wrong, other), (INVALID_HANDLE, UNTOUCHED));
                assert_eq!(elapsed(driver, other, wrong), (INVALID_HANDLE, UNTOUCHED));
            }
        }
        for other in [done, pending] {
            assert_eq!(elapsed(driver, pending, other), (NOT_READY, UNTOUCHED));
            assert_eq!(elapsed(driver, other, pending), (NOT_READY, UNTOUCHED));
        }
        latch.open();
        call!(driver.cuStreamSynchronize(on))?;
        assert_eq!(elapsed(driver, done, pending).0, SUCCESS);
        for made in [done, untimed, never, pending] {
            call!(driver.cuEventDestroy_v2(made))?;
        }
        call!(driver.cuStreamDestroy_v2(on))?;
    }

    fn waiting_work_comes_later_in_time(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let (busy, idle) = (stream(driver, 0)?, stream(driver, 1)?);
        let [first, by_event, by_default_stream] = [event(driver, 0)?, event(driver, 0)?, event(driver, 0)?];
        for value in 0..200 {
            call!(driver.cuStreamWriteValue32_v2(busy, latch.word + 8, value, 0))?;
        }
        call!(driver.cuEventRecord(first, busy))?;
        call!(driver.cuStreamWaitEvent(idle, first, 0))?;
        call!(driver.cuEventRecord(by_event, idle))?;
        call!(driver.cuEventRecord(by_default_stream, null_mut()))?;
        call!(driver.cuCtxSynchronize())?;
        for later in [by_event, by_default_stream] {
            let (code, time) = elapsed(driver, first, later);
            assert_eq!(code, SUCCESS);
            assert!(time >= 0.0, "{time}");
        }
        for made in [first, by_event, by_default_stream] {
            call!(driver.cuEventDestroy_v2(made))?;
        }
        call!(driver.cuStreamDestroy_v2(busy))?;
        call!(driver.cuStreamDestroy_v2(idle))?;
    }

    fn a_host_that_has_waited_records_later(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let (busy, idle) = (stream(driver, 1)?, stream(driver, 1)?);
        let (first, second) = (event(driver, 0)?, event(driver, 0)?);
        for way in 0..4 {
            for value in 0..200 {
                call!(driver.cuStreamWriteValue32_v2(busy, latch.word + 8, value, 0))?;
            }
            call!(driver.cuEventRecord(first, busy))?;
            match way {
                0 => call!(driver.cuStreamSynchronize(busy))?,
                1 => call!(driver.cuEventSynchronize(first))?,
                2 => comes(SUCCESS, "the event", || call!(driver.cuEventQuery(first))),
                _ => comes(SUCCESS, "the stream", || call!(driver.cuStreamQuery(busy))),
            }
            call!(driver.cuEventRecord(second, idle))?;
            call!(driver.cuEventSynchronize(second))?;
            let (code, time) = elapsed(driver, first, second);
            assert_eq!(code, SUCCESS);
            assert!(time >= 0.0, "{time} after way {way}");
        }
        for made in [first, second] {
            call!(driver.cuEventDestroy_v2(made))?;
        }
        call!(driver.cuStreamDestroy_v2(busy))?;
        call!(driver.cuStreamDestroy_v2(idle))?;
    }

    threads fn time_that_a_program_sleeps_or_keeps_a_stream_waiting_is_seen(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (start, slept, waited) = (event(driver, 0)?, event(driver, 0)?, event(driver, 0)?);
        let on = stream(driver, 1)?;
        call!(driver.cuEventRecord(start, on))?;
        std::thread::sleep(std::time::Duration::from_millis(50));
        call!(driver.cuEventRecord(slept, on))?;
        latch.block(on)?;
        call!(driver.cuEventRecord(waited, on))?;
        std::thread::sleep(std::time::Duration::from_millis(50));
        latch.open();
        call!(driver.cuStreamSynchronize(on))?;
        for (from, to) in [(start, slept), (slept, waited)] {
            let (code, time) = elapsed(driver, from, to);
            assert_eq!(code, SUCCESS);
            assert!((45.0..1000.0).contains(&time), "{time}");
        }
        for made in [start, slept, waited] {
            call!(driver.cuEventDestroy_v2(made))?;
        }
        call!(driver.cuStreamDestroy_v2(on))?;
    }
}

/// Times some writes behind a block and around it.
fn times(driver: &Driver) -> TestResult<Vec<f32>> {
    let _primary = Primary::of(driver, 0)?;
    let mut latch = Latch::new(driver)?;
    let (on, other) = (stream(driver, 1)?, stream(driver, 1)?);
    let mut events = Vec::new();
    let mut record = |on| -> Result<(), Box<dyn std::error::Error>> {
        events.push(event(driver, 0)?);
        Ok(call!(driver.cuEventRecord(events[events.len() - 1], on))?)
    };
    record(on)?;
    latch.block(on)?;
    for value in 0..5 {
        call!(driver.cuStreamWriteValue32_v2(on, latch.word + 8, value, 0))?;
        record(on)?;
        record(other)?;
    }
    latch.open();
    call!(driver.cuCtxSynchronize())?;
    record(other)?;
    call!(driver.cuCtxSynchronize())?;
    events.iter().map(|event| Ok(elapsed(driver, events[0], *event).1)).collect()
}

#[test]
fn times_are_the_same_on_every_run_where_order_is() -> TestResult {
    for order in [Order::Eager, Order::Lazy, Order::Seeded(3), Order::Seeded(4)] {
        let run = || {
            let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(order))?;
            times(&driver)
        };
        let (first, second) = (run()?, run()?);
        assert_eq!(first, second, "{order:?}");
        assert!(first.last().is_some_and(|last| *last > 0.0), "{order:?}: {first:?}");
    }
    Ok(())
}

#[test]
fn a_time_with_nowhere_to_go_is_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let made = event(driver, 0)?;
    call!(driver.cuEventRecord(made, null_mut()))?;
    call!(driver.cuEventSynchronize(made))?;
    let refused: Result<(), Error> = call!(driver.cuEventElapsedTime(null_mut(), made, made));
    assert_eq!(code_of(refused), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(code_of(call!(driver.cuEventElapsedTime(null_mut(), null_mut(), null_mut()))), INVALID_HANDLE);
    Ok(())
}
