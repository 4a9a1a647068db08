//! Graph memory: allocations made by memory nodes.
//!
//! Adding an allocation node reserves addresses, which are the same for every launch; a launch backs them
//! with memory. Until then only nodes of graphs can use them: every other call treats them as invalid.

use std::collections::BTreeMap;

use crate::memory::{Side, SimAddress, Window};

/// The addresses of graph memory, by device.
pub(crate) struct GraphMemory {
    pub(crate) devices: Vec<Addresses>,
}

#[derive(Default)]
pub(crate) struct Addresses {
    /// Reserved by the first allocation node.
    pub(crate) window: Option<Window>,
    /// Allocated ranges, by their first address.
    pub(crate) taken: BTreeMap<u64, Taken>,
}

pub(crate) struct Taken {
    pub(crate) bytes: u64,
    /// A free node exists for it.
    pub(crate) is_freed: bool,
}

/// Alignment of allocations.
pub(crate) const GRAIN: u64 = 512;

impl GraphMemory {
    pub(crate) fn new(devices: usize) -> Self {
        Self { devices: (0..devices).map(|_| Addresses::default()).collect() }
    }

    /// Reserves addresses for an allocation, at most as many as the device has bytes.
    pub(crate) fn take(&mut self, device: u16, bytes: u64, most: u64) -> Option<u64> {
        let addresses = self.devices.get_mut(usize::from(device))?;
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
        addresses.taken.insert(start, Taken { bytes, is_freed: false });
        Some(start)
    }

    pub(crate) fn taken(&mut self, address: u64) -> Option<&mut Taken> {
        self.devices.iter_mut().find_map(|device| device.taken.get_mut(&address))
    }

    /// Marks an allocation as freed by a node; `false` if it already was.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.taken(address).is_some_and(|taken| !std::mem::replace(&mut taken.is_freed, true))
    }

    /// Releases the addresses of an allocation.
    pub(crate) fn forget(&mut self, address: u64) {
        for device in &mut self.devices {
            device.taken.remove(&address);
        }
    }

    /// A range that begins in an allocation, for use by a node.
    pub(crate) fn place(&self, address: u64) -> Option<SimAddress> {
        self.devices.iter().enumerate().find_map(|(device, addresses)| {
            let (base, taken) = addresses.taken.range(..=address).next_back()?;
            let window = addresses.window.as_ref().filter(|_| address - base < taken.bytes)?;
            window.sim_address(address, Side::Device(device as u16))
        })
    }
}
