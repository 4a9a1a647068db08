//! Edges that bodies of conditional nodes lack.

use std::ffi::CString;

use warploom_testkit::TestResult;
use warploom_testkit::sys::types::CUfunction;

use super::bench::Bench;
use super::graph::{Graph, STORE};
use super::program::{innocent, planted};

/// Takes 1 from a word, and sets a condition to the rest.
fn count_down(bench: &Bench) -> TestResult<CUfunction> {
    let text = include_str!("../../../../ptx/kernels/ptx/compute_75/conditions.ptx");
    let text = CString::new(text.replacen(".version 9.4", ".version 9.0", 1))?;
    bench.kernel(&text, c"count_down")
}

#[test]
fn two_branches_of_a_body_write_one_buffer() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let first = body.fill(memory, 64, &[])?;
        let second = body.fill(memory + 32, 32, &[])?;
        if bench.fixed {
            body.order(first, second)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 0 on A writes, memset 1 on A writes 32..64 of m0; edge from 0 to 1")
    .unstoppable()
    .check()
}

#[test]
fn a_copy_of_a_body_reads_what_a_kernel_beside_it_writes() -> TestResult {
    planted(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.filled(64)?, bench.alloc(64)?);
        let kernel = bench.kernel(STORE, c"store")?;
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let start = body.join(&[])?;
        let stored = body.kernel(kernel, from + 8, &[start])?;
        let copied = body.copy(to, from, 64, &[start])?;
        if bench.fixed {
            body.order(stored, copied)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: kernel 1 on A writes, memcpy 2 on A reads 8..12 of m0; edge from 1 to 2")
    .unstoppable()
    .check()
}

/// The last node writes everything again, behind both.
#[test]
fn a_race_in_a_body_is_found_behind_a_later_write() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let kernel = bench.kernel(STORE, c"store")?;
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let filled = body.fill(memory, 64, &[])?;
        let after: &[_] = if bench.fixed { &[filled] } else { &[] };
        let stored = body.kernel(kernel, memory, after)?;
        body.fill(memory, 64, &[filled, stored])?;
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 0 on A writes, kernel 1 on A writes 0..4 of m0; edge from 0 to 1")
    .unstoppable()
    .check()
}

#[test]
fn a_node_of_a_body_races_with_one_inside_a_child_graph() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let inner = Graph::new(bench)?;
        let start = inner.join(&[])?;
        inner.fill(memory, 64, &[start])?;
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let child = body.child(&inner, &[])?;
        let beside = body.fill(memory, 16, &[])?;
        if bench.fixed {
            body.order(child, beside)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 1 on A writes, memset 1 on A writes 0..16 of m0; edge from 1 to 1")
    .unstoppable()
    .check()
}

#[test]
fn a_node_of_a_body_races_with_one_inside_a_nested_body() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let (choice, nested) = body.body(&[])?;
        let start = nested.join(&[])?;
        let deep = nested.join(&[start])?;
        nested.fill(memory, 64, &[deep])?;
        let beside = body.fill(memory + 60, 4, &[])?;
        if bench.fixed {
            body.order(choice, beside)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 2 on A writes, memset 1 on A writes 60..64 of m0; edge from 2 to 1")
    .says("the child graph and conditional nodes that they are in")
    .unstoppable()
    .check()
}

#[test]
fn two_branches_of_a_nested_body_write_one_buffer() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let (_, nested) = body.body(&[])?;
        let first = nested.fill(memory, 64, &[])?;
        let second = nested.fill(memory, 4, &[])?;
        if bench.fixed {
            nested.order(first, second)?;
        }
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 0 on A writes, memset 1 on A writes 0..4 of m0; edge from 0 to 1")
    .unstoppable()
    .check()
}

/// However many turns it has.
#[test]
fn a_race_in_a_loop_is_found_once() -> TestResult {
    planted(|bench| {
        let (stream, memory, words) = (bench.non_blocking()?, bench.alloc(64)?, bench.alloc(4)?);
        let kernel = count_down(bench)?;
        let graph = Graph::new(bench)?;
        let start = graph.fill_word(words, 3, &[])?;
        let (_, condition, body) = graph.looped(&[start])?;
        let first = body.fill(memory, 64, &[])?;
        let second = body.fill(memory, 16, &[])?;
        if bench.fixed {
            body.order(first, second)?;
        }
        body.kernel_with(kernel, &mut [condition, words], &[second])?;
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
    .finds("race: memset 0 on A writes, memset 1 on A writes 0..16 of m0; edge from 0 to 1")
    .unstoppable()
    .check()
}

#[test]
fn the_turns_of_a_loop_follow_each_other() -> TestResult {
    innocent(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.filled(64)?, bench.alloc(64)?);
        let (words, kernel) = (bench.alloc(4)?, count_down(bench)?);
        let graph = Graph::new(bench)?;
        let start = graph.fill_word(words, 4, &[])?;
        let (_, condition, body) = graph.looped(&[start])?;
        // Each turn reads what the turn before has written, and nothing orders its own two copies.
        let left = body.copy(to, from, 32, &[])?;
        let right = body.copy(to + 32, from + 32, 32, &[])?;
        let counted = body.kernel_with(kernel, &mut [condition, words], &[left, right])?;
        let (_, inside) = body.body(&[counted])?;
        inside.fill(from, 64, &[])?;
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
}

#[test]
fn branches_of_a_body_touch_different_bytes() -> TestResult {
    innocent(|bench| {
        let (stream, from, to) = (bench.non_blocking()?, bench.filled(64)?, bench.alloc(64)?);
        let graph = Graph::new(bench)?;
        let (_, body) = graph.body(&[])?;
        let start = body.join(&[])?;
        let left = body.copy(to, from, 32, &[start])?;
        let right = body.copy(to + 32, from, 32, &[start])?;
        let join = body.join(&[left, right])?;
        body.fill(from, 64, &[join])?;
        graph.launch(stream)?;
        Ok(bench.sync(stream)?)
    })
}
