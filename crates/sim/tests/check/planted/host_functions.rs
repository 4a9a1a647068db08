//! The program's own functions in a stream, and what they tell.
#![expect(unsafe_code, reason = "turns the data of a host function back into the channel it is")]

use std::ffi::c_void;
use std::sync::mpsc::{Sender, channel};

use warploom_testkit::sim::{HandOver, Machine};
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, Stream};
use super::program::{innocent, planted};

/// The argument of a host function: the machine, and the channel for its hand-over.
struct News {
    machine: Machine,
    reader: Sender<HandOver>,
}

extern "C" fn tell(data: *mut c_void) {
    // SAFETY: `launch` made it, and each launch calls once.
    let news = unsafe { Box::from_raw(data.cast::<News>()) };
    let over = news.machine.hand_over();
    news.reader.send(over).unwrap_or_default();
}

/// Waits, on a channel that the driver knows nothing of, until a stream has come to a host function.
fn wait_by_channel(bench: &Bench, stream: Stream) -> TestResult<HandOver> {
    let (reader, told) = channel();
    let news = Box::new(News { machine: bench.machine.clone(), reader });
    let driver = &bench.driver;
    call!(driver.cuLaunchHostFunc(stream.raw(), Some(tell), Box::into_raw(news).cast()))?;
    // Where nothing runs by itself, a question makes it run; where it does, asking does no harm.
    loop {
        match told.try_recv() {
            Ok(over) => return Ok(over),
            Err(_) => call!(driver.cuStreamQuery(stream.raw())).unwrap_or_default(),
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_host_function_may_tell_the_program_that_work_is_over() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        wait_by_channel(bench, first)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn a_host_function_says_nothing_of_what_comes_after_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 32, first)?;
        wait_by_channel(bench, first)?;
        bench.fill(memory + 32, 32, first)?;
        if bench.fixed {
            wait_by_channel(bench, first)?;
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 32..64 of m0; B after A")
    .varies()
    .check()
}

#[test]
fn a_host_function_hands_over_what_its_stream_has_done() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        let over = wait_by_channel(bench, first)?;
        bench.machine.take_over(&over);
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .with_hand_overs()
    .stays_quiet()
}
