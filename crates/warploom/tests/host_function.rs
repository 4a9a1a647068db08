//! Host functions: order, panics, and functions that never run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use warploom::sys::types::CUresult;
use warploom::{ContextOptions, DevicePool, Error, Function, HostTask, StreamError};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::{Mode, Order, topology::Topology};
use warploom_testkit::{TestResult, budget, call, driver_tests, modes, open};

driver_tests! {
    fn host_functions_run_once_and_in_the_order_of_the_stream(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks = (0..10).map(|number| {
            let order = Arc::clone(&order);
            stream.host(move || {
                order.lock().expect("nobody panics").push(number);
                number * number
            })
        });
        let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
        stream.synchronize()?;
        assert!(tasks[9].is_finished()?);
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.wait()?, number * number);
        }
        assert_eq!(*order.lock().expect("nobody panics"), (0..10).collect::<Vec<_>>());
        assert_eq!(Arc::strong_count(&order), 1, "every function is gone");
    }

    fn a_host_function_runs_after_the_work_before_it(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(1 << 20, &stream)?;
        buffer.fill(1, &stream)?;
        let filled = stream.record()?;
        let task = stream.host(move || filled.is_complete())?;
        other.wait(task.event())?;
        other.synchronize()?;
        assert!(task.is_finished()?);
        assert_eq!(task.wait()?, Ok(true));
    }

    fn a_host_function_runs_on_default_streams_too(driver) {
        let context = driver.device(0)?.context()?;
        for stream in [context.legacy_stream(), context.per_thread_stream()] {
            assert_eq!(stream.host(|| 7)?.wait()?, 7);
        }
    }

    fn a_host_function_is_a_launch_and_a_record(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        stream.host(|| ())?.wait()?;
        let calls = [(Function::cuLaunchHostFunc, 1), (Function::cuEventRecord, 1)];
        let task = budget(driver, &calls, || stream.host(|| ()))?;
        budget(driver, &[(Function::cuEventSynchronize, 1)], || task.wait())?;
    }

    fn a_panic_in_a_host_function_is_the_tasks_error_and_harms_nothing_else(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let (text, formatted) = (stream.host(|| panic!("oh no"))?, stream.host(|| panic!("{}", 1 + 1))?);
        let other = stream.host(|| std::panic::panic_any(7))?;
        let after = stream.host(|| "still going")?;
        assert_eq!(after.wait()?, "still going");
        let message = |task: HostTask<()>| match task.wait() {
            Err(Error::Stream(StreamError::HostFunctionPanicked { message })) => message.into_string(),
            other => format!("{other:?}"),
        };
        assert_eq!([text, formatted, other].map(message), ["oh no", "2", "a payload that is not text"]);
        stream.synchronize()?;
    }

    fn cuda_is_not_permitted_in_a_host_function(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let inside = context.clone();
        let task = stream.host(move || inside.synchronize())?;
        let refused = task.wait()?.expect_err("no context can be current");
        assert_eq!(refused.code(), Some(CUresult::CUDA_ERROR_NOT_PERMITTED));
    }

    fn captures_of_a_host_function_are_dropped_after_it_ran(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        drop(stream.host(move || drop(inside))?);
        stream.synchronize()?;
        assert_eq!(Arc::strong_count(&held), 1);
    }

    threads fn a_stream_goes_on_when_its_host_function_returns(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let (go, wait) = mpsc::channel();
        let task = stream.host(move || wait.recv())?;
        let later = stream.record()?;
        assert!(!task.is_finished()? && !later.is_complete()?);
        go.send(5)?;
        later.synchronize()?;
        assert_eq!(task.wait()?, Ok(5));
    }

    threads fn a_context_that_goes_lets_its_host_functions_run(driver) {
        let runs = Arc::new(AtomicUsize::new(0));
        let stream = driver.device(0)?.context()?.stream()?;
        for _ in 0..3 {
            let runs = Arc::clone(&runs);
            drop(stream.host(move || runs.fetch_add(1, Ordering::SeqCst))?);
        }
        drop(stream);
        // The context was the last of its device: it is gone, and nothing of it is still to come.
        assert_eq!((runs.load(Ordering::SeqCst), Arc::strong_count(&runs)), (3, 1));
    }
}

#[test]
fn a_host_function_that_the_driver_refuses_is_dropped_and_does_not_run() -> TestResult {
    let refusals: [fn(Rule) -> Rule; 2] =
        [|rule| rule.fail(CUresult::CUDA_ERROR_UNKNOWN), |rule| rule.fail_after(CUresult::CUDA_ERROR_UNKNOWN)];
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads] {
        for refusal in refusals {
            let (machine, driver) = open(Topology::preset("h200")?, mode)?;
            let stream = driver.device(0)?.context()?.stream()?;
            // Holds up what comes next, so that it has not run when the launch turns out to have failed.
            let (go, wait) = mpsc::channel::<()>();
            let first = (mode == Mode::Threads).then(|| stream.host(move || wait.recv().is_err())).transpose()?;
            let held = Arc::new(());
            let inside = Arc::clone(&held);
            let scope = machine.inject(Plan::new().rule(refusal(Rule::on(Calls::named("cuLaunchHostFunc")?))))?;
            let refused = stream.host(move || drop(inside)).expect_err("the launch fails");
            drop(scope);
            assert_eq!(refused.code(), Some(CUresult::CUDA_ERROR_UNKNOWN));
            assert_eq!(Arc::strong_count(&held), 1);
            drop((go, first));
            stream.synchronize()?;
        }
    }
    Ok(())
}

#[test]
fn a_host_function_behind_work_that_failed_is_dropped_with_the_context() -> TestResult {
    for mode in modes(2).filter(|mode| *mode != Mode::Sync) {
        let (machine, driver) = open(Topology::preset("h200")?, mode)?;
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        let rule = Rule::on(Calls::named("cuLaunchHostFunc")?).nth(1).fail_work(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        let scope = machine.inject(Plan::new().rule(rule))?;
        // In some orders the failure is known at once.
        let failed = stream.host(move || drop(inside)).and_then(HostTask::wait);
        assert_eq!(failed.unwrap_err().code(), Some(CUresult::CUDA_ERROR_LAUNCH_FAILED), "{mode:?}");
        drop((stream, context, scope));
        assert_eq!(Arc::strong_count(&held), 1, "{mode:?}");
    }
    Ok(())
}

#[test]
fn host_functions_of_a_context_that_others_hold_are_kept_until_it_ends() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let ours = driver.device(0)?.context()?;
    let theirs = driver.device(0)?.context()?;
    let runs = Arc::new(AtomicUsize::new(0));
    let inside = Arc::clone(&runs);
    let stream = ours.stream()?;
    drop(stream.host(move || inside.fetch_add(1, Ordering::SeqCst))?);
    drop((stream, ours));
    assert_eq!((runs.load(Ordering::SeqCst), Arc::strong_count(&runs)), (0, 2));
    theirs.synchronize()?;
    assert_eq!((runs.load(Ordering::SeqCst), Arc::strong_count(&runs)), (1, 1));
    Ok(())
}

#[test]
fn host_functions_that_never_run_are_dropped_with_any_kind_of_context() -> TestResult {
    for is_reset in [true, false] {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
        let (held, device) = (Arc::new(()), driver.device(0)?);
        let context = if is_reset { device.context()? } else { device.create_context(ContextOptions::new())? };
        let inside = Arc::clone(&held);
        let rule = Rule::on(Calls::named("cuLaunchHostFunc")?).fail_work(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        let _scope = machine.inject(Plan::new().rule(rule))?;
        let failed = context.stream()?.host(move || drop(inside)).and_then(HostTask::wait);
        assert_eq!(failed.unwrap_err().code(), Some(CUresult::CUDA_ERROR_LAUNCH_FAILED));
        assert_eq!(Arc::strong_count(&held), 2);
        if is_reset {
            call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
            assert!(context.check().is_err(), "its life is over");
        }
        context.close()?;
        assert_eq!(Arc::strong_count(&held), 1);
    }
    Ok(())
}
