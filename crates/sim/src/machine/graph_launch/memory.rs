//! Memory of graphs, as launches allocate and free it.

use smallvec::SmallVec;
use warploom_engine::{Known, QueueId};
use warploom_sys::types::CUmemAccess_flags;

use crate::ffi::handle::ExecutableHandle;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::graph::{AUTO_FREE, AllocNode, GRAIN};
use crate::machine::pool::Freed;
use crate::machine::world::{Work, World};
use crate::memory::{Allocation, Backing, GraphBlock, Side};

/// The unit in which graph memory is charged to a device.
const CHUNK: u64 = 2 << 20;

impl World {
    /// Allocates the memory of a node for one launch.
    pub(super) fn allocate_for_graph(&mut self, queue: QueueId, node: &AllocNode, known: Option<&Known>) -> Status {
        if self.memory.at(node.address).is_some() {
            return Err(INVALID_VALUE);
        }
        let host = self.back_graph_memory(node.device, node.address, node.bytes)?;
        let access = node.access.iter();
        let peers = access.filter(|access| access.flags != CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE);
        let peers = peers.filter_map(|access| u16::try_from(access.location.id()).ok()).collect();
        let allocation = Allocation {
            base: node.address,
            size: node.bytes,
            host,
            side: Side::Device(node.device),
            context: None,
            id: self.memory.next_id(),
            backing: Backing::Graph(GraphBlock { device: node.device, peers }),
            sync_memops: false,
            tracked: None,
        };
        self.add_graph_allocation(allocation, queue, known);
        Ok(())
    }

    /// Charges a device for an allocation. Returns the place of its first byte.
    fn back_graph_memory(&mut self, device: u16, address: u64, bytes: u64) -> Status<usize> {
        let memory = self.graphs.memory.device_mut(device).ok_or(INVALID_VALUE)?;
        let host = memory.host_of(address).ok_or(INVALID_VALUE)?;
        let usage = &mut memory.usage;
        let used = usage.used + bytes.next_multiple_of(GRAIN);
        let missing = used.saturating_sub(usage.reserved).next_multiple_of(CHUNK);
        if !self.devices[usize::from(device)].memory.charge(missing) {
            return Err(OUT_OF_MEMORY);
        }
        usage.used = used;
        usage.reserved += missing;
        usage.used_high = usage.used_high.max(usage.used);
        usage.reserved_high = usage.reserved_high.max(usage.reserved);
        Ok(host)
    }

    /// Frees memory of a graph in a node. Returns the work of the node.
    pub(super) fn free_for_graph(&mut self, queue: QueueId, address: u64, known: Option<&Known>) -> Status<Work> {
        if let Some(known) = known {
            self.check_graph_free(address, queue, known)?;
        }
        self.remove_graph_memory(address).ok_or(INVALID_VALUE)?;
        Ok(Work::Release(Freed::Graph { address }))
    }

    /// Removes an allocation of a graph, whose bytes can be another's from now on.
    pub(crate) fn remove_graph_memory(&mut self, address: u64) -> Option<()> {
        let Some(Allocation { backing: Backing::Graph(block), size, .. }) = self.memory.at(address) else {
            return None;
        };
        let (device, bytes) = (block.device, size.next_multiple_of(GRAIN));
        self.memory.remove(address);
        let usage = &mut self.graphs.memory.device_mut(device)?.usage;
        usage.used = usage.used.saturating_sub(bytes);
        Some(())
    }

    /// Frees what the previous launch of an executable has left allocated, or refuses the launch.
    pub(super) fn free_leftovers(&mut self, queue: QueueId, handle: ExecutableHandle) -> Status {
        let Some(executable) = self.graphs.executables.get(handle) else { return Err(INVALID_VALUE) };
        let left = executable.unfreed.iter().copied().filter(|address| self.memory.at(*address).is_some());
        let left: SmallVec<[u64; 4]> = left.collect();
        if !left.is_empty() && executable.flags & AUTO_FREE == 0 {
            return Err(INVALID_VALUE);
        }
        for address in left {
            self.check_free(address, Some(queue))?;
            self.remove_graph_memory(address);
            self.enqueue(queue, Work::Release(Freed::Graph { address }))?;
        }
        Ok(())
    }

    /// Gives unused graph memory back to a device.
    pub(crate) fn trim_graph_memory(&mut self, device: u16) {
        let Some(memory) = self.graphs.memory.device_mut(device) else { return };
        let keeps = memory.usage.used.next_multiple_of(CHUNK);
        let spare = memory.usage.reserved.saturating_sub(keeps);
        memory.usage.reserved -= spare;
        self.devices[usize::from(device)].memory.refund(spare);
    }
}
