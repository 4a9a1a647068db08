//! Updates of the graph in a child node of an executable.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, code_of, driver_tests};

use crate::conditions::{IF, conditional};
use crate::memory::allocation;
use crate::support::{Graph, Stage};

driver_tests! {
    /// The nodes of a child graph are compared by their numbers, and not from the ends on.
    fn a_child_graph_is_compared_node_by_node(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context) = (stage.graph()?, stage.context());
        let make = |order: &[bool]| -> TestResult<_> {
            let graph = stage.graph()?;
            let mut nodes = Vec::new();
            for is_fill in order {
                nodes.push(if *is_fill {
                    graph.fill(&stage.fill(0, 1, 4), context, &[])?
                } else {
                    graph.empty(&[])?
                });
            }
            Ok((graph, nodes))
        };
        let (inner, nodes) = make(&[true, false, false])?;
        let edge = |graph: &Graph<'_>, from: CUgraphNode, to: CUgraphNode| {
            call!(driver.cuGraphAddDependencies(graph.raw, &from, &to, 1))
        };
        let first = nodes[0];
        edge(&inner, first, nodes[2])?;
        edge(&inner, nodes[1], nodes[2])?;
        let child = graph.child(inner.raw, &[])?;
        let executable = graph.instantiate()?;
        let set = |graph: &Graph<'_>| {
            let answer = call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, graph.raw));
            code_of(answer)
        };
        assert_eq!(set(&inner), CUresult::CUDA_SUCCESS);
        let (other, nodes) = make(&[true, false, false])?;
        edge(&other, nodes[1], nodes[2])?;
        edge(&other, nodes[0], nodes[2])?;
        assert_eq!(set(&other), CUresult::CUDA_SUCCESS, "dependencies in another order");
        let (other, nodes) = make(&[false, true, false])?;
        edge(&other, nodes[0], nodes[2])?;
        edge(&other, nodes[1], nodes[2])?;
        assert_eq!(set(&other), CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "kinds in another order");
        let (other, nodes) = make(&[true, false, false])?;
        edge(&other, nodes[0], nodes[2])?;
        assert_eq!(set(&other), CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "an edge is missing");

        // A node that is gone counts, or that was refused for its edges, and a clone has the numbers of its original.
        let (mut raw, mut node, (other, nodes)) = (null_mut(), null_mut(), make(&[true, false, false])?);
        edge(&other, nodes[0], nodes[2])?;
        edge(&other, nodes[1], nodes[2])?;
        assert_eq!(set(&other), CUresult::CUDA_SUCCESS);
        let answer = call!(driver.cuGraphAddEmptyNode(&mut node, other.raw, [nodes[0]; 2].as_ptr(), 2));
        assert_eq!(code_of(answer), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(set(&other), CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        call!(driver.cuGraphDestroyNode(inner.empty(&[])?))?;
        assert_eq!(set(&inner), CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        call!(driver.cuGraphDestroyNode(first))?;
        let outer = stage.graph()?;
        let child = outer.child(inner.raw, &[])?;
        let executable = outer.instantiate()?;
        call!(driver.cuGraphClone(&mut raw, inner.raw))?;
        let clone = Graph { driver, raw };
        for graph in [&inner, &clone] {
            call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, graph.raw))?;
        }
    }

    /// Memory nodes of the graph count first, then the kind of the node, and then conditional nodes of the graph.
    fn graphs_that_no_child_graph_node_takes_over_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, memory, branching, mut params) =
            (stage.graph()?, stage.graph()?, stage.graph()?, allocation(64));
        let (mut node, mut handle) = (null_mut(), 0);
        let empty = graph.empty(&[])?;
        let child = graph.child(stage.graph()?.raw, &[])?;
        let executable = graph.instantiate()?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, memory.raw, null(), 0, &mut params))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, branching.raw, stage.context(), 0, 0))?;
        let mut params = conditional(handle, IF, 1, stage.context());
        call!(driver.cuGraphAddNode(&mut node, branching.raw, null(), 0, &mut params))?;
        let failure = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        for (place, graph, code) in [
            (empty, &memory, failure),
            (empty, &branching, CUresult::CUDA_ERROR_INVALID_VALUE),
            (child, &memory, failure),
            (child, &branching, failure),
        ] {
            let answer = call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, place, graph.raw));
            assert_eq!(code_of(answer), code);
        }
    }
}
