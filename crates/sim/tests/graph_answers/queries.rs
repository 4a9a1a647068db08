//! Steps that read: nodes, edges, parameters, memory.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use warploom_testkit::sys::types::*;

use crate::program::{CELLS, Kind, Node, Program};
use crate::rig::{code, zeroed};

impl Program<'_> {
    pub(crate) fn list_nodes(&mut self, graph: usize) {
        let nodes = self.learn(graph);
        self.answer(&[graph], format!("nodes: {nodes:?}"));
    }

    pub(crate) fn list_edges(&mut self, graph: usize) {
        let (driver, raw, mut count) = (self.driver, self.graphs[graph].raw, 0);
        let counted = code!(driver.cuGraphGetEdges(raw, null_mut(), null_mut(), &mut count));
        let (mut from, mut to) = (vec![null_mut(); count + 1], vec![null_mut(); count + 1]);
        let mut data: Vec<CUgraphEdgeData> = vec![zeroed(); count + 1];
        let mut written = count + 1;
        let (froms, tos) = (from.as_mut_ptr(), to.as_mut_ptr());
        let listed = code!(driver.cuGraphGetEdges_v2(raw, froms, tos, data.as_mut_ptr(), &mut written));
        let mut edges: Vec<_> = (0..count.min(written))
            .map(|edge| (self.index(graph, from[edge]), self.index(graph, to[edge]), data[edge]))
            .map(|(from, to, data)| (from, to, data.from_port, data.type_))
            .collect();
        edges.sort_unstable();
        self.answer(&[graph], format!("edges: {counted} {listed} {count} {edges:?}"));
    }

    pub(crate) fn count_roots(&mut self, graph: usize) {
        let (driver, mut count) = (self.driver, 0);
        let code = code!(driver.cuGraphGetRootNodes(self.graphs[graph].raw, null_mut(), &mut count));
        self.answer(&[graph], format!("roots: {code} {count}"));
    }

    pub(crate) fn count_neighbours(&mut self, graph: usize) {
        let (driver, Some(node), mut before, mut behind) = (self.driver, self.any_node(graph), 0, 0) else { return };
        let codes = (
            code!(driver.cuGraphNodeGetDependencies(node.raw, null_mut(), &mut before)),
            code!(driver.cuGraphNodeGetDependentNodes(node.raw, null_mut(), &mut behind)),
        );
        let index = self.index(graph, node.raw);
        self.answer(&[graph], format!("neighbours of {index:?}: {codes:?} {before} {behind}"));
    }

    pub(crate) fn find_in_clone(&mut self, graph: usize) {
        let (driver, clone, mut found) = (self.driver, self.any_clone(graph), null_mut());
        let Some(node) = self.any_node(graph) else { return };
        let code = code!(driver.cuGraphNodeFindInClone(&mut found, node.raw, self.graphs[clone].raw));
        let is_clone = self.graphs[clone].original == Some(graph);
        let place = (code == 0).then(|| self.index(clone, found));
        self.answer(&[graph, clone], format!("find in g{clone} (clone: {is_clone}): {code} {place:?}"));
    }

    /// Reads the nodes of a child graph.
    pub(crate) fn look_inside(&mut self, graph: usize) {
        let children = self.graphs[graph].nodes.iter().filter(|node| node.kind == Kind::Child);
        let children: Vec<Node> = children.copied().collect();
        let is_child = !children.is_empty() && self.chance(80);
        let node = if is_child { Some(self.random.pick(&children)) } else { self.any_node(graph) };
        let (driver, Some(node), mut inner) = (self.driver, node, null_mut()) else { return };
        let code = code!(driver.cuGraphChildGraphNodeGetGraph(node.raw, &mut inner));
        let mut inside = (0, Vec::new());
        if code == 0 {
            let place = self.new_graph(inner, Some(graph), None);
            inside = self.learn(place);
            self.graphs.pop();
        }
        self.answer(&[graph], format!("child of {:?}: {code} {inside:?}", node.kind));
    }

    pub(crate) fn parameters(&mut self, graph: usize) {
        let Some(node) = self.any_node(graph) else { return };
        self.parameters_as(graph, node.raw, node.kind, node.kind);
    }

    /// Reads the parameters of a node as if it were of another kind.
    pub(crate) fn other_parameters(&mut self, graph: usize) {
        let Some(node) = self.any_node(graph) else { return };
        let kinds = [Kind::Fill, Kind::Copy, Kind::Kernel, Kind::Host, Kind::Alloc, Kind::Free, Kind::Record];
        let kind = self.random.pick(&kinds);
        self.parameters_as(graph, node.raw, node.kind, kind);
    }

    fn parameters_as(&mut self, graph: usize, node: CUgraphNode, kind: Kind, asked: Kind) {
        let (driver, mut read) = (self.driver, String::new());
        let code = match asked {
            Kind::Fill => {
                let mut params: CUDA_MEMSET_NODE_PARAMS = zeroed();
                let code = code!(driver.cuGraphMemsetNodeGetParams(node, &mut params));
                let to = self.offset(params.dst);
                let CUDA_MEMSET_NODE_PARAMS { value, elementSize, width, height, pitch, .. } = params;
                read = format!("{to:?} {:?}", (value, elementSize, width, height, pitch));
                code
            }
            Kind::Copy => {
                let mut params: CUDA_MEMCPY3D = zeroed();
                let code = code!(driver.cuGraphMemcpyNodeGetParams(node, &mut params));
                let ends = (self.offset(params.srcDevice), self.offset(params.dstDevice));
                let types = (params.srcMemoryType.0, params.dstMemoryType.0);
                let size = (params.WidthInBytes, params.Height, params.Depth);
                let pitches = (params.srcPitch, params.dstPitch, params.srcHeight, params.dstHeight);
                read = format!("{ends:?} {types:?} {size:?} {pitches:?}");
                code
            }
            Kind::Kernel => {
                let mut params: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
                let code = code!(driver.cuGraphKernelNodeGetParams_v2(node, &mut params));
                let sizes = (params.gridDimX, params.blockDimX, params.sharedMemBytes);
                let is_increment = params.func == self.rig.increment;
                let given = (params.kern.is_null(), params.kernelParams.is_null(), params.extra.is_null());
                read = format!("{sizes:?} {is_increment} {given:?}");
                code
            }
            Kind::Host => {
                let mut params: CUDA_HOST_NODE_PARAMS = zeroed();
                code!(driver.cuGraphHostNodeGetParams(node, &mut params))
            }
            Kind::Alloc => {
                let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = zeroed();
                let code = code!(driver.cuGraphMemAllocNodeGetParams(node, &mut params));
                let place = (params.poolProps.location.type_.0, params.bytesize);
                read = format!("{} {place:?}", params.poolProps.allocType.0);
                code
            }
            Kind::Free => {
                let mut address: CUdeviceptr = 0;
                code!(driver.cuGraphMemFreeNodeGetParams(node, (&raw mut address).cast()))
            }
            Kind::Record | Kind::Wait => {
                let mut event = null_mut();
                let code = match asked {
                    Kind::Record => code!(driver.cuGraphEventRecordNodeGetEvent(node, &mut event)),
                    _ => code!(driver.cuGraphEventWaitNodeGetEvent(node, &mut event)),
                };
                read = format!("{:?}", self.events.iter().position(|other| *other == event));
                code
            }
            _ => return,
        };
        let (index, read) = (self.index(graph, node), if code == 0 { &read } else { "" });
        self.answer(&[graph], format!("parameters of {kind:?} {index:?} as {asked:?}: {code} {read}"));
    }

    /// The offset of an address in the program's memory; memory of a graph has none.
    fn offset(&self, address: CUdeviceptr) -> Option<u64> {
        address.checked_sub(self.memory).filter(|offset| *offset < 8 * CELLS as u64)
    }

    /// Reads the memory of the program and the count of host functions that ran.
    pub(crate) fn read_memory(&mut self, graph: usize) {
        let (driver, mut cells) = (self.driver, vec![0_u64; CELLS]);
        let code = code!(driver.cuMemcpyDtoH_v2(cells.as_mut_ptr().cast(), self.memory, CELLS * 8));
        let written = cells.iter().enumerate().filter(|(_, bytes)| **bytes != 0);
        let written: Vec<String> = written.map(|(cell, bytes)| format!("{cell}={bytes:x}")).collect();
        let calls = self.counter.load(Ordering::SeqCst);
        self.answer(&[graph], format!("memory: {code}, {calls} host calls, {}", written.join(" ")));
    }
}
