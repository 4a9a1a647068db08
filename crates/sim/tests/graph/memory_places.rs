//! Where a graph's memory is placed, and which graph has it.

use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests};

use super::memory::allocation;
use crate::support::{Graph, Stage, moved};

const MIB: usize = 1 << 20;
/// The granule of addresses, which graphs do not share.
const GRANULE: u64 = 32 << 20;

/// Adds an allocation, and returns its address and node.
fn allocate(graph: &Graph<'_>, bytes: usize) -> TestResult<(CUdeviceptr, CUgraphNode)> {
    let (driver, mut node, mut params) = (graph.driver, null_mut(), allocation(bytes));
    call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut params))?;
    Ok((params.dptr, node))
}

/// The code for a free node of a graph, behind another node.
fn free(driver: &Driver, graph: &Graph<'_>, address: CUdeviceptr, after: CUgraphNode) -> CUresult {
    let mut node = null_mut();
    code_of(call!(driver.cuGraphAddMemFreeNode(&mut node, graph.raw, &after, usize::from(!after.is_null()), address)))
}

driver_tests! {
    fn the_granule_that_came_last_is_given_out_first(driver) {
        let stage = Stage::new(driver)?;
        for newest in [0, 1] {
            let mut graphs = vec![stage.graph()?, stage.graph()?];
            let addresses = [allocate(&graphs[0], 1)?.0, allocate(&graphs[1], 1)?.0];
            graphs.swap(0, newest);
            graphs.into_iter().rev().for_each(drop);
            let next = stage.graph()?;
            assert_eq!(allocate(&next, 1)?.0, addresses[newest]);
        }
    }

    fn a_graph_fills_its_smallest_hole_first(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let first = allocate(&graph, 20 * MIB)?.0;
        // The granule behind the first is another graph's, so that the second allocation gets one of its own.
        let mut others = Vec::new();
        for _ in 0..64 {
            let other = stage.graph()?;
            let is_behind = allocate(&other, 1)?.0 == first + GRANULE;
            others.push(other);
            if is_behind {
                break;
            }
        }
        let second = allocate(&graph, 25 * MIB)?.0;
        assert_eq!((first % GRANULE, second % GRANULE), (0, 0));
        let places: Vec<_> = [1, 6, 10, 1]
            .iter()
            .map(|size| Ok(allocate(&graph, size * MIB)?.0))
            .collect::<TestResult<_>>()?;
        let mib = MIB as u64;
        assert_eq!(places, [second + 25 * mib, second + 26 * mib, first + 20 * mib, first + 30 * mib]);
    }

    /// Instantiation looks at the memory before it finds the cycle.
    fn a_graph_with_a_cycle_leaves_its_memory_to_others(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut raw) = (stage.graph()?, null_mut());
        let (address, node) = allocate(&graph, 64)?;
        let nodes = [graph.empty(&[])?, graph.empty(&[])?];
        call!(driver.cuGraphAddDependencies(graph.raw, &nodes[0], &nodes[1], 1))?;
        call!(driver.cuGraphAddDependencies(graph.raw, &nodes[1], &nodes[0], 1))?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(free(driver, &graph, address, node), CUresult::CUDA_ERROR_INVALID_VALUE);
        let (later, node) = allocate(&graph, 64)?;
        assert_eq!(free(driver, &graph, later, node), CUresult::CUDA_SUCCESS);
        assert_eq!(free(driver, &stage.graph()?, address, null_mut()), CUresult::CUDA_SUCCESS);
    }

    /// An allocation behind a free node has the address of the one before, and is left as well.
    fn a_graph_with_a_cycle_leaves_memory_that_has_an_address_again(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut raw, mut node) = (stage.graph()?, null_mut(), null_mut());
        let (address, first) = allocate(&graph, 64)?;
        call!(driver.cuGraphAddMemFreeNode(&mut node, graph.raw, &first, 1, address))?;
        let mut params = allocation(64);
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, &[node][0], 1, &mut params))?;
        assert_eq!(params.dptr, address);
        call!(driver.cuGraphAddDependencies(graph.raw, &node, &first, 1))?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(free(driver, &graph, address, node), CUresult::CUDA_ERROR_INVALID_VALUE);
    }

    /// Other refusals come before.
    fn a_graph_that_is_refused_for_other_reasons_keeps_its_memory(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut raw, mut condition) = (stage.graph()?, null_mut(), 0);
        let (address, node) = allocate(&graph, 64)?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 16), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphConditionalHandleCreate(&mut condition, graph.raw, stage.context(), 0, 0))?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(free(driver, &graph, address, node), CUresult::CUDA_SUCCESS);
    }

    fn the_graph_of_a_child_node_gets_no_memory_nodes(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut child) = (stage.graph()?, stage.graph()?, null_mut());
        let (address, allocated) = allocate(&inner, 64)?;
        let node = graph.move_in(inner, &[])?;
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut child))?;
        let (mut added, mut params) = (null_mut(), allocation(64));
        answers!(
            driver.cuGraphAddMemAllocNode(&mut added, child, null(), 0, &mut params),
            CUDA_ERROR_NOT_SUPPORTED
        );
        answers!(driver.cuGraphAddMemFreeNode(&mut added, child, &allocated, 1, address), CUDA_ERROR_NOT_SUPPORTED);
        call!(driver.cuGraphAddEmptyNode(&mut added, child, &allocated, 1))?;
        let other = stage.graph()?;
        allocate(&other, 64)?;
        let mut given = moved(other.raw);
        answers!(
            driver.cuGraphAddNode(&mut added, child, null(), 0, &mut given),
            CUDA_ERROR_NOT_SUPPORTED
        );
        graph.move_in(other, &[])?;
    }

    fn a_graph_whose_memory_an_executable_has_is_not_moved(driver) {
        let stage = Stage::new(driver)?;
        let (graph, outer, mut node) = (stage.graph()?, stage.graph()?, null_mut());
        allocate(&graph, 64)?;
        let executable = graph.instantiate()?;
        let mut params = moved(graph.raw);
        answers!(driver.cuGraphAddNode(&mut node, outer.raw, null(), 0, &mut params), CUDA_ERROR_NOT_SUPPORTED);
        drop(executable);
        outer.move_in(graph, &[])?;
        // Memory inside it does not count.
        let _executable = outer.instantiate()?;
        stage.graph()?.move_in(outer, &[])?;
    }

    /// The memory of child graphs counts as that of a graph which has none itself.
    fn an_executable_from_before_a_child_graph_with_memory_is_compared(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut info) = (stage.graph()?, stage.graph()?, crate::support::zeroed());
        allocate(&inner, 64)?;
        graph.empty(&[])?;
        let before = graph.instantiate()?;
        graph.move_in(inner, &[])?;
        let _executable = graph.instantiate()?;
        answers!(driver.cuGraphExecUpdate_v2(before.raw, graph.raw, &mut info), CUDA_ERROR_NOT_SUPPORTED);
        allocate(&graph, 64)?;
        answers!(
            driver.cuGraphExecUpdate_v2(before.raw, graph.raw, &mut info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
    }

    fn an_executable_has_the_memory_of_the_graph_that_it_was_updated_by(driver) {
        let stage = Stage::new(driver)?;
        let (one, other, mut raw) = (stage.graph()?, stage.graph()?, null_mut());
        allocate(&one, 64)?;
        allocate(&other, 64)?;
        let (executable, mut info) = (one.instantiate()?, crate::support::zeroed());
        call!(driver.cuGraphExecUpdate_v2(executable.raw, other.raw, &mut info))?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, other.raw, 0), CUDA_ERROR_NOT_SUPPORTED);
        let second = one.instantiate()?;
        answers!(driver.cuGraphExecUpdate_v2(executable.raw, one.raw, &mut info), CUDA_ERROR_NOT_SUPPORTED);
        drop(second);
        call!(driver.cuGraphExecUpdate_v2(executable.raw, one.raw, &mut info))?;
        other.instantiate()?;
    }
}
