//! The order in which graphs name nodes and edges, and in which updates compare the ends of graphs.

use std::ptr::{null, null_mut};

use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests};

use super::memory::allocation;
use crate::support::{Graph, Stage, zeroed};

/// A graph of nodes that do nothing, named by their places.
struct Nodes<'d> {
    graph: Graph<'d>,
    nodes: Vec<CUgraphNode>,
}

impl<'d> Nodes<'d> {
    fn new(stage: &Stage<'d>, count: usize) -> TestResult<Self> {
        let graph = stage.graph()?;
        let nodes = (0..count).map(|_| graph.empty(&[])).collect::<TestResult<_>>()?;
        Ok(Self { graph, nodes })
    }

    fn those(&self, places: &[usize]) -> Vec<CUgraphNode> {
        places.iter().map(|place| self.nodes[*place]).collect()
    }

    fn add_edges(&self, edges: &[(usize, usize)]) -> Result<(), Error> {
        let driver = self.graph.driver;
        edges.iter().try_for_each(|(from, to)| {
            call!(driver.cuGraphAddDependencies(self.graph.raw, &self.nodes[*from], &self.nodes[*to], 1))
        })
    }

    fn remove_edges(&self, edges: &[(usize, usize)]) -> Result<(), Error> {
        let driver = self.graph.driver;
        edges.iter().try_for_each(|(from, to)| {
            call!(driver.cuGraphRemoveDependencies(self.graph.raw, &self.nodes[*from], &self.nodes[*to], 1))
        })
    }

    /// The code for a node behind others.
    fn add_behind(&self, places: &[usize]) -> CUresult {
        let (driver, mut node, after) = (self.graph.driver, null_mut(), self.those(places));
        code_of(call!(driver.cuGraphAddEmptyNode(&mut node, self.graph.raw, after.as_ptr(), after.len())))
    }

    /// Adds a node behind others, and destroys it.
    fn visit(&self, places: &[usize]) -> TestResult {
        let (driver, node) = (self.graph.driver, self.graph.empty(&self.those(places))?);
        Ok(call!(driver.cuGraphDestroyNode(node))?)
    }

    fn places(&self, nodes: &[CUgraphNode]) -> Vec<usize> {
        let place = |node: &CUgraphNode| self.nodes.iter().position(|other| other == node);
        nodes.iter().filter_map(place).collect()
    }

    fn roots(&self) -> TestResult<Vec<usize>> {
        let (driver, mut roots, mut count) = (self.graph.driver, vec![null_mut(); 16], 16);
        call!(driver.cuGraphGetRootNodes(self.graph.raw, roots.as_mut_ptr(), &mut count))?;
        Ok(self.places(&roots[..count]))
    }

    fn dependents(&self, place: usize) -> TestResult<Vec<usize>> {
        let (driver, mut nodes, mut count) = (self.graph.driver, vec![null_mut(); 16], 16);
        call!(driver.cuGraphNodeGetDependentNodes(self.nodes[place], nodes.as_mut_ptr(), &mut count))?;
        Ok(self.places(&nodes[..count]))
    }

    fn dependencies(&self, place: usize) -> TestResult<Vec<usize>> {
        let (driver, mut nodes, mut count) = (self.graph.driver, vec![null_mut(); 16], 16);
        call!(driver.cuGraphNodeGetDependencies(self.nodes[place], nodes.as_mut_ptr(), &mut count))?;
        Ok(self.places(&nodes[..count]))
    }

    fn edges(&self) -> TestResult<Vec<(usize, usize)>> {
        let (driver, mut count) = (self.graph.driver, 32);
        let (mut from, mut to) = (vec![null_mut(); 32], vec![null_mut(); 32]);
        call!(driver.cuGraphGetEdges(self.graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count))?;
        Ok(self.places(&from[..count]).into_iter().zip(self.places(&to[..count])).collect())
    }

    /// The nodes that no other depends on, up to the newest. An update that meets more ends than the executable has
    /// names the newest of those that are too many.
    fn ends(&self, stage: &Stage<'_>) -> TestResult<Vec<usize>> {
        let (driver, count) = (self.graph.driver, self.nodes.len());
        let is_end = |place: &usize| self.dependents(*place).is_ok_and(|after| after.is_empty());
        let mut all: Vec<usize> = (0..count).filter(is_end).collect();
        let mut ends = Vec::new();
        for fewer in (1..all.len()).rev() {
            let chain = stage.graph()?;
            let mut last = Vec::new();
            for _ in 0..=count - fewer {
                last = vec![chain.empty(&last)?];
            }
            for _ in 1..fewer {
                chain.empty(&[])?;
            }
            let (executable, mut info) = (chain.instantiate()?, zeroed::<CUgraphExecUpdateResultInfo>());
            answers!(
                driver.cuGraphExecUpdate_v2(executable.raw, self.graph.raw, &mut info),
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
            );
            ends.extend(self.places(&[info.errorNode]));
        }
        all.retain(|place| !ends.contains(place));
        Ok([ends, all].concat())
    }

    fn clone(&self) -> TestResult<Self> {
        let (driver, mut raw, mut nodes) = (self.graph.driver, null_mut(), self.nodes.clone());
        call!(driver.cuGraphClone(&mut raw, self.graph.raw))?;
        for (copy, node) in nodes.iter_mut().zip(&self.nodes) {
            call!(driver.cuGraphNodeFindInClone(copy, *node, raw))?;
        }
        Ok(Self { graph: Graph { driver, raw }, nodes })
    }
}

driver_tests! {
    fn roots_are_named_from_the_newest_on(driver) {
        let stage = Stage::new(driver)?;
        let all = Nodes::new(&stage, 5)?;
        assert_eq!(all.roots()?, [4, 3, 2, 1, 0]);
        all.add_edges(&[(4, 0)])?;
        assert_eq!(all.roots()?, [4, 3, 2, 1]);
        all.remove_edges(&[(4, 0)])?;
        assert_eq!(all.roots()?, [0, 4, 3, 2, 1], "it is a new root again");
        all.add_edges(&[(3, 1), (3, 2)])?;
        all.remove_edges(&[(3, 2), (3, 1)])?;
        assert_eq!(all.roots()?, [1, 2, 0, 4, 3]);
        let root = all.graph.empty(&[])?;
        for place in 0..4 {
            call!(driver.cuGraphAddDependencies(all.graph.raw, &root, &all.nodes[place], 1))?;
        }
        call!(driver.cuGraphDestroyNode(root))?;
        assert_eq!(all.roots()?, [1, 2, 3, 0, 4], "the last edge takes the place of each that is removed");
    }

    fn the_last_edge_takes_the_place_of_a_removed_one(driver) {
        let stage = Stage::new(driver)?;
        let all = Nodes::new(&stage, 6)?;
        all.add_edges(&[(0, 3), (0, 1), (0, 2), (0, 4), (4, 5), (2, 5), (3, 5), (1, 5)])?;
        assert_eq!((all.dependents(0)?, all.dependencies(5)?), (vec![3, 1, 2, 4], vec![4, 2, 3, 1]));
        all.remove_edges(&[(0, 1), (2, 5)])?;
        assert_eq!((all.dependents(0)?, all.dependencies(5)?), (vec![3, 4, 2], vec![4, 1, 3]));
        all.add_edges(&[(0, 1), (2, 5)])?;
        assert_eq!((all.dependents(0)?, all.dependencies(5)?), (vec![3, 4, 2, 1], vec![4, 1, 3, 2]));
        call!(driver.cuGraphDestroyNode(all.nodes[3]))?;
        assert_eq!((all.dependents(0)?, all.dependencies(5)?), (vec![1, 4, 2], vec![4, 1, 2]));
        assert_eq!(all.edges()?, [(0, 1), (0, 4), (0, 2), (1, 5), (2, 5), (4, 5)]);
    }

    fn a_node_that_loses_its_last_dependent_is_the_newest_end(driver) {
        let stage = Stage::new(driver)?;
        let all = Nodes::new(&stage, 5)?;
        assert_eq!(all.ends(&stage)?, [0, 1, 2, 3, 4]);
        all.add_edges(&[(1, 3), (2, 3)])?;
        assert_eq!(all.ends(&stage)?, [0, 3, 4]);
        all.remove_edges(&[(2, 3), (1, 3)])?;
        assert_eq!(all.ends(&stage)?, [0, 3, 4, 2, 1]);
        all.visit(&[0, 4])?;
        assert_eq!(all.ends(&stage)?, [3, 2, 1, 0, 4]);
        let all = Nodes::new(&stage, 5)?;
        all.visit(&[0, 1, 2, 3])?;
        assert_eq!(all.ends(&stage)?, [4, 0, 3, 2, 1]);
    }

    /// A node that is refused when its edges are there leaves the order in which these were taken away.
    fn refused_nodes_change_the_order_of_ends(driver) {
        let stage = Stage::new(driver)?;
        let all = Nodes::new(&stage, 5)?;
        assert_eq!(all.add_behind(&[3, 0, 1, 0, 2]), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(all.ends(&stage)?, [2, 4, 3, 1, 0]);
        let other = Nodes::new(&stage, 1)?;
        let (mut node, foreign) = (null_mut(), [all.those(&[2]), other.nodes.clone()].concat());
        answers!(
            driver.cuGraphAddEmptyNode(&mut node, all.graph.raw, foreign.as_ptr(), 2),
            CUDA_ERROR_INVALID_VALUE
        );
        let (context, after) = (stage.context(), all.those(&[2, 4, 2]));
        let no_memory = CUDA_MEMSET_NODE_PARAMS { dst: 16, ..stage.fill(0, 1, 4) };
        answers!(
            driver.cuGraphAddMemsetNode(&mut node, all.graph.raw, after.as_ptr(), 3, &no_memory, context),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(all.ends(&stage)?, [2, 4, 3, 1, 0], "other refusals come first");
        let (after, mut large) = (all.those(&[2, 4]), allocation(1 << 44));
        answers!(
            driver.cuGraphAddMemAllocNode(&mut node, all.graph.raw, after.as_ptr(), 2, &mut large),
            CUDA_ERROR_OUT_OF_MEMORY
        );
        assert_eq!(all.ends(&stage)?, [3, 1, 0, 2, 4]);
        let after = all.those(&[1]);
        answers!(
            driver.cuGraphAddMemFreeNode(&mut node, all.graph.raw, after.as_ptr(), 1, 16),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(all.ends(&stage)?, [3, 0, 2, 4, 1]);
    }

    /// Its edges are added node by node.
    fn a_copy_has_the_order_of_ends_and_no_other(driver) {
        let stage = Stage::new(driver)?;
        let all = Nodes::new(&stage, 5)?;
        all.add_edges(&[(4, 0), (3, 1), (0, 2)])?;
        all.remove_edges(&[(0, 2), (3, 1), (4, 0)])?;
        all.visit(&[2])?;
        assert_eq!((all.roots()?, all.ends(&stage)?), (vec![0, 1, 2, 4, 3], vec![1, 0, 3, 4, 2]));
        let copy = all.clone()?;
        assert_eq!((copy.roots()?, copy.ends(&stage)?), (vec![4, 3, 2, 1, 0], vec![1, 0, 3, 4, 2]));
        all.add_edges(&[(0, 1), (0, 2), (0, 3), (2, 4), (3, 4), (1, 4)])?;
        all.remove_edges(&[(0, 1), (2, 4)])?;
        assert_eq!((all.dependents(0)?, all.dependencies(4)?), (vec![3, 2], vec![1, 3]));
        let copy = all.clone()?;
        assert_eq!((copy.dependents(0)?, copy.dependencies(4)?), (vec![2, 3], vec![1, 3]));
    }

    fn an_executable_has_the_ends_of_its_graph_in_their_order(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let event = stage.event()?;
        let mut first = null_mut();
        call!(driver.cuGraphAddEventRecordNode(&mut first, graph.raw, null(), 0, event))?;
        graph.empty(&[])?;
        let before = graph.instantiate()?;
        let behind = graph.empty(&[first])?;
        call!(driver.cuGraphDestroyNode(behind))?;
        let mut info = zeroed::<CUgraphExecUpdateResultInfo>();
        answers!(
            driver.cuGraphExecUpdate_v2(before.raw, graph.raw, &mut info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
        assert_eq!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
        assert_eq!(info.errorNode, first, "it is the newest end now");
        let executable = graph.instantiate()?;
        call!(driver.cuGraphExecUpdate_v2(executable.raw, graph.raw, &mut info))?;
        call!(driver.cuEventDestroy_v2(event))?;
    }

    /// The last nodes of a capture are its ends in the order in which the stream has joined them.
    fn a_captured_graph_has_its_ends_in_the_order_of_joins(driver) {
        let stage = Stage::new(driver)?;
        let (mut streams, mut events) = ([null_mut(); 4], [null_mut(); 4]);
        for (stream, event) in streams.iter_mut().zip(&mut events) {
            call!(driver.cuStreamCreate(stream, 1))?;
            call!(driver.cuEventCreate(event, 2))?;
        }
        let fill = |place: usize| call!(driver.cuMemsetD32Async(stage.memory + 8 * place as u64, 1, 1, streams[place]));
        let wait = |to: usize, from: usize| {
            call!(driver.cuEventRecord(events[from], streams[from]))?;
            call!(driver.cuStreamWaitEvent(streams[to], events[from], 0))
        };
        for (joined, ends) in [([1, 2, 3], [4, 1, 2, 3]), ([3, 1, 2], [4, 3, 1, 2])] {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            call!(driver.cuStreamBeginCapture_v2(streams[0], mode))?;
            fill(0)?;
            (1..4).try_for_each(|branch| wait(branch, 0))?;
            [1, 2, 3, 0].into_iter().try_for_each(fill)?;
            joined.into_iter().try_for_each(|branch| wait(0, branch))?;
            let (mut raw, mut nodes, mut count) = (null_mut(), vec![null_mut(); 5], 5);
            call!(driver.cuStreamEndCapture(streams[0], &mut raw))?;
            call!(driver.cuGraphGetNodes(raw, nodes.as_mut_ptr(), &mut count))?;
            let captured = Nodes { graph: Graph { driver, raw }, nodes };
            assert_eq!(captured.ends(&stage)?, ends);
        }
        for (stream, event) in streams.into_iter().zip(events) {
            call!(driver.cuStreamDestroy_v2(stream))?;
            call!(driver.cuEventDestroy_v2(event))?;
        }
    }

    fn a_graph_inside_a_node_updates_no_executable(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut child, mut info) = (stage.graph()?, stage.graph()?, null_mut(), zeroed());
        inner.empty(&[])?;
        let node = graph.child(inner.raw, &[])?;
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut child))?;
        let executable = inner.instantiate()?;
        answers!(driver.cuGraphExecUpdate_v2(executable.raw, child, &mut info), CUDA_ERROR_INVALID_VALUE);
    }
}
