//! Exits from several threads, with work in flight.

use crate::child::{Outcome, Program};

#[test]
fn memory_freed_by_an_exit_handler_is_freed_and_counted() -> Outcome {
    let ended = Program::named("frees in an exit handler", "handler")?.succeed()?;
    assert_eq!(ended.calls_of("cuMemFree_v2")?, 1);
    Ok(())
}

#[test]
fn memory_freed_by_thread_storage_is_freed_and_counted() -> Outcome {
    let ended = Program::named("frees with its thread", "storage")?.succeed()?;
    assert_eq!((ended.calls_of("cuMemFree_v2")?, ended.calls_of("cuCtxSynchronize")?), (3, 3));
    Ok(())
}

#[test]
fn any_thread_can_exit() -> Outcome {
    let ended = Program::named("exits on another thread", "elsewhere")?
        .with(warploom_cuda::REPORT_VARIABLE, "report.json")
        .run()?;
    assert_eq!(ended.output.status.code(), Some(7), "{}", ended.said());
    assert_eq!(ended.calls_of("cuMemFree_v2")?, 1);
    Ok(())
}

#[test]
fn exit_does_not_wait_for_work_in_flight() -> Outcome {
    let ended = Program::named("exits while work runs", "running")?.succeed()?;
    assert_eq!(ended.calls_of("cuMemsetD8Async")?, 2000);
    Ok(())
}

#[test]
fn a_host_function_can_exit() -> Outcome {
    let ended = Program::named("exits in a host function", "inside")?
        .with(warploom_cuda::REPORT_VARIABLE, "report.json")
        .run()?;
    assert_eq!(ended.output.status.code(), Some(8), "{}", ended.said());
    assert_eq!(ended.calls_of("cuLaunchHostFunc")?, 1);
    Ok(())
}

/// CPython ends threads that ask for the interpreter while it ends.
#[test]
fn a_thread_can_end_in_a_host_function() -> Outcome {
    let ended = Program::named("ends a thread in a host function", "ends")?
        .with(warploom_cuda::REPORT_VARIABLE, "report.json")
        .run()?;
    assert_eq!(ended.output.status.code(), Some(9), "{}", ended.said());
    assert_eq!(ended.calls_of("cuLaunchHostFunc")?, 2);
    Ok(())
}

#[test]
fn a_thread_can_end_in_a_stream_callback() -> Outcome {
    let ended = Program::named("ends a thread in a stream callback", "ends-back")?
        .with(warploom_cuda::REPORT_VARIABLE, "report.json")
        .run()?;
    assert_eq!(ended.output.status.code(), Some(9), "{}", ended.said());
    assert_eq!(ended.calls_of("cuStreamAddCallback")?, 1);
    Ok(())
}

#[test]
fn calls_are_answered_to_the_last() -> Outcome {
    let ended = Program::named("exits while others call", "others")?.succeed()?;
    assert!(ended.calls_of("cuStreamSynchronize")? >= 4000);
    Ok(())
}

#[test]
fn threads_that_call_first_at_the_same_time_share_one_machine() -> Outcome {
    for _ in 0..5 {
        let ended = Program::named("threads begin at once", "together")?.succeed()?;
        assert_eq!(ended.calls_of("cuMemAlloc_v2")?, 16);
    }
    Ok(())
}
