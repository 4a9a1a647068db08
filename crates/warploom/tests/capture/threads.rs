//! Threads that share a capture.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use warploom::capture::Relaxed;
use warploom::sys::types::CUresult;
use warploom::{CaptureError, Error, GraphDef, LiveSet, Result};
use warploom_testkit::{TestResult, driver_tests};

use crate::support::Stage;

/// The number of nodes that each thread adds.
const NODES: usize = 40;

/// Waits for a thread.
fn joined(thread: thread::ScopedJoinHandle<'_, Result<()>>) -> TestResult {
    Ok(thread.join().map_err(|_| "it panicked")??)
}

/// `true` if the call was made, and `false` if it was refused because another thread captures the stream.
fn unless_captured<T>(made: Result<T>) -> Result<bool> {
    match made {
        Ok(_) => Ok(true),
        Err(Error::Capture(CaptureError::BeganMeanwhile | CaptureError::OrdinaryPool { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Calls a function until told to stop; the number of its calls that were made.
fn repeat(stop: &AtomicBool, mut call: impl FnMut() -> Result<bool>) -> Result<u32> {
    let mut made = 0;
    while !stop.load(Ordering::Relaxed) {
        made += u32::from(call()?);
    }
    Ok(made)
}

driver_tests! {
    /// Work that other threads enqueue while captures begin and end runs in the order of the memory that it
    /// uses, or becomes part of a graph that keeps the memory.
    fn captures_begin_and_end_while_other_threads_enqueue(driver) {
        let stage = Stage::new(driver)?;
        let (stream, pool, stop) = (&stage.stream, &stage.pool, AtomicBool::new(false));
        thread::scope(|scope| -> TestResult {
            // Memory of another stream, which the captured one has to meet.
            let filling = scope.spawn(|| repeat(&stop, || {
                let mut buffer = pool.allocate::<u32>(1 << 12, &stage.other)?;
                unless_captured(buffer.fill(1, stream))
            }));
            let allocating = scope.spawn(|| repeat(&stop, || unless_captured(pool.zeroed::<u32>(64, stream))));
            let captured = (|| -> TestResult {
                for _ in 0..200 {
                    let capture = stream.capture(Relaxed)?;
                    (0..200).for_each(|_| std::hint::spin_loop());
                    let graph = capture.end()?;
                    // Returned, so that the other threads are told to stop.
                    if !graph.is_accounted()? {
                        return Err("a node was captured whose memory is not kept".into());
                    }
                    graph.instantiate()?.launch(&stage.other)?;
                }
                Ok(())
            })();
            stop.store(true, Ordering::Relaxed);
            for thread in [filling, allocating] {
                thread.join().map_err(|_| "it panicked")??;
            }
            captured
        })?;
        stage.context.synchronize()?;
    }

    /// A stream that joins a capture and leaves it with the end, while another thread enqueues on it.
    fn a_stream_joins_while_another_thread_enqueues(driver) {
        let stage = Stage::new(driver)?;
        let (home, stop) = (stage.context.stream()?, AtomicBool::new(false));
        thread::scope(|scope| -> TestResult {
            let filling = scope.spawn(|| repeat(&stop, || {
                let mut buffer = stage.pool.allocate::<u32>(1 << 12, &home)?;
                unless_captured(buffer.fill(1, &stage.other))
            }));
            let captured = (|| -> TestResult {
                for _ in 0..100 {
                    let capture = stage.stream.capture(Relaxed)?;
                    stage.other.wait_for(capture.stream())?;
                    // The last fill may come after the wait, and then nothing joins it.
                    capture.stream().wait_for(&stage.other)?;
                    match capture.end() {
                        Ok(graph) => graph.instantiate()?.launch(&home)?,
                        Err(error) if error.code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(())
            })();
            stop.store(true, Ordering::Relaxed);
            filling.join().map_err(|_| "it panicked")??;
            captured
        })?;
        stage.context.synchronize()?;
    }

    /// The nodes of a stream form a chain: none falls out of the order between two calls of the driver that add
    /// one node.
    fn threads_add_nodes_to_one_stream(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(16, &stage.stream)?;
        let step = GraphDef::new(&stage.context)?;
        step.empty()?;
        for _ in 0..10 {
            let capture = stage.stream.capture(Relaxed)?;
            thread::scope(|scope| -> TestResult {
                let embedding = scope.spawn(|| (0..NODES).try_for_each(|_| capture.embed(&step)));
                let calling = scope.spawn(|| (0..NODES).try_for_each(|_| capture.callback(|| ())));
                let recording = scope.spawn(|| (0..NODES).try_for_each(|_| capture.stream().record().map(drop)));
                (0..NODES).try_for_each(|_| buffer.fill(1, &capture))?;
                joined(embedding)?;
                joined(calling)?;
                joined(recording)
            })?;
            let graph = GraphDef::from(capture.end()?);
            let nodes = graph.nodes()?;
            assert_eq!(nodes.len(), 3 * NODES);
            let next: Vec<usize> = nodes.iter().map(|node| node.successors().len()).collect::<Result<_>>()?;
            assert!(next.iter().all(|count| *count <= 1), "one node comes next: {next:?}");
            assert_eq!(next.iter().filter(|count| **count == 0).count(), 1, "one node is the last: {next:?}");
        }
    }

    /// Threads capture on forks of one capture at the same time.
    fn threads_capture_on_forks(driver) {
        let stage = Stage::new(driver)?;
        let mut buffers = [stage.pool.zeroed::<u32>(4, &stage.stream)?, stage.pool.zeroed::<u32>(4, &stage.stream)?];
        let capture = stage.stream.capture(Relaxed)?;
        let condition = capture.condition(0)?;
        let forks = capture.fork(2)?;
        thread::scope(|scope| -> TestResult {
            let threads: Vec<_> = buffers
                .iter_mut()
                .zip(&forks)
                .map(|(buffer, fork)| {
                    scope.spawn(move || {
                        (0..NODES as u32).try_for_each(|value| {
                            buffer.fill(value, fork)?;
                            fork.callback(|| ())
                        })
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                condition.graph().node_count()?;
            }
            threads.into_iter().try_for_each(joined)
        })?;
        capture.join(forks)?;
        capture.if_then(&condition)?;
        let exec = capture.end()?.instantiate()?;
        exec.launch(&stage.stream)?;
        for buffer in &buffers {
            assert_eq!(buffer.download(&stage.stream)?, [NODES as u32 - 1; 4]);
        }
    }
}
