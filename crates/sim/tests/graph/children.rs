//! Child graphs: graphs inside graphs.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, driver_tests};

use crate::conditions::conditional;
use crate::support::{Stage, moved};

driver_tests! {
    /// A child graph is a copy that belongs to its node.
    fn a_child_graph_is_copied(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner) = (stage.graph()?, stage.graph()?);
        inner.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        let child = graph.child(inner.raw, &[])?;
        inner.fill(&stage.fill(4, 2, 4), stage.context(), &[])?;
        let (mut copy, mut nodes, mut count) = (null_mut(), [null_mut(); 2], 2);
        call!(driver.cuGraphChildGraphNodeGetGraph(child, &mut copy))?;
        assert_ne!(copy, inner.raw);
        call!(driver.cuGraphGetNodes(copy, nodes.as_mut_ptr(), &mut count))?;
        assert_eq!(count, 1);
        // The copy can be changed, and not destroyed or launched by itself.
        call!(driver.cuGraphMemsetNodeSetParams(nodes[0], &stage.fill(8, 3, 4)))?;
        let mut executable = null_mut();
        answers!(driver.cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphInstantiateWithFlags(&mut executable, copy, 0), CUDA_ERROR_NOT_SUPPORTED);
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<3>()?, [0, 0, 0x0303_0303]);
        let mut shown = null_mut();
        answers!(driver.cuGraphChildGraphNodeGetGraph(nodes[0], &mut shown), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphDestroyNode(child))?;
        assert_eq!(graph.counts()?, (0, 0));
    }

    fn graphs_that_cannot_be_copied_are_no_children(driver) {
        let stage = Stage::new(driver)?;
        let (graph, with_memory, mut node) = (stage.graph()?, stage.graph()?, null_mut());
        let mut params = crate::memory::allocation(64);
        call!(driver.cuGraphAddMemAllocNode(&mut node, with_memory.raw, null_mut(), 0, &mut params))?;
        call!(driver.cuGraphAddMemFreeNode(&mut node, with_memory.raw, [node].as_ptr(), 1, params.dptr))?;
        answers!(
            driver.cuGraphAddChildGraphNode(&mut node, graph.raw, null_mut(), 0, with_memory.raw),
            CUDA_ERROR_NOT_SUPPORTED
        );
        answers!(
            driver.cuGraphAddChildGraphNode(&mut node, graph.raw, null_mut(), 0, null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(graph.counts()?, (0, 0));
        // Its node can become the owner instead.
        let mut moved = moved(with_memory.raw);
        call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut moved))?;
        answers!(
            driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut moved),
            CUDA_ERROR_NOT_SUPPORTED
        );
        let mut same = null_mut();
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut same))?;
        assert_eq!(same, with_memory.raw);
        answers!(driver.cuGraphDestroy(same), CUDA_ERROR_INVALID_VALUE);
        std::mem::forget(with_memory);
        graph.instantiate()?.run()?;
    }

    /// A graph that a stream is captured into is not destroyed, whether or not it belongs to a node.
    /// The conditions of a graph and of those inside it belong to the outermost.
    fn a_child_of_a_graph_with_conditions_is_not_copied(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, other) = (stage.graph()?, stage.graph()?, stage.graph()?);
        let (mut child, mut copy, mut condition, mut node) = (null_mut(), null_mut(), 0, null_mut());
        inner.empty(&[])?;
        let added = graph.child(inner.raw, &[])?;
        call!(driver.cuGraphChildGraphNodeGetGraph(added, &mut child))?;
        call!(driver.cuGraphClone(&mut copy, child))?;
        call!(driver.cuGraphDestroy(copy))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut condition, graph.raw, stage.context(), 0, 0))?;
        answers!(driver.cuGraphClone(&mut copy, child), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphAddChildGraphNode(&mut node, other.raw, null(), 0, child), CUDA_ERROR_NOT_SUPPORTED);
    }

    fn a_captured_graph_is_moved_and_stays(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut stream, mut captured) = (stage.graph()?, stage.graph()?, null_mut(), null_mut());
        let (raw, mode) = (inner.raw, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamBeginCaptureToGraph(stream, raw, null(), null(), 0, mode))?;
        graph.move_in(inner, &[])?;
        answers!(driver.cuGraphDestroy(raw), CUDA_ERROR_ILLEGAL_STATE);
        call!(driver.cuStreamEndCapture(stream, &mut captured))?;
        assert_eq!(captured, raw);
        call!(driver.cuStreamDestroy_v2(stream))?;
    }

    fn a_graph_with_conditional_nodes_is_not_moved(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, context) = (stage.graph()?, stage.graph()?, stage.context());
        let (mut handle, mut node, kind) = (0, null_mut(), CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF);
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, inner.raw, context, 1, 1))?;
        let mut params = conditional(handle, kind, 1, context);
        call!(driver.cuGraphAddNode_v2(&mut node, inner.raw, null_mut(), null_mut(), 0, &mut params))?;
        let mut moved = moved(inner.raw);
        answers!(
            driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut moved),
            CUDA_ERROR_NOT_SUPPORTED
        );
        assert_eq!((graph.counts()?, inner.counts()?), ((0, 0), (1, 0)));
        let plain = stage.graph()?;
        plain.empty(&[])?;
        let child = graph.child(plain.raw, &[])?;
        let executable = graph.instantiate()?;
        answers!(
            driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, inner.raw),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
        executable.run()?;
    }
}
