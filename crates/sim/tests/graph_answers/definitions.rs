//! Steps that change graphs: nodes, edges, clones.

use std::ptr::null_mut;
use std::sync::Arc;

use warploom_testkit::sys::types::*;

use crate::program::{Kind, Program};
use crate::rig::{bodies, code, count, zeroed};

impl Program<'_> {
    /// Dependencies for a new node. Some are twice in the list, and some are nodes of another graph.
    pub(crate) fn dependencies(&mut self, graph: usize) -> Vec<CUgraphNode> {
        let mut list = Vec::new();
        for _ in 0..self.random.pick(&[0, 1, 1, 2, 3]) {
            let from = if self.chance(95) { graph } else { self.any_graph() };
            list.extend(self.any_node(from).map(|node| node.raw));
        }
        if self.chance(93) {
            let mut once: Vec<CUgraphNode> = Vec::new();
            for node in list {
                if !once.contains(&node) {
                    once.push(node);
                }
            }
            return once;
        }
        list
    }

    /// Keeps a node that was added, and the answer.
    pub(crate) fn added(
        &mut self,
        graph: usize,
        kind: Kind,
        after: &[CUgraphNode],
        how: &str,
        code: u32,
        raw: CUgraphNode,
    ) {
        let after: Vec<String> = after
            .iter()
            .map(|node| self.index(graph, *node).map_or("another graph's".to_owned(), |index| index.to_string()))
            .collect();
        if code == 0 {
            self.new_node(graph, raw, kind);
        }
        let space = if how.is_empty() { "" } else { " " };
        self.answer(&[graph], format!("add {kind:?}{space}{how} after [{}]: {code}", after.join(", ")));
    }

    /// A fill of four bytes of a cell that no node has used.
    pub(crate) fn fill_params(&mut self) -> CUDA_MEMSET_NODE_PARAMS {
        let size = self.random.pick(&[1, 2, 4]);
        let value = self.random.below(256) as u32;
        let width = 4 / size as usize;
        CUDA_MEMSET_NODE_PARAMS { dst: self.cell(), pitch: 0, value, elementSize: size, width, height: 1 }
    }

    /// A copy from the first cell to one that no node has used.
    pub(crate) fn copy_params(&mut self, bytes: usize) -> CUDA_MEMCPY3D {
        CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: self.memory,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: self.cell(),
            WidthInBytes: bytes,
            Height: 1,
            Depth: 1,
            ..zeroed()
        }
    }

    /// Gives `work` the parameters of one of the kernels; the argument points to a cell that no node has used.
    pub(crate) fn with_kernel<R>(&mut self, work: impl FnOnce(&mut Self, CUDA_KERNEL_NODE_PARAMS_v2) -> R) -> R {
        let func = self.random.pick(&[self.rig.increment, self.rig.nothing]);
        let mut cell = self.cell();
        let mut arguments = [(&raw mut cell).cast()];
        let params = CUDA_KERNEL_NODE_PARAMS_v2 {
            func,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.random.pick(&[1, 2, 32]),
            blockDimY: 1,
            blockDimZ: 1,
            kernelParams: if func == self.rig.increment { arguments.as_mut_ptr() } else { null_mut() },
            ..zeroed()
        };
        work(self, params)
    }

    pub(crate) fn host_params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: Arc::as_ptr(&self.counter).cast_mut().cast() }
    }

    pub(crate) fn add_empty(&mut self, graph: usize) {
        let (driver, mut raw, after) = (self.driver, null_mut(), self.dependencies(graph));
        let code = code!(driver.cuGraphAddEmptyNode(&mut raw, self.graphs[graph].raw, after.as_ptr(), after.len()));
        self.added(graph, Kind::Empty, &after, "", code, raw);
    }

    pub(crate) fn add_fill(&mut self, graph: usize) {
        let (after, mut params) = (self.dependencies(graph), self.fill_params());
        let how = match self.random.below(100) {
            0..5 => {
                params.elementSize = 3;
                "of elements of 3 bytes"
            }
            5..10 => {
                params.width = 0;
                "of no width"
            }
            10..15 => {
                params.dst = 16;
                "of no memory"
            }
            15..20 => {
                (params.elementSize, params.width, params.height, params.pitch) = (1, 2, 2, 4);
                "of two rows"
            }
            _ => "",
        };
        self.put_fill(graph, &after, &params, how);
    }

    pub(crate) fn put_fill(
        &mut self,
        graph: usize,
        after: &[CUgraphNode],
        params: &CUDA_MEMSET_NODE_PARAMS,
        how: &str,
    ) -> CUgraphNode {
        let (driver, raw, context, mut node) =
            (self.driver, self.graphs[graph].raw, self.rig.primary.context, null_mut());
        let code = code!(driver.cuGraphAddMemsetNode(&mut node, raw, after.as_ptr(), after.len(), params, context));
        self.added(graph, Kind::Fill, after, how, code, node);
        node
    }

    pub(crate) fn add_copy(&mut self, graph: usize) {
        let (after, mut params) = (self.dependencies(graph), self.copy_params(4));
        let how = match self.random.below(100) {
            0..5 => {
                params.WidthInBytes = 0;
                "of no bytes"
            }
            5..10 => {
                params.dstDevice = 16;
                "to no memory"
            }
            10..15 => {
                params.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
                params.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
                "by unified addresses"
            }
            15..20 => {
                params.srcMemoryType = CUmemorytype(9);
                "from memory of no type"
            }
            _ => "",
        };
        self.put_copy(graph, &after, &params, how);
    }

    pub(crate) fn put_copy(
        &mut self,
        graph: usize,
        after: &[CUgraphNode],
        params: &CUDA_MEMCPY3D,
        how: &str,
    ) -> CUgraphNode {
        let (driver, raw, context, mut node) =
            (self.driver, self.graphs[graph].raw, self.rig.primary.context, null_mut());
        let code = code!(driver.cuGraphAddMemcpyNode(&mut node, raw, after.as_ptr(), after.len(), params, context));
        self.added(graph, Kind::Copy, after, how, code, node);
        node
    }

    pub(crate) fn add_kernel(&mut self, graph: usize) {
        let after = self.dependencies(graph);
        self.with_kernel(|program, mut params| {
            let how = match program.random.below(100) {
                0..5 => {
                    params.gridDimX = 0;
                    "without blocks"
                }
                5..10 => {
                    params.blockDimX = 2000;
                    "with too large blocks"
                }
                10..15 => {
                    params.sharedMemBytes = 1 << 20;
                    "with too much shared memory"
                }
                _ => "",
            };
            let (driver, raw, mut node) = (program.driver, program.graphs[graph].raw, null_mut());
            let code = code!(driver.cuGraphAddKernelNode_v2(&mut node, raw, after.as_ptr(), after.len(), &params));
            program.added(graph, Kind::Kernel, &after, how, code, node);
        });
    }

    pub(crate) fn add_host(&mut self, graph: usize) {
        let (driver, raw, mut node) = (self.driver, self.graphs[graph].raw, null_mut());
        let (after, mut params) = (self.dependencies(graph), self.host_params());
        let has_function = self.chance(90);
        if !has_function {
            params.fn_ = None;
        }
        let code = code!(driver.cuGraphAddHostNode(&mut node, raw, after.as_ptr(), after.len(), &params));
        self.added(graph, Kind::Host, &after, if has_function { "" } else { "without a function" }, code, node);
    }

    pub(crate) fn add_record(&mut self, graph: usize) {
        let (driver, raw, mut node) = (self.driver, self.graphs[graph].raw, null_mut());
        let (after, event) = (self.dependencies(graph), self.any_event());
        let code = code!(driver.cuGraphAddEventRecordNode(&mut node, raw, after.as_ptr(), after.len(), event));
        self.added(graph, Kind::Record, &after, "", code, node);
    }

    pub(crate) fn add_wait(&mut self, graph: usize) {
        let (driver, raw, mut node) = (self.driver, self.graphs[graph].raw, null_mut());
        let (after, event) = (self.dependencies(graph), self.any_event());
        let code = code!(driver.cuGraphAddEventWaitNode(&mut node, raw, after.as_ptr(), after.len(), event));
        self.added(graph, Kind::Wait, &after, "", code, node);
    }

    pub(crate) fn add_child(&mut self, graph: usize) {
        let (driver, raw, mut node) = (self.driver, self.graphs[graph].raw, null_mut());
        let (after, inner) = (self.dependencies(graph), self.any_graph());
        // The real driver crashes when a graph is added to one inside it.
        if self.graphs[inner].inside.is_some() || self.outwards(graph).any(|outer| outer == inner) {
            return;
        }
        let embedded = self.graphs[inner].raw;
        let code = code!(driver.cuGraphAddChildGraphNode(&mut node, raw, after.as_ptr(), after.len(), embedded));
        if self.is_marked(inner) {
            self.mark(graph);
        }
        self.graphs[inner].is_copied |= code == 0;
        self.added(graph, Kind::Child, &after, &format!("of g{inner}"), code, node);
    }

    /// Moves a graph into a child node of another.
    pub(crate) fn move_child(&mut self, graph: usize) {
        let (driver, raw, mut node) = (self.driver, self.graphs[graph].raw, null_mut());
        let (after, inner) = (Vec::from_iter(self.any_node(graph).map(|node| node.raw)), self.any_graph());
        let is_outside = self.graphs[inner].inside.is_none() && self.outwards(graph).all(|outer| outer != inner);
        let has_exec = self.execs.iter().any(|exec| exec.is_alive && exec.graph == inner);
        if !is_outside || has_exec || self.graphs[inner].is_copied {
            return;
        }
        let mut params: CUgraphNodeParams = zeroed();
        params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
        params.__bindgen_anon_1.graph = CUDA_CHILD_GRAPH_NODE_PARAMS {
            graph: self.graphs[inner].raw,
            ownership: CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
        };
        let code = code!(driver.cuGraphAddNode(&mut node, raw, after.as_ptr(), after.len(), &mut params));
        if code == 0 {
            self.graphs[inner].inside = Some(graph);
        }
        if self.is_marked(inner) {
            self.mark(graph);
        }
        self.added(graph, Kind::Child, &after, &format!("by moving g{inner}"), code, node);
    }

    pub(crate) fn add_conditional(&mut self, graph: usize) {
        if self.graphs[graph].inside.is_some() {
            return;
        }
        let (driver, raw, context) = (self.driver, self.graphs[graph].raw, self.rig.primary.context);
        let (value, flags) = (self.random.pick(&[0, 1, 2]), self.random.pick(&[0, 1]));
        let (mut handle, mut node) = (0, null_mut());
        let created = code!(driver.cuGraphConditionalHandleCreate(&mut handle, raw, context, value, flags));
        let type_ = self.random.pick(&[
            CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
            CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
            CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH,
        ]);
        let size = if self.chance(10) { 0 } else { self.random.pick(&[1, 1, 2, 3]) };
        let mut params: CUgraphNodeParams = zeroed();
        params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.__bindgen_anon_1.conditional =
            CUDA_CONDITIONAL_NODE_PARAMS { handle, type_, size, phGraph_out: null_mut(), ctx: context };
        let after = self.dependencies(graph);
        let code = code!(driver.cuGraphAddNode(&mut node, raw, after.as_ptr(), after.len(), &mut params));
        let how = format!("of type {} with {size} bodies, value {value} by flags {flags}: {created}", type_.0);
        self.added(graph, Kind::Conditional, &after, &how, code, node);
        if code == 0 {
            self.graphs[graph].is_undecided |= flags == 0;
            for body in bodies(&params) {
                self.new_graph(body, Some(graph), None);
            }
        } else {
            self.mark(graph);
        }
    }

    pub(crate) fn add_edge(&mut self, graph: usize) {
        let other = if self.chance(95) { graph } else { self.any_graph() };
        let (Some(mut from), Some(mut to)) = (self.any_node(graph), self.any_node(other)) else { return };
        // Most edges go from an earlier node to a later one.
        if other == graph && self.chance(70) && self.index(graph, from.raw) > self.index(graph, to.raw) {
            (from, to) = (to, from);
        }
        let (driver, raw) = (self.driver, self.graphs[graph].raw);
        let code = code!(driver.cuGraphAddDependencies(raw, &from.raw, &to.raw, 1));
        let ends = (self.index(graph, from.raw), self.index(graph, to.raw));
        self.answer(&[graph, other], format!("add the edge {ends:?}: {code}"));
    }

    pub(crate) fn remove_edge(&mut self, graph: usize) {
        let other = if self.chance(95) { graph } else { self.any_graph() };
        let (Some(from), Some(to)) = (self.any_node(graph), self.any_node(other)) else { return };
        let (driver, raw) = (self.driver, self.graphs[graph].raw);
        let code = code!(driver.cuGraphRemoveDependencies(raw, &from.raw, &to.raw, 1));
        let ends = (self.index(graph, from.raw), self.index(graph, to.raw));
        self.answer(&[graph, other], format!("remove the edge {ends:?}: {code}"));
    }

    pub(crate) fn destroy_node(&mut self, graph: usize) {
        let (driver, Some(node)) = (self.driver, self.any_node(graph)) else { return };
        if matches!(node.kind, Kind::Conditional | Kind::Child) {
            return;
        }
        let code = code!(driver.cuGraphDestroyNode(node.raw));
        let index = self.index(graph, node.raw);
        if code == 0 {
            self.graphs[graph].nodes.retain(|other| other.id != node.id);
        }
        self.answer(&[graph], format!("destroy {:?} {index:?}: {code}", node.kind));
    }

    pub(crate) fn create_graph(&mut self, _: usize) {
        let (driver, mut raw) = (self.driver, null_mut());
        let code = code!(driver.cuGraphCreate(&mut raw, 0));
        let graph = self.new_graph(raw, None, None);
        self.answer(&[graph], format!("create: {code}"));
    }

    pub(crate) fn clone_graph(&mut self, graph: usize) {
        let (driver, mut raw) = (self.driver, null_mut());
        let code = code!(driver.cuGraphClone(&mut raw, self.graphs[graph].raw));
        if code == 0 {
            let clone = self.new_graph(raw, None, Some(graph));
            self.graphs[graph].is_copied = true;
            let nodes = self.learn(clone);
            self.answer(&[graph, clone], format!("clone as g{clone}: {code}, {nodes:?}"));
        } else {
            self.answer(&[graph], format!("clone: {code}"));
        }
    }

    /// Destroys a graph, unless there are only few.
    pub(crate) fn destroy_graph(&mut self, graph: usize) {
        let owned = self.graphs.iter().filter(|graph| graph.is_alive && graph.inside.is_none()).count();
        if self.graphs[graph].inside.is_some() || owned < 3 {
            return;
        }
        let driver = self.driver;
        let code = code!(driver.cuGraphDestroy(self.graphs[graph].raw));
        self.lose(graph);
        self.answer(&[graph], format!("destroy: {code}"));
    }
}
