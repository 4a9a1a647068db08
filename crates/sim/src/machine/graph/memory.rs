//! Graph memory: allocations made by memory nodes.
//!
//! Adding an allocation node reserves addresses, which are the same for every launch; a launch backs them
//! with memory. Until then only nodes of graphs can use them: every other call treats them as invalid.
//!
//! Each graph has addresses of its own, in [granules](super::granules). An allocation that comes behind the free of
//! another in the same graph can have the same address. Another graph gets an address only when no node, no executable
//! and no allocation has it any more.
//!
//! The memory behind them is the device's. It is charged in whole granules when a launch needs more than any
//! before, and stays charged until it is trimmed; launches that do not run at once share it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use smallvec::SmallVec;

use super::granules::{FreeGranules, GRANULE, Holes};
use super::{Graphs, NodeWork};
use crate::ffi::handle::{GraphHandle, NodeHandle};
use crate::memory::{Side, SimAddress, Window};

/// The graph memory of all devices.
pub(crate) struct GraphMemory {
    devices: Vec<DeviceGraphMemory>,
}

/// The graph memory of a device.
#[derive(Default)]
pub(crate) struct DeviceGraphMemory {
    /// Addresses, reserved by the first allocation node.
    window: Option<Window>,
    /// Granules of the window that no graph has.
    free: FreeGranules,
    /// Allocated ranges, by their first address.
    taken: BTreeMap<u64, Taken>,
    /// The same by the graphs of their first nodes.
    of_graphs: HashMap<GraphHandle, OfGraph>,
    pub(crate) usage: Usage,
    /// The granules of memory that is allocated now, with the number of allocations in each.
    granules: HashMap<u64, u32>,
}

/// Bytes of graph memory, as `cuDeviceGetGraphMemAttribute` shows them; used and reserved bytes are the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) reserved: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved_high: u64,
}

/// The addresses of a graph.
#[derive(Default)]
struct OfGraph {
    /// The number of its allocations.
    count: usize,
    holes: Holes,
    /// Addresses that another allocation of the graph may have, by the graph's own free nodes.
    freed: HashMap<NodeHandle, u64>,
}

/// Addresses of an allocation node.
struct Taken {
    bytes: u64,
    /// The graph of the first node that has the address.
    graph: GraphHandle,
    /// The graph's own free node for the newest allocation.
    freed_by: Option<NodeHandle>,
    /// `true` once an executable leaves it allocated behind its launches.
    is_left: bool,
    /// Other graphs that have had a free node for it.
    freed_elsewhere: SmallVec<[GraphHandle; 1]>,
    /// The number of nodes and executables that allocate or free it, and 1 more while memory is allocated.
    holders: u32,
}

/// Alignment of allocations.
const GRAIN: u64 = 512;

/// Addresses for graphs, as a multiple of the device's memory. An H200 gives out at least 2 and fewer than 3.2 times as
/// many.
const WINDOWS: u64 = 3;

impl DeviceGraphMemory {
    /// The place of an address, if any is reserved.
    pub(crate) fn host_of(&self, address: u64) -> Option<usize> {
        self.window.as_ref().map(|window| window.host_of(address))
    }

    /// `true` for an address of the device's graph memory.
    fn has(&self, address: u64) -> bool {
        let is_inside = |window: &Window| (window.base()..window.base() + window.len()).contains(&address);
        self.window.as_ref().is_some_and(is_inside)
    }

    /// Bytes to be charged so that a number of changes can be made, one after the other.
    pub(crate) fn missing_for(&self, changes: &[Change]) -> u64 {
        let mut granules = self.granules.clone();
        let mut most = granules.len();
        for change in changes {
            change.apply(&mut granules);
            most = most.max(granules.len());
        }
        (most as u64 * GRANULE).saturating_sub(self.usage.reserved)
    }

    /// Counts more bytes as reserved.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.usage.reserved += bytes;
        self.usage.used_high = self.usage.used_high.max(self.usage.reserved);
        self.usage.reserved_high = self.usage.reserved_high.max(self.usage.reserved);
    }

    /// Counts an allocation or a free.
    pub(crate) fn change(&mut self, change: Change) {
        change.apply(&mut self.granules);
    }

    /// Trims the reserved memory to the live allocations. Returns the number of bytes given up.
    pub(crate) fn trim(&mut self) -> u64 {
        let spare = self.usage.reserved.saturating_sub(self.granules.len() as u64 * GRANULE);
        self.usage.reserved -= spare;
        spare
    }
}

/// An allocation or a free of an address and so many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Allocate(u64, u64),
    Free(u64, u64),
}

impl Change {
    /// Counts it in the granules of allocated memory.
    fn apply(self, counts: &mut HashMap<u64, u32>) {
        match self {
            Change::Allocate(address, bytes) => {
                granules(address, bytes).for_each(|granule| *counts.entry(granule).or_default() += 1);
            }
            Change::Free(address, bytes) => {
                for granule in granules(address, bytes) {
                    if let Entry::Occupied(mut count) = counts.entry(granule) {
                        *count.get_mut() -= 1;
                        if *count.get() == 0 {
                            count.remove();
                        }
                    }
                }
            }
        }
    }
}

/// The granules that an allocation lies in.
fn granules(address: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
    address / GRANULE..=(address + bytes.max(1) - 1) / GRANULE
}

impl GraphMemory {
    pub(crate) fn new(devices: usize) -> Self {
        Self { devices: (0..devices).map(|_| DeviceGraphMemory::default()).collect() }
    }

    /// The graph memory of a device.
    pub(crate) fn device_mut(&mut self, device: u16) -> Option<&mut DeviceGraphMemory> {
        self.devices.get_mut(usize::from(device))
    }

    /// Reserves addresses for an allocation of a graph: for all at most a few times as many as the device has bytes. An
    /// address that the graph has freed is used again if there is one.
    fn take(&mut self, (graph, device): (GraphHandle, u16), bytes: u64, most: u64, freed: Option<u64>) -> Option<u64> {
        let addresses = self.device_mut(device)?;
        let len = bytes.checked_next_multiple_of(GRAIN)?;
        if addresses.window.is_none() {
            let window = Window::new(most.checked_mul(WINDOWS)?).ok()?;
            addresses.free = FreeGranules::new(window.base()..window.base() + window.len());
            addresses.window = Some(window);
        }
        if let Some((address, taken)) = freed.and_then(|address| Some((address, addresses.taken.get_mut(&address)?))) {
            taken.holders += 1;
            if let (Some(node), Some(own)) = (taken.freed_by.take(), addresses.of_graphs.get_mut(&graph)) {
                own.freed.remove(&node);
            }
            return Some(address);
        }
        let own = addresses.of_graphs.entry(graph).or_default();
        let start = own.holes.take(len, &mut addresses.free);
        own.count += usize::from(start.is_some());
        if own.count == 0 {
            addresses.of_graphs.remove(&graph);
        }
        let start = start?;
        let (freed_by, is_left, freed_elsewhere) = (None, false, SmallVec::new());
        addresses.taken.insert(start, Taken { bytes, graph, freed_by, is_left, freed_elsewhere, holders: 1 });
        Some(start)
    }

    /// A node of a graph frees an allocation.
    pub(super) fn note_free(&mut self, address: u64, graph: GraphHandle, node: NodeHandle) {
        for device in &mut self.devices {
            let Some(taken) = device.taken.get_mut(&address) else { continue };
            taken.holders += 1;
            if taken.graph != graph {
                taken.freed_elsewhere.push(graph);
                continue;
            }
            taken.freed_by = Some(node);
            device.of_graphs.entry(graph).or_default().freed.insert(node, address);
        }
    }

    fn taken(&self, address: u64) -> Option<&Taken> {
        self.devices.iter().find_map(|device| device.taken.get(&address))
    }

    fn taken_mut(&mut self, address: u64) -> Option<&mut Taken> {
        self.devices.iter_mut().find_map(|device| device.taken.get_mut(&address))
    }

    /// Notes that an executable leaves an allocation behind its launches.
    pub(crate) fn leave(&mut self, address: u64) {
        if let Some(taken) = self.taken_mut(address) {
            taken.is_left = true;
        }
    }

    /// Refuses a free node for an allocation, with the reason. Each graph may free it once, but the graph whose own
    /// allocation it is only if no other does and no executable leaves it, and no other if that graph does.
    pub(crate) fn check_free(&self, address: u64, graph: GraphHandle) -> Result<(), &'static str> {
        let taken = self.taken(address).ok_or("is not the start of memory that a graph allocates")?;
        if taken.freed_by.is_some() {
            return Err("is freed by the graph that allocates it");
        }
        match taken.graph == graph {
            true if !taken.freed_elsewhere.is_empty() => Err("is freed by another graph"),
            true if taken.is_left => Err("is left allocated by an executable"),
            false if taken.freed_elsewhere.contains(&graph) => Err("is freed by the graph already"),
            _ => Ok(()),
        }
    }

    /// The graph that allocates and frees the memory at an address, if one does both.
    pub(super) fn owner_of_temporary(&self, address: u64) -> Option<GraphHandle> {
        let mut before = self.devices.iter().filter_map(|device| device.taken.range(..=address).next_back());
        let found = before.find(|(base, taken)| address - *base < taken.bytes);
        found.filter(|(_, taken)| taken.freed_by.is_some()).map(|(_, taken)| taken.graph)
    }

    /// The first address of the allocation that an address lies in.
    pub(crate) fn base_of(&self, address: u64) -> Option<u64> {
        let mut before = self.devices.iter().filter_map(|device| device.taken.range(..=address).next_back());
        before.find(|(base, taken)| address - *base < taken.bytes).map(|(base, _)| *base)
    }

    /// `true` for an address of graph memory.
    pub(super) fn has(&self, address: u64) -> bool {
        self.devices.iter().any(|device| device.has(address))
    }

    /// `true` for an address of graph memory around which nothing is allocated now.
    pub(crate) fn is_unmapped(&self, address: u64) -> bool {
        self.devices.iter().any(|device| device.has(address) && !device.granules.contains_key(&(address / GRANULE)))
    }

    /// `true` for an address of graph memory that no node, executable or allocation has any more.
    pub(crate) fn is_abandoned(&self, address: u64) -> bool {
        self.devices.iter().any(|device| {
            let is_inside = |window: &Window| (window.base()..window.base() + window.len()).contains(&address);
            let holds = |(base, taken): (&u64, &Taken)| address - base < taken.bytes;
            device.window.as_ref().is_some_and(is_inside)
                && !device.taken.range(..=address).next_back().is_some_and(holds)
        })
    }

    /// An executable, or the allocation of a launch, has the addresses from now on, too.
    pub(crate) fn hold(&mut self, address: u64) {
        if let Some(taken) = self.taken_mut(address) {
            taken.holders += 1;
        }
    }

    /// A node, an executable or the end of an allocation gives up the addresses; the last one releases them.
    pub(crate) fn forget(&mut self, address: u64) {
        for device in &mut self.devices {
            let Some(taken) = device.taken.get_mut(&address) else { continue };
            taken.holders -= 1;
            if taken.holders > 0 {
                continue;
            }
            let (graph, freed_by, end) = (taken.graph, taken.freed_by, (address + taken.bytes).next_multiple_of(GRAIN));
            device.taken.remove(&address);
            if let Entry::Occupied(mut own) = device.of_graphs.entry(graph) {
                own.get_mut().holes.give_back(address..end, &mut device.free);
                own.get_mut().count -= 1;
                if let Some(node) = freed_by {
                    own.get_mut().freed.remove(&node);
                }
                if own.get().count == 0 {
                    own.remove();
                }
            }
        }
    }

    /// The granule around an address of a device, while memory in it is allocated, and where the simulator
    /// finds its first byte.
    pub(crate) fn mapped(&self, device: u16, address: u64) -> Option<(Range<u64>, usize)> {
        let memory = self.devices.get(usize::from(device))?;
        let granule = address / GRANULE;
        let window = memory.window.as_ref().filter(|_| memory.granules.contains_key(&granule))?;
        let start = (granule * GRANULE).max(window.base());
        let end = ((granule + 1) * GRANULE).min(window.base() + window.len());
        Some((start..end, window.host_of(start)))
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

impl Graphs {
    /// Notes that a graph has memory nodes, or was to have one: as on hardware, it counts as such from then on even
    /// if the node is refused.
    pub(crate) fn mark_memory(&mut self, graph: GraphHandle) {
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.is_of_memory = true;
        }
    }

    /// Notes that memory which a graph allocates and does not free is left allocated, as by an executable of it.
    pub(crate) fn leave_memory(&mut self, graph: GraphHandle) {
        // Allocations one behind the other may have the same address.
        let mut left: HashMap<u64, i64> = HashMap::new();
        for (_, node) in self.all_in(graph).into_iter().flat_map(|graph| self.nodes_of(graph)) {
            match &node.work {
                NodeWork::Alloc(node) => *left.entry(node.address).or_default() += 1,
                NodeWork::Free(address) => *left.entry(*address).or_default() -= 1,
                _ => {}
            }
        }
        left.retain(|_, count| *count > 0);
        left.into_keys().for_each(|address| self.memory.leave(address));
    }

    /// Reserves addresses for an allocation node that is to depend on some nodes.
    pub(crate) fn reserve_memory(
        &mut self,
        graph: GraphHandle,
        before: Vec<NodeHandle>,
        device: u16,
        bytes: u64,
        most: u64,
    ) -> Option<u64> {
        let freed = self.freed_before(graph, before, device, bytes);
        self.memory.take((graph, device), bytes, most, freed)
    }

    /// The first address of at least so many bytes that these nodes, or ancestors of theirs, free in their graph.
    fn freed_before(&self, graph: GraphHandle, before: Vec<NodeHandle>, device: u16, bytes: u64) -> Option<u64> {
        let memory = self.memory.devices.get(usize::from(device))?;
        let freed = &memory.of_graphs.get(&graph)?.freed;
        let fits = |address: &u64| {
            memory.taken.get(address).is_some_and(|taken| taken.bytes.div_ceil(GRAIN) >= bytes.div_ceil(GRAIN))
        };
        let (mut first, mut seen, mut open, mut left) = (None, HashSet::new(), before, freed.len());
        while left > 0
            && let Some(node) = open.pop()
        {
            if !seen.insert(node) {
                continue;
            }
            if let Some(address) = freed.get(&node) {
                left -= 1;
                if fits(address) && first.is_none_or(|first| *address < first) {
                    first = Some(*address);
                }
            }
            open.extend(self.nodes.get(node).iter().flat_map(|node| &node.dependencies).map(|edge| edge.node));
        }
        first
    }
}
