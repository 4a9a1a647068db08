//! Graph memory: allocations made by memory nodes.
//!
//! Adding an allocation node reserves addresses, which are the same for every launch; a launch backs them
//! with memory. Until then only nodes of graphs can use them: every other call treats them as invalid.
//!
//! The memory behind them is the device's. It is charged in whole blocks when a launch needs more than any before, and
//! stays charged until it is trimmed.

use std::collections::BTreeMap;

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

impl DeviceGraphMemory {
    /// The place of an address, if any is reserved.
    pub(crate) fn host_of(&self, address: u64) -> Option<usize> {
        self.window.as_ref().map(|window| window.host_of(address))
    }
}

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
