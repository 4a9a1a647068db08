//! Capture: enqueued work becomes a graph instead of running.

use warploom::capture::Relaxed;
use warploom::{Driver, Function, graph};

use super::{Found, first_device};
use crate::report::{Check, Findings};

const LEN: usize = 1 << 16;

pub(super) fn visit(driver: &Driver) -> Found {
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
    let kept = calls.count(Function::cuMemFreeAsync) == freed_at_the_end;
    drop(graph);
    graph::reclaim();
    let released = calls.count(Function::cuMemFreeAsync) == freed_at_the_end + 2;
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
