//! Memory of graphs, as launches allocate and free it.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;
use warploom_engine::{Known, QueueId};
use warploom_sys::types::{CUmemAccess_flags, CUresult};

use super::shared::Launch;
use crate::ffi::handle::{ContextHandle, ExecutableHandle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::graph::{AUTO_FREE, AllocNode, Change, Executable, GRANULE, NodeWork};
use crate::machine::pool::Freed;
use crate::machine::work::{Hook, Reached};
use crate::machine::world::{Work, World};
use crate::memory::{Allocation, Backing, GraphBlock, MemoryOp, Side};

/// A copy or fill of memory that is not there.
pub(super) struct Unmapped {
    pub(super) context: ContextHandle,
    pub(super) code: CUresult,
}

impl Hook<World> for Unmapped {
    fn reached(&mut self, world: &mut World, at: Reached) {
        if at.ran {
            world.poison(self.context, self.code);
        }
    }

    fn describe(&self) -> String {
        "a node that uses memory of a graph that is not allocated".to_owned()
    }
}

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
            sync_memops: None,
            tracked: None,
        };
        self.add_graph_allocation(allocation, queue, known);
        Ok(())
    }

    /// The error of a copy or fill of graph memory that neither the launch nor another has allocated, so that no
    /// memory is there.
    pub(super) fn fault_of_memory(&self, launch: &Launch, op: &MemoryOp) -> Option<CUresult> {
        let [to, from] = op.addresses();
        let is_own = |address: u64| {
            let granule = address / GRANULE;
            let next = launch.allocated.partition_point(|own| own / GRANULE < granule);
            let base = self.graphs.memory.base_of(address);
            launch.allocated.get(next).is_some_and(|own| own / GRANULE == granule)
                || base.is_some_and(|base| launch.allocated.binary_search(&base).is_ok())
        };
        let is_missing = |address: u64| self.graphs.memory.is_unmapped(address) && !is_own(address);
        let is_fill = from.is_none();
        let code = if is_fill { CUresult::CUDA_ERROR_LAUNCH_FAILED } else { CUresult::CUDA_ERROR_ILLEGAL_ADDRESS };
        to.into_iter().chain(from).any(is_missing).then_some(code)
    }

    /// Finds the place of an allocation's first byte. The launch has reserved the memory.
    fn back_graph_memory(&mut self, device: u16, address: u64, bytes: u64) -> Status<usize> {
        let memory = self.graphs.memory.device_mut(device).ok_or(INVALID_VALUE)?;
        let host = memory.host_of(address).ok_or(INVALID_VALUE)?;
        memory.change(Change::Allocate(address, bytes));
        self.graphs.memory.hold(address);
        Ok(host)
    }

    /// Charges devices for the memory that a launch needs at most, before any of its nodes is enqueued.
    pub(super) fn reserve_graph_memory(&mut self, call: &Call<'_>, handle: ExecutableHandle) -> Status {
        let Some(executable) = self.graphs.executables.get(handle) else { return Err(INVALID_VALUE) };
        if executable.allocated.is_empty() {
            return Ok(());
        }
        for (device, changes) in self.changes_of(executable) {
            let memory = self.graphs.memory.device_mut(device).ok_or(INVALID_VALUE)?;
            let missing = memory.missing_for(&changes);
            if !self.devices[usize::from(device)].memory.charge(missing) {
                let free = self.devices[usize::from(device)].memory.free_bytes();
                let reason = format!("the graph allocates {missing} more bytes of device {device}; {free} are free");
                return Err(call.refuse(OUT_OF_MEMORY, reason));
            }
            memory.reserve(missing);
        }
        Ok(())
    }

    /// The allocations and frees of a launch, in its order, by their devices. Those left by the launch before are
    /// freed first, if they are there.
    fn changes_of(&self, executable: &Executable) -> BTreeMap<u16, Vec<Change>> {
        let live = |address: u64| match self.memory.at(address) {
            Some(Allocation { backing: Backing::Graph(block), size, .. }) => Some((block.device, *size)),
            _ => None,
        };
        let mut changes = BTreeMap::<u16, Vec<Change>>::new();
        let mut own = HashMap::new();
        for address in &executable.unfreed {
            if let Some((device, bytes)) = live(*address) {
                changes.entry(device).or_default().push(Change::Free(*address, bytes));
            }
        }
        for step in &executable.plan().steps {
            match &step.work {
                NodeWork::Alloc(node) => {
                    own.insert(node.address, (node.device, node.bytes));
                    changes.entry(node.device).or_default().push(Change::Allocate(node.address, node.bytes));
                }
                NodeWork::Free(address) => {
                    if let Some((device, bytes)) = own.remove(address).or_else(|| live(*address)) {
                        changes.entry(device).or_default().push(Change::Free(*address, bytes));
                    }
                }
                _ => {}
            }
        }
        changes
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
        let (device, bytes) = (block.device, *size);
        self.memory.remove(address);
        self.graphs.memory.device_mut(device)?.change(Change::Free(address, bytes));
        self.graphs.memory.forget(address);
        Some(())
    }

    /// Refuses a launch whose nodes would allocate live memory again, or free memory that is not allocated.
    pub(super) fn check_memory(&self, call: &Call<'_>, executable: &Executable) -> Status {
        let is_there = |address: &&u64| self.memory.at(**address).is_some();
        let frees_leftovers = executable.flags & AUTO_FREE != 0;
        let is_leftover = |address: &&u64| frees_leftovers && executable.unfreed.binary_search(address).is_ok();
        if let Some(address) = executable.allocated.iter().find(|address| is_there(address) && !is_leftover(address)) {
            let reason = format!("memory that the graph allocates, at {address:#x}, is not free yet");
            return Err(call.refuse(INVALID_VALUE, reason));
        }
        if let Some(address) = executable.foreign_frees.iter().find(|address| !is_there(address)) {
            let reason = format!("memory that the graph frees, at {address:#x}, is not allocated");
            return Err(call.refuse(INVALID_VALUE, reason));
        }
        Ok(())
    }

    /// Frees the memory that the previous launch of an executable has left allocated.
    pub(super) fn free_leftovers(&mut self, queue: QueueId, handle: ExecutableHandle) -> Status {
        let Some(executable) = self.graphs.executables.get(handle) else { return Err(INVALID_VALUE) };
        let left = executable.unfreed.iter().copied().filter(|address| self.memory.at(*address).is_some());
        let left: SmallVec<[u64; 4]> = left.collect();
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
        let spare = memory.trim();
        self.devices[usize::from(device)].memory.refund(spare);
    }
}
