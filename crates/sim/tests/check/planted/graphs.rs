//! Edges that graphs lack, and launches that nothing orders.

use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, code_of};

use super::graph::{Graph, STORE};
use super::program::{failing, innocent, planted};

#[test]
fn two_branches_write_one_buffer() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let first = graph.fill(memory, 64, &[])?;
        let second = graph.fill(memory + 32, 32, &[])?;
        if bench.fixed {
            graph.order(first, second)?;
        }
        graph.launch(stream)
    })
    .finds("race: memset 0 on A writes, memset 1 on A writes 32..64 of m0; edge from 0 to 1")
    .check()
}

#[test]
fn a_branch_reads_what_another_writes() -> TestResult {
    planted(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.filled(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let start = graph.join(&[])?;
        let written = graph.fill(from, 64, &[start])?;
        let read = graph.copy(to, from, 64, &[start])?;
        if bench.fixed {
            graph.order(written, read)?;
        }
        graph.launch(stream)
    })
    .finds("race: memset 1 on A writes, memcpy 2 on A reads 0..64 of m0; edge from 1 to 2")
    .check()
}

#[test]
fn a_join_waits_for_one_of_two_branches() -> TestResult {
    planted(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.alloc(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let left = graph.fill(from, 32, &[])?;
        let right = graph.fill(from + 32, 32, &[])?;
        let both: &[_] = if bench.fixed { &[left, right] } else { &[left] };
        let join = graph.join(both)?;
        graph.copy(to, from, 64, &[join])?;
        graph.launch(stream)
    })
    .finds("race: memset 1 on A writes, memcpy 3 on A reads 32..64 of m0; edge from 1 to 3")
    .check()
}

#[test]
fn an_edge_is_taken_away() -> TestResult {
    planted(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.alloc(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let written = graph.fill(from, 64, &[])?;
        let read = graph.copy(to, from, 16, &[written])?;
        if !bench.fixed {
            graph.disorder(written, read)?;
        }
        graph.launch(stream)
    })
    .finds("race: memset 0 on A writes, memcpy 1 on A reads 0..16 of m0; edge from 0 to 1")
    .says("add an edge from node 0 to node 1")
    .check()
}

#[test]
fn a_node_races_with_one_inside_a_child_graph() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let inner = Graph::new(bench)?;
        let start = inner.join(&[])?;
        inner.fill(memory, 64, &[start])?;
        let graph = Graph::new(bench)?;
        let child = graph.child(&inner, &[])?;
        let beside = graph.fill(memory, 16, &[])?;
        if bench.fixed {
            graph.order(child, beside)?;
        }
        graph.launch(stream)
    })
    .finds("race: memset 1 on A writes, memset 1 on A writes 0..16 of m0; edge from 1 to 1")
    .says("the child graph and conditional nodes that they are in")
    .check()
}

#[test]
fn a_node_races_with_one_inside_a_body() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let (choice, body) = graph.body(&[])?;
        let start = body.join(&[])?;
        body.fill(memory, 64, &[start])?;
        let beside = graph.fill(memory + 60, 4, &[])?;
        if bench.fixed {
            graph.order(beside, choice)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 1 on A writes, memset 1 on A writes 60..64 of m0; edge from 1 to 1")
    .says("the child graph and conditional nodes that they are in")
    .unstoppable()
    .check()
}

#[test]
fn kernels_of_two_branches_write_one_word() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let kernel = bench.kernel(STORE, c"store")?;
        let graph = Graph::new(bench)?;
        let start = graph.join(&[])?;
        let first = graph.kernel(kernel, memory + 8, &[start])?;
        graph.kernel(kernel, memory + 12, &[start])?;
        let second = graph.kernel(kernel, memory + 8, &[start])?;
        if bench.fixed {
            graph.order(first, second)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: kernel 1 on A writes, kernel 3 on A writes 8..12 of m0; edge from 1 to 3")
    .unstoppable()
    .check()
}

#[test]
fn a_copy_on_another_stream_does_not_wait_for_a_launch() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        graph.fill(from, 64, &[])?;
        graph.launch(first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(bench.copy(to, from, 64, second)?)
    })
    .finds("race: memset 0 on A writes, cuMemcpyDtoDAsync_v2 on B reads 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_launch_does_not_wait_for_work_of_another_stream() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        let graph = Graph::new(bench)?;
        let start = graph.join(&[])?;
        graph.fill(memory, 64, &[start])?;
        let executable = graph.instantiate()?;
        bench.fill(memory, 64, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(executable.launch(second)?)
    })
    .finds("race: cuMemsetD8Async on A writes, memset 1 on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn launches_of_two_executables_overlap() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        let graph = Graph::new(bench)?;
        graph.fill(memory, 64, &[])?;
        let executables = [graph.instantiate()?, graph.instantiate()?];
        executables[0].launch(first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(executables[1].launch(second)?)
    })
    .finds("race: memset 0 on A writes, memset 0 on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_stream_is_not_behind_a_launch_whose_graph_it_does_not_upload() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        let graph = Graph::new(bench)?;
        graph.fill(memory, 64, &[])?;
        let executable = graph.instantiate()?;
        executable.launch(first)?;
        if bench.fixed {
            executable.upload(second)?;
        }
        Ok(bench.fill(memory, 64, second)?)
    })
    .finds("race: memset 0 on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn the_host_writes_what_a_launch_reads() -> TestResult {
    planted(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.filled(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        graph.copy(to, from, 64, &[])?;
        graph.launch(stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        Ok(bench.upload(from, 64)?)
    })
    .finds("race: memcpy 0 on A reads, cuMemcpyHtoD_v2 on default 0 writes 0..64 of m0; default 0 after A")
    .check()
}

#[test]
fn an_event_is_recorded_beside_the_work_that_it_stands_for() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        let graph = Graph::new(bench)?;
        let written = graph.fill(memory, 64, &[])?;
        let after: &[_] = if bench.fixed { &[written] } else { &[] };
        graph.record(done, after)?;
        graph.launch(first)?;
        bench.wait(second, done)?;
        Ok(bench.fill(memory, 64, second)?)
    })
    .finds("race: memset 0 on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_node_stands_beside_the_wait_that_it_needs() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        let graph = Graph::new(bench)?;
        let awaited = graph.wait(done, &[])?;
        let written = graph.fill(memory, 64, &[])?;
        if bench.fixed {
            graph.order(awaited, written)?;
        }
        let executable = graph.instantiate()?;
        bench.fill(memory, 64, first)?;
        bench.record(done, first)?;
        Ok(executable.launch(second)?)
    })
    .finds("race: cuMemsetD8Async on A writes, memset 1 on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn memory_is_freed_while_a_launch_uses_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc_async(64, first)?;
        bench.fill(memory, 64, first)?;
        let graph = Graph::new(bench)?;
        graph.fill(memory, 64, &[])?;
        graph.launch(first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(bench.free_async(memory, second)?)
    })
    .finds("use after free: memset 0 on A writes 0..64 of m0, cuMemFreeAsync on B frees; B after A")
    .check()
}

#[test]
fn launches_of_one_executable_follow_each_other() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        let graph = Graph::new(bench)?;
        graph.fill(memory, 64, &[])?;
        let executable = graph.instantiate()?;
        executable.launch(first)?;
        executable.launch(second)?;
        Ok(executable.launch(first)?)
    })
}

#[test]
fn a_path_is_as_good_as_an_edge() -> TestResult {
    innocent(|bench| {
        let (stream, memory, other) = (bench.non_blocking()?, bench.alloc(64)?, bench.alloc(64)?);
        let inner = Graph::new(bench)?;
        inner.fill(other, 64, &[])?;
        let graph = Graph::new(bench)?;
        let first = graph.fill(memory, 64, &[])?;
        let child = graph.child(&inner, &[first])?;
        let join = graph.join(&[child])?;
        graph.copy(other, memory, 64, &[join])?;
        graph.launch(stream)?;
        Ok(bench.fill(other, 64, stream)?)
    })
}

/// A launch that is refused for a race runs none of its nodes, and none of them counts.
#[test]
fn a_refused_launch_runs_no_node() -> TestResult {
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads, Mode::Sync] {
        let bench = failing(mode)?;
        let (stream, other) = bench.two_streams()?;
        let (first, raced) = (bench.filled(64)?, bench.filled(64)?);
        let graph = Graph::new(&bench)?;
        let before = graph.fill_word(first, 0x0101_0101, &[])?;
        let left = graph.fill_word(raced, 0x0202_0202, &[before])?;
        let right = graph.fill_word(raced, 0x0303_0303, &[before])?;
        let executable = graph.instantiate()?;
        assert_eq!(code_of(executable.launch(stream)), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        assert_eq!(bench.machine.take_findings().len(), 1);
        // No node counts: another stream may write where they would have, and each byte is as before.
        bench.copy(raced + 32, first, 4, other)?;
        bench.sync(other)?;
        bench.sync(stream)?;
        assert_eq!(bench.download(first, 4)?, [5; 4], "{mode:?}");
        assert_eq!(bench.machine.take_findings().len(), 0);
        graph.order(left, right)?;
        graph.launch(stream)?;
        bench.sync(stream)?;
        assert_eq!((bench.download(first, 4)?, bench.download(raced, 4)?), (vec![1; 4], vec![3; 4]), "{mode:?}");
    }
    Ok(())
}
