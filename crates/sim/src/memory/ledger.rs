//! What a device's memory is charged with, and where in its window things are.

use std::io;

use super::{BLOCK, Heap, Window};

/// One device's window and capacity.
pub(crate) struct DeviceMemory {
    window: Window,
    heap: Heap,
    capacity: u64,
    used: u64,
    small: Vec<Slab>,
}

/// A block that small allocations share.
struct Slab {
    base: u64,
    heap: Heap,
    live: u32,
}

/// Allocations up to this size share blocks.
const SMALL: u64 = BLOCK / 2;
/// What the driver aligns every allocation to.
pub(crate) const ALIGNMENT: u64 = 512;

impl DeviceMemory {
    /// `capacity` bytes to hand out, in a window with room for holes.
    pub(crate) fn new(capacity: u64) -> io::Result<Self> {
        let window = Window::new(capacity + capacity / 4)?;
        let heap = Heap::new(window.base(), window.len());
        Ok(Self { window, heap, capacity, used: 0, small: Vec::new() })
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.capacity - self.used
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Charges memory that has no address in this window, such as physical allocations; `false` if there is not enough.
    pub(crate) fn charge(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.free_bytes();
        if fits {
            self.used += bytes;
        }
        fits
    }

    pub(crate) fn refund(&mut self, bytes: u64) {
        self.used -= bytes;
    }

    /// Takes whole blocks, charged and addressed; `None` when the device is full.
    pub(crate) fn take_blocks(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(BLOCK)?;
        if bytes > self.free_bytes() {
            return None;
        }
        let address = self.heap.take(bytes, BLOCK)?;
        self.used += bytes;
        Some(address)
    }

    /// Gives whole blocks back, and their pages to the system.
    pub(crate) fn give_blocks(&mut self, address: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(BLOCK);
        self.window.discard(address, bytes);
        self.heap.give(address, bytes);
        self.used -= bytes;
    }

    /// Takes memory for one plain allocation.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT)?;
        if bytes > SMALL {
            return self.take_blocks(bytes);
        }
        for slab in &mut self.small {
            if let Some(address) = slab.heap.take(bytes, ALIGNMENT) {
                slab.live += 1;
                return Some(address);
            }
        }
        let base = self.take_blocks(BLOCK)?;
        let mut heap = Heap::new(base, BLOCK);
        let address = heap.take(bytes, ALIGNMENT)?;
        self.small.push(Slab { base, heap, live: 1 });
        Some(address)
    }

    /// Gives back what [`DeviceMemory::take`] gave for the same size.
    pub(crate) fn give(&mut self, address: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        if bytes > SMALL {
            return self.give_blocks(address, bytes);
        }
        let slab = self.small.iter().position(|slab| address >= slab.base && address - slab.base < BLOCK);
        let Some(at) = slab else { return };
        self.small[at].heap.give(address, bytes);
        self.small[at].live -= 1;
        if self.small[at].live == 0 {
            let base = self.small.swap_remove(at).base;
            self.give_blocks(base, BLOCK);
        }
    }
}
