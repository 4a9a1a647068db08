//! Steps with memory of graphs.

use std::ptr::null_mut;

use warploom_testkit::sys::types::*;

use crate::program::{Block, Kind, Program};
use crate::rig::{code, zeroed};

impl Program<'_> {
    /// Adds an allocation, and nodes that use it, one behind the other.
    pub(crate) fn allocate(&mut self, graph: usize) {
        if self.is_marked(graph) {
            return;
        }
        let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = zeroed();
        params.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        params.bytesize = if self.chance(30) { self.random.pick(&[4, 1024, 1 << 20, 0]) } else { 64 };
        let (driver, raw, after, mut node) =
            (self.driver, self.graphs[graph].raw, self.dependencies(graph), null_mut());
        let code = code!(driver.cuGraphAddMemAllocNode(&mut node, raw, after.as_ptr(), after.len(), &mut params));
        self.added(graph, Kind::Alloc, &after, &format!("of {} bytes", params.bytesize), code, node);
        if code != 0 {
            return self.mark(graph);
        }
        for _ in 0..self.random.below(3) {
            let user = if self.chance(50) {
                let fill = CUDA_MEMSET_NODE_PARAMS { dst: params.dptr, ..self.fill_params() };
                self.put_fill(graph, &[node], &fill, "of its memory")
            } else {
                let copy = CUDA_MEMCPY3D { dstDevice: params.dptr, ..self.copy_params(4) };
                self.put_copy(graph, &[node], &copy, "to its memory")
            };
            node = if user.is_null() { node } else { user };
        }
        self.blocks.push(Block { address: params.dptr, graph, last: node, frees: 0 });
    }

    /// Adds a free node for an allocation, mostly in the same graph and behind all that uses it, and rarely a
    /// second one or one in another graph.
    pub(crate) fn free(&mut self, graph: usize) {
        let (is_again, is_elsewhere) = (self.chance(10), self.chance(10));
        let can_be = |block: &Block| {
            self.graphs[block.graph].is_alive
                && !self.is_marked(block.graph)
                && block.frees == u32::from(is_again)
                && (!is_elsewhere || block.graph != graph)
        };
        let all: Vec<usize> = (0..self.blocks.len()).filter(|block| can_be(&self.blocks[*block])).collect();
        if all.is_empty() {
            return;
        }
        let block = self.random.pick(&all);
        let owner = self.blocks[block].graph;
        let into = if is_elsewhere { graph } else { owner };
        let mut after = self.dependencies(into);
        if !is_elsewhere {
            after.retain(|node| *node != self.blocks[block].last);
            after.push(self.blocks[block].last);
        }
        self.blocks[block].frees += if is_elsewhere { 2 } else { 1 };
        let (driver, raw, address, mut node) =
            (self.driver, self.graphs[into].raw, self.blocks[block].address, null_mut());
        let code = code!(driver.cuGraphAddMemFreeNode(&mut node, raw, after.as_ptr(), after.len(), address));
        if code != 0 || is_elsewhere {
            self.mark(into);
        }
        self.added(into, Kind::Free, &after, &format!("of block {block} of g{owner}"), code, node);
    }
}
