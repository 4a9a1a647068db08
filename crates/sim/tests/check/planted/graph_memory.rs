//! Memory that graphs allocate, used where it is not there.

use warploom_testkit::TestResult;

use super::graph::Graph;
use super::program::{innocent, planted};

#[test]
fn a_node_does_not_come_behind_the_allocation() -> TestResult {
    planted(|bench| {
        let (stream, graph) = (bench.non_blocking()?, Graph::new(bench)?);
        let (allocated, memory) = graph.alloc(64, &[])?;
        let after: &[_] = if bench.fixed { &[allocated] } else { &[] };
        let used = graph.fill(memory, 64, after)?;
        graph.free(memory, &[allocated, used])?;
        graph.launch(stream)
    })
    .finds("use before allocation: memset 1 on A writes 0..64 of m0 of allocation 0 on A; edge from 0 to 1")
    .check()
}

#[test]
fn a_node_does_not_come_before_the_free() -> TestResult {
    planted(|bench| {
        let (stream, graph) = (bench.non_blocking()?, Graph::new(bench)?);
        let (allocated, memory) = graph.alloc(64, &[])?;
        let used = graph.fill(memory, 64, &[allocated])?;
        let after: &[_] = if bench.fixed { &[used] } else { &[allocated] };
        graph.free(memory, after)?;
        graph.launch(stream)
    })
    .finds("use after free: memset 1 on A writes 0..64 of m0, free 2 on A frees; edge from 1 to 2")
    .check()
}

#[test]
fn two_branches_share_an_allocation() -> TestResult {
    planted(|bench| {
        let (stream, graph) = (bench.non_blocking()?, Graph::new(bench)?);
        let (allocated, memory) = graph.alloc(64, &[])?;
        let left = graph.fill(memory, 48, &[allocated])?;
        let right = graph.fill(memory + 16, 48, &[if bench.fixed { left } else { allocated }])?;
        graph.free(memory, &[left, right])?;
        graph.launch(stream)
    })
    .finds("race: memset 1 on A writes, memset 2 on A writes 16..48 of m0; edge from 1 to 2")
    .check()
}

#[test]
fn another_stream_uses_the_memory_without_waiting_for_the_launch() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let graph = Graph::new(bench)?;
        let (_, memory) = graph.alloc(64, &[])?;
        graph.launch(first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        bench.fill(memory, 64, second)?;
        bench.order(second, first)?;
        Ok(bench.free_async(memory, first)?)
    })
    .finds("use before allocation: cuMemsetD8Async on B writes 0..64 of m0 of allocation 0 on A; B after A")
    .check()
}

#[test]
fn the_memory_is_freed_by_another_stream_while_a_node_uses_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (graph, done) = (Graph::new(bench)?, bench.event()?);
        let (allocated, memory) = graph.alloc(64, &[])?;
        let used = graph.fill(memory, 64, &[allocated])?;
        let after = if bench.fixed { used } else { allocated };
        graph.record(done, &[after])?;
        graph.launch(first)?;
        bench.wait(second, done)?;
        Ok(bench.free_async(memory, second)?)
    })
    .finds("use after free: memset 1 on A writes 0..64 of m0, cuMemFreeAsync on B frees; B after A")
    .check()
}

#[test]
fn a_second_graph_frees_what_the_first_allocates() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let [makes, frees] = [Graph::new(bench)?, Graph::new(bench)?];
        let (allocated, memory) = makes.alloc(64, &[])?;
        makes.fill(memory, 64, &[allocated])?;
        frees.free(memory, &[])?;
        makes.launch(first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        frees.launch(second)
    })
    .finds("use after free: memset 1 on A writes 0..64 of m0, free 0 on B frees; B after A")
    .check()
}

#[test]
fn memory_of_an_ordered_graph_comes_again_at_each_launch() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let graph = Graph::new(bench)?;
        let (allocated, memory) = graph.alloc(64, &[])?;
        let used = graph.fill(memory, 64, &[allocated])?;
        let freed = graph.free(memory, &[used])?;
        // Takes the first one's place.
        let (again, next) = graph.alloc(64, &[freed])?;
        let reused = graph.fill(next, 64, &[again])?;
        graph.free(next, &[reused])?;
        let executable = graph.instantiate()?;
        executable.launch(first)?;
        executable.launch(second)?;
        Ok(executable.launch(first)?)
    })
}
