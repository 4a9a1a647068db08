//! Queries of a captured graph.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{CUgraphEdgeData, CUgraphNodeType};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{ACTIVE, FILL, LOCAL, RELAXED, Stage};

driver_tests! {
    fn a_graph_that_is_captured_grows_and_does_not_shrink(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(RELAXED)?;
        let node = stage.tips(stream)?[0];
        let (mut status, mut raw, mut copy) = (ACTIVE, null_mut(), null_mut());
        call!(driver.cuStreamGetCaptureInfo_v2(stream, &mut status, null_mut(), &mut raw, null_mut(), null_mut()))?;
        answers!(driver.cuGraphDestroyNode(node), CUDA_ERROR_ILLEGAL_STATE);
        answers!(driver.cuGraphDestroy(raw), CUDA_ERROR_ILLEGAL_STATE);
        call!(driver.cuGraphClone(&mut copy, raw))?;
        call!(driver.cuGraphDestroy(copy))?;
        let mut executable = null_mut();
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, raw, 0))?;
        call!(driver.cuGraphExecDestroy(executable))?;
        let mut added = null_mut();
        call!(driver.cuGraphAddEmptyNode(&mut added, raw, [node].as_ptr(), 1))?;
        assert_eq!(stage.status(stream)?, ACTIVE);
        // A node that no stream added is none that a stream has to join.
        let graph = stage.end(stream)?;
        assert_eq!((graph.raw, graph.nodes()?), (raw, vec![node, added]));
    }

    fn a_graph_of_the_program_stays_while_a_stream_is_captured_into_it(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut raw) = (stage.stream()?, null_mut());
        call!(driver.cuGraphCreate(&mut raw, 0))?;
        call!(driver.cuStreamBeginCaptureToGraph(stream, raw, null(), null(), 0, LOCAL))?;
        answers!(driver.cuGraphDestroy(raw), CUDA_ERROR_ILLEGAL_STATE);
        assert_eq!(stage.status(stream)?, ACTIVE);
        stage.fill(stream)?;
        let graph = stage.end(stream)?;
        assert_eq!((graph.raw, graph.kinds()?), (raw, vec![FILL]));
    }

    fn lists_are_cut_to_the_room_there_is(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        stage.fill(stream)?;
        stage.fill(stream)?;
        let graph = stage.end(stream)?;
        let all = graph.nodes()?;
        let untouched = std::ptr::dangling_mut();
        let (mut nodes, mut count) = ([untouched; 5], 2);
        call!(driver.cuGraphGetNodes(graph.raw, nodes.as_mut_ptr(), &mut count))?;
        assert_eq!((count, &nodes[..2], nodes[2]), (2, &all[..2], untouched));
        count = 5;
        call!(driver.cuGraphGetNodes(graph.raw, nodes.as_mut_ptr(), &mut count))?;
        assert_eq!((count, &nodes[..3], nodes[3], nodes[4]), (3, &all[..], null_mut(), null_mut()));
        call!(driver.cuGraphGetRootNodes(graph.raw, null_mut(), &mut count))?;
        assert_eq!(count, 1);
        for (node, before, after) in [(all[0], 0, 1), (all[1], 1, 1), (all[2], 1, 0)] {
            call!(driver.cuGraphNodeGetDependencies(node, null_mut(), &mut count))?;
            assert_eq!(count, before);
            call!(driver.cuGraphNodeGetDependentNodes(node, null_mut(), &mut count))?;
            assert_eq!(count, after);
        }
        let mut neighbour = [untouched];
        count = 1;
        call!(driver.cuGraphNodeGetDependencies(all[2], neighbour.as_mut_ptr(), &mut count))?;
        assert_eq!(neighbour[0], all[1]);
        call!(driver.cuGraphNodeGetDependentNodes(all[0], neighbour.as_mut_ptr(), &mut count))?;
        assert_eq!(neighbour[0], all[1]);
    }

    fn edges_of_streams_are_plain(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        stage.fill(stream)?;
        let graph = stage.end(stream)?;
        let (mut from, mut to, mut count) = ([null_mut(); 2], [null_mut(); 2], 2);
        let plain = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let mut data = [CUgraphEdgeData { from_port: 9, ..plain }; 2];
        let (from_list, to_list) = (from.as_mut_ptr(), to.as_mut_ptr());
        call!(driver.cuGraphGetEdges_v2(graph.raw, from_list, to_list, data.as_mut_ptr(), &mut count))?;
        assert_eq!((count, data), (1, [plain; 2]));
        assert!(from[1].is_null() && to[1].is_null());
    }

    fn bad_questions_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        let graph = stage.end(stream)?;
        let (mut nodes, mut none, mut one) = ([null_mut(); 2], 0, 1);
        let list = nodes.as_mut_ptr();
        answers!(driver.cuGraphGetNodes(graph.raw, list, &mut none), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphGetNodes(graph.raw, list, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphGetNodes(null_mut(), list, &mut one), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphGetRootNodes(graph.raw, list, &mut none), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphGetEdges(graph.raw, list, null_mut(), &mut one), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphGetEdges(graph.raw, list, list, &mut none), CUDA_ERROR_INVALID_VALUE);
        let (node, mut kind) = (graph.nodes()?[0], CUgraphNodeType(99));
        answers!(driver.cuGraphNodeGetType(node, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphNodeGetType(null_mut(), &mut kind), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphNodeGetDependencies(node, list, &mut none), CUDA_ERROR_INVALID_VALUE);
    }

    fn graphs_are_made_and_destroyed_without_a_context(driver) {
        let mut graph = null_mut();
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphDestroy(graph))?;
        answers!(driver.cuGraphDestroy(null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphCreate(&mut graph, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphCreate(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    sim fn a_graph_that_is_gone_is_none_and_its_nodes_are_none(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        let graph = stage.end(stream)?;
        let (raw, node, mut kind) = (graph.raw, graph.nodes()?[0], CUgraphNodeType(99));
        drop(graph);
        answers!(driver.cuGraphDestroy(raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphNodeGetType(node, &mut kind), CUDA_ERROR_INVALID_VALUE);
    }
}
