//! Streams and events. A latch holds a stream wherever a check needs to see work that is not done.

use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUevent_flags;

use crate::latch::Latch;
use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("a stream has the priority it was given", a_stream_has_the_priority_it_was_given),
    ("an event is complete when the work before it is", an_event_is_complete_when_the_work_before_it_is),
    ("an event orders two streams", an_event_orders_two_streams),
    ("two events time what lies between them", two_events_time_what_lies_between_them),
    ("streams join", streams_join),
    ("threads do not disturb each other", threads_do_not_disturb_each_other),
];

fn a_stream_has_the_priority_it_was_given() -> Outcome {
    let context = CudaContext::new(0)?;
    let (least, greatest) = cudarc::driver::result::stream::get_priority_range()?;
    assert!(greatest < least);
    let stream = context.new_stream_with_priority(greatest)?;
    let mut priority = 1;
    // SAFETY: the stream is alive, and the answer has a place.
    unsafe { cudarc::driver::sys::cuStreamGetPriority(stream.cu_stream(), &mut priority) }.result()?;
    assert_eq!(priority, greatest);
    Ok(())
}

fn an_event_is_complete_when_the_work_before_it_is() -> Outcome {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let latch = Latch::new(&context)?;
    latch.hold(&stream)?;
    let event = stream.record_event(None)?;
    assert!(!event.try_is_complete()?);
    latch.open()?;
    event.synchronize()?;
    assert!(event.try_is_complete()?);
    Ok(())
}

fn an_event_orders_two_streams() -> Outcome {
    let context = CudaContext::new(0)?;
    let (writer, reader) = (context.new_stream()?, context.new_stream()?);
    // SAFETY: cudarc's own tracking would order the streams, too; here the event alone does.
    unsafe { context.disable_event_tracking() };
    let latch = Latch::new(&context)?;
    let sent: Vec<u32> = (0..50_000).collect();
    let mut there = writer.alloc_zeros::<u32>(sent.len())?;
    writer.synchronize()?;
    latch.hold(&writer)?;
    writer.memcpy_htod(&sent, &mut there)?;
    let written = writer.record_event(None)?;
    reader.wait(&written)?;
    let copied = reader.clone_dtod(&there)?;
    let done = reader.record_event(None)?;
    assert!(!done.try_is_complete()?);
    latch.open()?;
    assert_eq!(reader.clone_dtoh(&copied)?, sent);
    Ok(())
}

fn two_events_time_what_lies_between_them() -> Outcome {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
    let there = stream.alloc_zeros::<u8>(16 << 20)?;
    let copied = stream.clone_dtod(&there)?;
    let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
    let milliseconds = start.elapsed_ms(&end)?;
    assert!(milliseconds > 0.0 && milliseconds < 1000.0, "{milliseconds} ms");
    let untimed = stream.record_event(None)?;
    let refused = start.elapsed_ms(&untimed).err().ok_or("an event without time was timed")?;
    assert_eq!(refused.error_name()?.to_str()?, "CUDA_ERROR_INVALID_HANDLE");
    drop(copied);
    Ok(())
}

fn streams_join() -> Outcome {
    let context = CudaContext::new(1)?;
    let stream = context.default_stream();
    let mut there = stream.alloc_zeros::<u8>(4096)?;
    let forked = stream.fork()?;
    forked.memcpy_htod(&[7u8; 4096], &mut there)?;
    stream.join(&forked)?;
    assert_eq!(stream.clone_dtoh(&there)?, [7u8; 4096]);
    context.synchronize()?;
    Ok(())
}

fn threads_do_not_disturb_each_other() -> Outcome {
    let work = |thread: usize| -> Result<bool, cudarc::driver::DriverError> {
        let context = CudaContext::new(thread % 4)?;
        let streams = [context.new_stream()?, context.per_thread_stream()];
        for round in 0..25 {
            let sent = vec![thread * 1000 + round; 2000];
            let stream = &streams[round % 2];
            let there = stream.clone_htod(&sent)?;
            if stream.clone_dtoh(&stream.clone_dtod(&there)?)? != sent {
                return Ok(false);
            }
        }
        Ok(true)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|thread| scope.spawn(move || work(thread))).collect();
        for thread in threads {
            assert!(thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok(())
    })
}
