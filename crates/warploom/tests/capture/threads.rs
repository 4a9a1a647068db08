//! Threads that share a capture.

use std::thread;

use warploom::capture::Relaxed;
use warploom::{GraphDef, LiveSet, Result};
use warploom_testkit::{TestResult, driver_tests};

use crate::support::Stage;

/// The number of nodes that each thread adds.
const NODES: usize = 40;

/// Waits for a thread.
fn joined(thread: thread::ScopedJoinHandle<'_, Result<()>>) -> TestResult {
    Ok(thread.join().map_err(|_| "it panicked")??)
}

driver_tests! {
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
