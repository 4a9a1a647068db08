//! Capture: enqueued work becomes a graph instead of running.

use std::thread;
use std::time::Duration;

use warploom::capture::Relaxed;
use warploom::{DevicePool, Driver, Function, Result, Stream, graph};

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

const LEN: usize = 1 << 16;
/// Of each buffer.
const BYTES: u64 = (LEN * size_of::<u32>()) as u64;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let (mut x, mut y) = (pool.zeroed::<u32>(LEN, &stream)?, pool.zeroed::<u32>(LEN, &stream)?);
    let bystander = pool.zeroed::<u32>(LEN, &stream)?;
    let calls = driver.count_calls();
    let capture = stream.capture(Relaxed)?;
    x.fill(7, &capture)?;
    x.copy_to(&mut y, &capture)?;
    drop(bystander);
    let freed_meanwhile = calls.count(Function::cuMemFreeAsync);
    let graph = capture.end()?;
    let freed_at_the_end = calls.count(Function::cuMemFreeAsync);
    let (nodes, accounted) = (graph.node_count()?, graph.is_accounted()?);
    let untouched = y.download(&stream)?.iter().all(|value| *value == 0);
    drop((x, y));
    stream.synchronize()?;
    let kept = pool.statistics()?.used >= 2 * BYTES;
    drop(graph);
    let released = is_released(&pool, &stream)?;
    let checks = vec![
        Check::new(
            "a fill and a copy became a graph of two nodes, and did not run",
            nodes == 2 && accounted && untouched,
        ),
        Check::new(
            "a buffer that was dropped meanwhile was freed when the capture ended",
            (freed_meanwhile, freed_at_the_end) == (0, 1),
        ),
        Check::new("the graph kept the memory that it uses, until it went", kept && released),
    ];
    Ok((Findings::Capture { nodes, bytes: LEN * size_of::<u32>() }, checks))
}

/// `true` once nothing of the pool is in use. A graph's memory is freed soon after the graph is gone, by
/// another thread.
fn is_released(pool: &DevicePool, stream: &Stream) -> Result<bool> {
    for _ in 0..1000 {
        graph::reclaim();
        stream.synchronize()?;
        if pool.statistics()?.used == 0 {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(false)
}
