//! Completion as a future: no executor but the one below.

mod gate;

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use gate::Gate;
use warploom::sys::types::CUresult;
use warploom::{Completion, DevicePool, Error, Event, Function, PinnedMemory, StreamError};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::{Mode, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

/// Timeout for a task that is never woken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Unparks a thread, and counts how often.
struct Unpark {
    thread: Thread,
    times: AtomicUsize,
}

impl Unpark {
    fn this_thread() -> (Arc<Unpark>, Waker) {
        let unpark = Arc::new(Unpark { thread: std::thread::current(), times: AtomicUsize::new(0) });
        (Arc::clone(&unpark), unpark.into())
    }

    /// Sleeps until the waker has been called.
    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.times() == 0 {
            std::thread::park_timeout(deadline.saturating_duration_since(Instant::now()));
            assert!(Instant::now() < deadline, "nobody woke the task");
        }
    }

    fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.times.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// Runs a future to its end, asleep whenever there is nothing to do.
fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let (_, waker) = Unpark::this_thread();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        std::thread::park_timeout(deadline.saturating_duration_since(Instant::now()));
        assert!(Instant::now() < deadline, "nobody woke the task");
    }
}

/// Asks a future once.
fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Task::from_waker(waker))
}

driver_tests! {
    threads fn streams_events_and_host_functions_can_be_awaited(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(1 << 20, &stream)?;
        buffer.fill(1, &stream)?;
        let point = stream.record()?;
        block_on(async {
            stream.completion().await?;
            (&stream).await?;
            (&point).await?;
            point.completion().await?;
            point.await?;
            stream.record_timed()?.await?;
            assert_eq!(stream.host(|| 7)?.await?, 7);
            stream.host(|| panic!("oh no"))?.await
        }).expect_err("the host function panics");
        assert!(stream.is_idle()?);
    }

    fn a_future_that_is_asked_again_and_again_is_ready_in_the_end(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(1 << 20, &stream)?;
        buffer.fill(1, &stream)?;
        let mut returned = stream.host(|| 7)?.into_future();
        let mut completion = stream.completion();
        let done = loop {
            if let Poll::Ready(done) = poll(&mut completion, Waker::noop()) {
                break done;
            }
            std::thread::yield_now();
        };
        done?;
        assert_eq!(poll(&mut returned, Waker::noop()), Poll::Ready(Ok(7)));
    }

    threads fn copies_of_page_locked_memory_can_be_awaited_and_give_it_back(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, memory) = (context.stream()?, PinnedMemory::new(&context));
        let mut device = DevicePool::new(&context)?.allocate::<u32>(1 << 18, &stream)?;
        let values: Vec<u32> = (0..1 << 18).collect();
        let back = block_on(async {
            let sent = device.as_slice_mut().copy_from_pinned(memory.buffer_of(&values)?, &stream)?.await?;
            device.as_slice().copy_to_pinned(sent, &stream)?.await
        })?;
        assert_eq!(back.as_slice(), values);
    }

    fn a_copy_that_is_done_is_ready_after_one_question_and_only_once(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let device = DevicePool::new(&context)?.upload(b"done", &stream)?;
        let pending = device.as_slice().copy_to_pinned(PinnedMemory::new(&context).buffer(4)?, &stream)?;
        stream.synchronize()?;
        let mut returned = pending.into_future();
        let polled = budget(driver, &[(Function::cuEventQuery, 1)], || poll(&mut returned, Waker::noop()));
        let Poll::Ready(back) = polled else { panic!("it is done") };
        assert_eq!(back?.as_slice(), b"done");
        budget(driver, &[], || assert!(poll(&mut returned, Waker::noop()).is_pending()));
    }

    /// Its memory is used by the copy until that is done; checks are on.
    fn a_future_of_a_copy_may_be_dropped_while_the_copy_runs(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, memory) = (context.stream()?, PinnedMemory::new(&context));
        let pool = DevicePool::new(&context)?;
        let device = pool.upload(&vec![7_u8; 1 << 20], &stream)?;
        for polls in 0..2 {
            let gate = Gate::close(&stream)?;
            let mut returned = device.as_slice().copy_to_pinned(memory.buffer(1 << 20)?, &stream)?.into_future();
            for _ in 0..polls {
                assert!(poll(&mut returned, Waker::noop()).is_pending());
            }
            gate.open();
            drop(returned);
            assert!(stream.is_idle()?, "freeing the memory has waited");
        }
    }

    fn completed_work_is_ready_after_one_query(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let point = stream.record()?;
        point.synchronize()?;
        let mut completion = point.completion();
        for _ in 0..3 {
            let polled = budget(driver, &[(Function::cuEventQuery, 1)], || poll(&mut completion, Waker::noop()));
            assert_eq!(polled, Poll::Ready(Ok(())));
        }
    }

    threads fn a_task_sleeps_until_the_work_is_done_and_is_woken_once(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let gate = Gate::close(&stream)?;
        let (unpark, waker) = Unpark::this_thread();
        let mut completion = stream.completion();
        assert_eq!(poll(&mut completion, &waker), Poll::Pending);
        // Asking again changes nothing: one question each.
        for _ in 0..3 {
            let asked = budget(driver, &[(Function::cuEventQuery, 1)], || poll(&mut completion, &waker));
            assert_eq!((asked, unpark.times()), (Poll::Pending, 0));
        }
        gate.open();
        block_on(&mut completion)?;
        stream.synchronize()?;
        assert_eq!(unpark.times(), 0, "the last one to ask is woken");
    }

    threads fn the_stream_itself_is_not_held_up_by_the_future(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let gate = Gate::close(&stream)?;
        let (_, waker) = Unpark::this_thread();
        let mut completion = stream.completion();
        let asked = [(Function::cuEventQuery, 1), (Function::cuStreamWaitEvent, 1), (Function::cuStreamAddCallback, 1)];
        assert_eq!(poll(&mut completion, &waker), Poll::Pending);
        gate.open();
        block_on(completion)?;
        drop(gate);
        // From the second time on the relay is there, and all that the stream itself gets is the record.
        let _gate = Gate::close(&stream)?;
        let mut completion = budget(driver, &[(Function::cuEventRecord, 1)], || stream.completion());
        assert_eq!(budget(driver, &asked, || poll(&mut completion, &waker)), Poll::Pending);
    }

    threads fn a_future_is_ready_although_another_is_not(driver) {
        let context = driver.device(0)?.context()?;
        let (slow, fast) = (context.stream()?, context.stream()?);
        let (first, second) = (Gate::close(&slow)?, Gate::close(&fast)?);
        let (_, waker) = Unpark::this_thread();
        let (mut late, mut early) = (slow.completion(), fast.completion());
        assert_eq!((poll(&mut late, &waker), poll(&mut early, &waker)), (Poll::Pending, Poll::Pending));
        second.open();
        block_on(&mut early)?;
        assert_eq!(poll(&mut late, &waker), Poll::Pending);
        first.open();
        block_on(late)?;
    }

    threads fn a_future_may_be_dropped_at_any_time(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let (unpark, waker) = Unpark::this_thread();
        drop(stream.completion());
        for _ in 0..3 {
            let gate = Gate::close(&stream)?;
            let mut completion = stream.completion();
            assert_eq!(poll(&mut completion, &waker), Poll::Pending);
            drop(completion);
            gate.open();
            block_on(stream.completion())?;
        }
        drop((stream, waker));
        drop(context); // waits for what is still to be called
        assert_eq!(Arc::strong_count(&unpark), 1);
    }

    threads fn a_host_function_is_awaited(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let (go, wait) = mpsc::channel();
        let mut returned = stream.host(move || wait.recv())?.into_future();
        let (_, waker) = Unpark::this_thread();
        assert_eq!(poll(&mut returned, &waker), Poll::Pending);
        go.send(5)?;
        assert_eq!(block_on(&mut returned)?, Ok(5));
        assert_eq!(poll(&mut returned, &waker), Poll::Ready(Err(Error::Stream(StreamError::HostFunctionNotRun))), "it has been taken");
    }

    threads fn no_more_than_a_few_relays_are_kept(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let (_, waker) = Unpark::this_thread();
        let gate = Gate::close(&stream)?;
        let mut many: Vec<_> = (0..20).map(|_| stream.completion()).collect();
        assert!(many.iter_mut().all(|completion| poll(completion, &waker).is_pending()));
        gate.open();
        many.into_iter().try_for_each(block_on)?;
        drop(gate);
        for _ in 0..8 {
            let gate = Gate::close(&stream)?;
            let mut completion = stream.completion();
            assert_eq!(poll(&mut completion, &waker), Poll::Pending);
            gate.open();
            block_on(completion)?;
        }
        drop(stream);
        let calls = driver.count_calls();
        drop(context);
        assert_eq!(calls.count(Function::cuStreamDestroy_v2), 16);
    }
}

#[test]
fn a_task_that_waits_for_work_that_fails_is_woken_and_told() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
    stream.synchronize()?;
    let gate = Gate::close(&stream)?;
    let rule = Rule::on(Calls::named("cuMemsetD8Async")?).fail_work(CUresult::CUDA_ERROR_LAUNCH_FAILED);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    buffer.fill(1, &stream)?;
    let (unpark, waker) = Unpark::this_thread();
    let mut completion = stream.completion();
    assert_eq!(poll(&mut completion, &waker), Poll::Pending);
    gate.open();
    unpark.wait();
    let failed = block_on(completion).expect_err("the work fails");
    assert_eq!(failed.code(), Some(CUresult::CUDA_ERROR_LAUNCH_FAILED));
    assert!(block_on(stream.completion()).is_err(), "a lost context is told at once");
    Ok(())
}

#[test]
fn a_future_that_cannot_be_woken_says_so_and_leaves_nothing_behind() -> TestResult {
    for function in ["cuStreamWaitEvent", "cuStreamAddCallback", "cuStreamCreate", "cuEventQuery", "cuEventRecord"] {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let gate = Gate::close(&stream)?;
        let rule = Rule::on(Calls::named(function)?).fail(CUresult::CUDA_ERROR_UNKNOWN);
        let scope = machine.inject(Plan::new().rule(rule))?;
        let (unpark, waker) = Unpark::this_thread();
        let mut completion = stream.completion();
        let Poll::Ready(Err(error)) = poll(&mut completion, &waker) else { panic!("{function} failed") };
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_UNKNOWN), "{function}");
        drop((scope, completion, waker));
        gate.open();
        drop((gate, stream, context));
        assert_eq!((Arc::strong_count(&unpark), unpark.times()), (1, 0), "{function}");
    }
    Ok(())
}

/// A copy that cannot be asked about may still be running.
#[test]
fn memory_does_not_come_back_from_a_copy_that_cannot_be_asked_about() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(warploom_sim::Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let device = DevicePool::new(&context)?.upload(b"late", &stream)?;
    let memory = PinnedMemory::new(&context).buffer(4)?;
    let plan = Plan::new().rule(Rule::on(Calls::named("cuEventQuery")?).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let mut returned = device.as_slice().copy_to_pinned(memory, &stream)?.into_future();
    let before = machine.census();
    let scope = machine.inject(plan)?;
    let Poll::Ready(back) = poll(&mut returned, Waker::noop()) else { panic!("a failure is an answer") };
    assert_eq!(back.map(drop).map_err(|error| error.code()), Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
    drop(scope);
    assert_ne!(machine.census(), before, "the memory was freed after the copy");
    assert_eq!(machine.unfinished_ops(), 0, "for which that waited");
    Ok(())
}

/// Polls another future when it is dropped.
struct PollsAnother(Mutex<Option<Pin<Box<Completion<Event>>>>>);

impl Wake for PollsAnother {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PollsAnother {
    fn drop(&mut self) {
        if let Some(mut other) = self.0.get_mut().ok().and_then(Option::take) {
            assert!(poll(&mut other, Waker::noop()).is_pending());
        }
    }
}

/// Nothing of the library is locked while it drops a waker.
#[test]
fn a_waker_may_poll_when_it_is_replaced() -> TestResult {
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        let replace = || -> TestResult {
            let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
            let stream = driver.device(0)?.context()?.stream()?;
            let gate = Gate::close(&stream)?;
            let (mut completion, other) = (stream.completion(), Box::pin(stream.completion()));
            let waker = Waker::from(Arc::new(PollsAnother(Mutex::new(Some(other)))));
            assert!(poll(&mut completion, &waker).is_pending());
            drop(waker);
            assert!(poll(&mut completion, Waker::noop()).is_pending());
            gate.open();
            Ok(block_on(completion)?)
        };
        send.send(replace().map_err(|error| error.to_string()))
    });
    Ok(received.recv_timeout(PATIENCE)??)
}
