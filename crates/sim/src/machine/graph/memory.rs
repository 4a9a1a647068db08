//! Graph memory: allocations made by memory nodes.
//!
//! Adding an allocation node reserves addresses, which are the same for every launch; a launch backs them
//! with memory. Until then only nodes of graphs can use them: every other call treats them as invalid.
//!
//! The memory behind them is the device's. It is charged in whole blocks when a launch needs more than any before, and
//! stays charged until it is trimmed.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use warploom_engine::{Known, QueueId};
use warploom_sys::types::CUmemAccess_flags;

use super::AllocNode;
use crate::ffi::handle::ExecutableHandle;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::pool::Freed;
use crate::machine::world::{Work, World};
use crate::memory::{Allocation, Backing, GraphBlock, Side, SimAddress, Window};

/// The graph memory of all devices.
pub(crate) struct GraphMemory {
    devices: Vec<DeviceGraphMemory>,
}

/// The graph memory of a device.
#[derive(Default)]
pub(crate) struct DeviceGraphMemory {
    /// Addresses, reserved by the first allocation node.
    window: Option<Window>,
    /// Allocated ranges, by their first address.
    taken: BTreeMap<u64, Taken>,
    pub(crate) usage: Usage,
}

/// Bytes of graph memory, as `cuDeviceGetGraphMemAttribute` shows them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
}

/// Addresses of an allocation node.
struct Taken {
    bytes: u64,
    /// A free node exists for it.
    is_freed: bool,
    /// The number of nodes that have the address: a clone of a graph has the same.
    holders: u32,
}

/// Alignment of allocations.
pub(crate) const GRAIN: u64 = 512;

/// The unit in which graph memory is charged to a device.
const CHUNK: u64 = 2 << 20;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub(crate) const AUTO_FREE: u64 = 1;

impl GraphMemory {
    pub(crate) fn new(devices: usize) -> Self {
        Self { devices: (0..devices).map(|_| DeviceGraphMemory::default()).collect() }
    }

    /// The graph memory of a device.
    pub(crate) fn device_mut(&mut self, device: u16) -> Option<&mut DeviceGraphMemory> {
        self.devices.get_mut(usize::from(device))
    }

    /// Reserves addresses for an allocation, at most as many as the device has bytes.
    pub(crate) fn take(&mut self, device: u16, bytes: u64, most: u64) -> Option<u64> {
        let addresses = self.device_mut(device)?;
        let len = bytes.checked_next_multiple_of(GRAIN)?;
        if addresses.window.is_none() {
            addresses.window = Some(Window::new(most).ok()?);
        }
        let window = addresses.window.as_ref()?;
        let mut start = window.base();
        for (base, taken) in &addresses.taken {
            if base - start >= len {
                break;
            }
            start = base + taken.bytes.next_multiple_of(GRAIN);
        }
        if start.checked_add(len)? > window.base() + window.len() {
            return None;
        }
        addresses.taken.insert(start, Taken { bytes, is_freed: false, holders: 1 });
        Some(start)
    }

    fn taken(&mut self, address: u64) -> Option<&mut Taken> {
        self.devices.iter_mut().find_map(|device| device.taken.get_mut(&address))
    }

    /// Marks an allocation as freed by a node; `false` if it already was.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.taken(address).is_some_and(|taken| !std::mem::replace(&mut taken.is_freed, true))
    }

    /// Another node has the addresses of an allocation, too.
    pub(crate) fn share(&mut self, address: u64) {
        if let Some(taken) = self.taken(address) {
            taken.holders += 1;
        }
    }

    /// A node gives up the addresses of an allocation; the last one releases them.
    pub(crate) fn forget(&mut self, address: u64) {
        for device in &mut self.devices {
            if let Some(taken) = device.taken.get_mut(&address) {
                taken.holders -= 1;
                if taken.holders == 0 {
                    device.taken.remove(&address);
                }
            }
        }
    }

    /// A range in an allocation, for use by a node.
    pub(crate) fn place(&self, address: u64, len: u64) -> Option<SimAddress> {
        self.devices.iter().enumerate().find_map(|(device, addresses)| {
            let (base, taken) = addresses.taken.range(..=address).next_back()?;
            let window = addresses
                .window
                .as_ref()
                .filter(|_| (address - base).checked_add(len).is_some_and(|end| end <= taken.bytes))?;
            window.sim_address(address, Side::Device(device as u16))
        })
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
            sync_memops: false,
            tracked: None,
        };
        self.add_graph_allocation(allocation, queue, known);
        Ok(())
    }

    /// Charges a device for an allocation. Returns the place of its first byte.
    fn back_graph_memory(&mut self, device: u16, address: u64, bytes: u64) -> Status<usize> {
        let memory = self.graphs.memory.device_mut(device).ok_or(INVALID_VALUE)?;
        let host = memory.window.as_ref().map(|window| window.host_of(address)).ok_or(INVALID_VALUE)?;
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
