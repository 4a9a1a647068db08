//! Large graphs: calls take as long per node as in small ones.

use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, open};

use crate::conditions::{bodies, conditional};
use crate::memory::allocation;
use crate::support::{Executable, Graph, Stage, zeroed};

const SMALL: usize = 1500;
/// The large graph has so many times the nodes.
const TIMES: usize = 16;
/// It may take so many times as long at most; a time that grows with the square of the size is 256 times as long.
const MOST: u32 = 64;

/// Fails if the work for a graph takes much longer per node in a large graph.
fn assert_linear(work: impl Fn(&Stage<'_>, usize) -> TestResult<Duration>) -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let shortest = |size| Ok::<_, Box<dyn std::error::Error>>(work(&stage, size)?.min(work(&stage, size)?));
    let (small, large) = (shortest(SMALL)?, shortest(SMALL * TIMES)?);
    assert!(large < small * MOST, "{large:?} for {TIMES} times as many nodes; {small:?} for {SMALL}");
    Ok(())
}

/// The time that work takes on the calling thread, without the time of other threads where the system tells.
fn time(work: impl FnOnce() -> TestResult) -> TestResult<Duration> {
    let (began, begun) = (Instant::now(), time_of_thread());
    work()?;
    let elapsed = begun.zip(time_of_thread()).and_then(|(begun, ended)| ended.checked_sub(begun));
    Ok(elapsed.unwrap_or_else(|| began.elapsed()))
}

fn time_of_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn update(driver: &Driver, executable: &Executable<'_>, graph: &Graph<'_>) -> TestResult {
    let mut info: CUgraphExecUpdateResultInfo = zeroed();
    Ok(call!(driver.cuGraphExecUpdate_v2(executable.raw, graph.raw, &mut info))?)
}

#[test]
fn nodes_of_a_large_executable_change_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let (driver, graph) = (stage.driver, stage.graph()?);
        let fills = (0..size).map(|_| graph.fill(&stage.fill(0, 1, 4), stage.context(), &[]));
        let fills = fills.collect::<TestResult<Vec<_>>>()?;
        let executable = graph.instantiate()?;
        let mut params: CUgraphNodeParams = zeroed();
        params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
        params.__bindgen_anon_1.memset = CUDA_MEMSET_NODE_PARAMS_v2 {
            dst: stage.memory,
            pitch: 0,
            value: 2,
            elementSize: 1,
            width: 4,
            height: 1,
            ctx: stage.context(),
        };
        time(|| {
            for fill in fills {
                call!(driver.cuGraphExecNodeSetParams(executable.raw, fill, &mut params))?;
            }
            Ok(())
        })
    })
}

#[test]
fn children_of_a_large_executable_change_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let (driver, graph, inner) = (stage.driver, stage.graph()?, stage.graph()?);
        inner.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        let children = (0..size).map(|_| graph.child(inner.raw, &[])).collect::<TestResult<Vec<_>>>()?;
        let executable = graph.instantiate()?;
        time(|| {
            for child in children {
                call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, inner.raw))?;
            }
            Ok(())
        })
    })
}

/// Empty nodes are no steps of a launch.
#[test]
fn large_graphs_with_empty_nodes_update_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let graph = stage.graph()?;
        for _ in 0..size {
            graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
            graph.empty(&[])?;
        }
        let executable = graph.instantiate()?;
        time(|| update(stage.driver, &executable, &graph))
    })
}

#[test]
fn large_bodies_update_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let (driver, graph, context) = (stage.driver, stage.graph()?, stage.context());
        let (mut handle, mut node) = (0, null_mut());
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, context, 0, 1))?;
        let mut params = conditional(handle, CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, 1, context);
        call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))?;
        // The body belongs to its node.
        let body = ManuallyDrop::new(Graph { driver, raw: bodies(&params)[0] });
        for _ in 0..size {
            body.fill(&stage.fill(0, 1, 4), context, &[])?;
        }
        let executable = graph.instantiate()?;
        time(|| update(driver, &executable, &graph))
    })
}

/// Each empty node waits for one more fill, and all of them for those before.
#[test]
fn a_long_chain_of_empty_nodes_is_instantiated_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let graph = stage.graph()?;
        let mut last = graph.empty(&[])?;
        for _ in 0..size {
            let fill = graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
            last = graph.empty(&[last, fill])?;
        }
        time(|| graph.instantiate().map(drop))
    })
}

/// Each allocation comes behind all those before, and behind their frees.
#[test]
fn many_allocations_are_added_quickly() -> TestResult {
    for is_freed in [false, true] {
        assert_linear(|stage, size| {
            let (driver, graph) = (stage.driver, stage.graph()?);
            let mut last = graph.empty(&[])?;
            time(|| {
                for _ in 0..size {
                    let mut params = allocation(512);
                    call!(driver.cuGraphAddMemAllocNode(&mut last, graph.raw, [last].as_ptr(), 1, &mut params))?;
                    if is_freed {
                        call!(driver.cuGraphAddMemFreeNode(&mut last, graph.raw, [last].as_ptr(), 1, params.dptr))?;
                    }
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// A launch frees the memory that the one before has left.
#[test]
fn much_memory_is_freed_at_a_launch_quickly() -> TestResult {
    assert_linear(|stage, size| {
        let (driver, graph, mut node, mut raw) = (stage.driver, stage.graph()?, null_mut(), null_mut());
        for _ in 0..size {
            let mut params = allocation(512);
            call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut params))?;
        }
        call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 1))?;
        call!(driver.cuGraphLaunch(raw, null_mut()))?;
        call!(driver.cuCtxSynchronize())?;
        let elapsed = time(|| Ok(call!(driver.cuGraphLaunch(raw, null_mut()))?))?;
        call!(driver.cuGraphExecDestroy(raw))?;
        Ok(elapsed)
    })
}
