//! Capacity and address space of one device's memory.

use std::io;
use std::ops::Range;

use super::BLOCK;
use super::blocks::{Block, Blocks, Spacing};
use super::ipc_handle::IpcHandle;
use super::shared_blocks::SharedBlocks;
use super::shared_object::{SharedDevice, SharedObject};
use super::windows::Windows;

/// One device's capacity and address space.
///
/// Only capacity makes an allocation fail. Address space never does: holes that no allocation fits into are
/// left behind for more of it, as the page tables of a real device do.
pub(crate) struct DeviceMemory {
    windows: Windows,
    blocks: Blocks,
    /// The driver's own memory, in front of the first allocation.
    driver: Range<u64>,
    capacity: u64,
    used: u64,
    /// The blocks that other processes can open, by their start.
    shared: SharedBlocks,
}

/// Bytes in front of the first allocation that are the driver's own. They are mapped, so that a kernel can
/// read and write them.
const DRIVER: u64 = 64 << 20;

impl DeviceMemory {
    /// `capacity` bytes to hand out, in a window with room for holes.
    pub(crate) fn new(capacity: u64, spacing: Spacing) -> io::Result<Self> {
        let mut windows = Windows::default();
        let window = windows.add(DRIVER + capacity + capacity / 4 + BLOCK)?;
        let driver = window.base()..window.base() + DRIVER;
        let mut blocks = Blocks::new(spacing);
        blocks.add_room(driver.end, window.len() - DRIVER);
        Ok(Self { windows, blocks, driver, capacity, used: 0, shared: SharedBlocks::default() })
    }

    fn add_room(&mut self, len: u64) -> io::Result<()> {
        let window = self.windows.add(len + BLOCK)?;
        self.blocks.add_room(window.base(), window.len());
        Ok(())
    }

    pub(crate) fn window(&self) -> &Windows {
        &self.windows
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.capacity - self.used
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Charges memory that has no address here, such as physical allocations and contexts; `false` if there
    /// is not enough.
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
        Some(self.take_block(bytes)?.base)
    }

    fn take_block(&mut self, bytes: u64) -> Option<Block> {
        let bytes = bytes.checked_next_multiple_of(BLOCK)?;
        if bytes > self.free_bytes() {
            return None;
        }
        let block = match self.blocks.take(bytes) {
            Some(block) => block,
            None => {
                self.add_room(bytes.max(self.capacity / 4)).ok()?;
                self.blocks.take(bytes)?
            }
        };
        self.used += bytes;
        Some(block)
    }

    /// Gives whole blocks back, and their pages to the system.
    pub(crate) fn give_blocks(&mut self, address: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(BLOCK);
        if !self.shared.end(&self.windows, address, bytes) {
            self.windows.discard(address, bytes);
        }
        self.blocks.give(address, bytes);
        self.used -= bytes;
    }

    /// Takes memory for one plain allocation.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        if Blocks::is_large(bytes) {
            return self.take_blocks(bytes);
        }
        if let Some(address) = self.blocks.take_shared(bytes) {
            return Some(address);
        }
        let block = self.take_block(BLOCK)?;
        self.blocks.share(block);
        self.blocks.take_shared(bytes)
    }

    /// Gives back what [`DeviceMemory::take`] gave for the same size.
    pub(crate) fn give(&mut self, address: u64, bytes: u64) {
        if let Some(block) = self.blocks.containing(address).filter(|_| !self.shared.is_empty()) {
            self.shared.forget(block, address);
        }
        if Blocks::is_large(bytes) {
            return self.give_blocks(address, bytes);
        }
        if let Some(block) = self.blocks.give_shared(address, bytes) {
            self.give_blocks(block.base, block.len);
        }
    }

    /// Lets other processes open an allocation: the memory of its block moves into a shared object, where it
    /// is. Nothing else touches the memory meanwhile.
    pub(crate) fn share(
        &mut self,
        (address, bytes, generation): (u64, u64, u32),
        machine: u128,
        device: SharedDevice,
    ) -> io::Result<IpcHandle> {
        let block = self.blocks.containing(address).ok_or(io::ErrorKind::NotFound)?;
        self.shared.share(&self.windows, block, (address, bytes, generation), machine, device)
    }

    /// The shared object of the block that an address is in.
    pub(crate) fn shared_object(&self, address: u64) -> Option<&SharedObject> {
        self.shared.object(self.blocks.containing(address)?)
    }

    /// Host memory that shared blocks take, in bytes.
    pub(crate) fn committed_shared(&self) -> u64 {
        self.shared.committed()
    }

    /// The mapped range around an address, and where the simulator finds its first byte.
    pub(crate) fn mapped(&self, address: u64) -> Option<(Range<u64>, usize)> {
        let range = match self.blocks.containing(address) {
            Some(block) => block.base..block.base + block.len,
            None => Some(&self.driver).filter(|driver| driver.contains(&address))?.clone(),
        };
        Some((range.clone(), self.windows.host_of(range.start)))
    }

    /// The block an address is in.
    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        self.blocks.containing(address)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn memory(capacity: u64) -> DeviceMemory {
        DeviceMemory::new(capacity, Spacing::Dense).expect("there is address space")
    }

    #[test]
    fn a_device_is_charged_as_a_real_one() {
        let mut memory = memory(4096 * MIB);
        for (bytes, first, second) in [
            (1, 2, 0),
            (512, 2, 0),
            (MIB - 1, 2, 0),
            (MIB, 2, 0),
            (MIB + 1, 2, 2),
            (2 * MIB, 2, 2),
            (2 * MIB + 1, 4, 4),
            (33 * MIB + 5, 34, 34),
            (1024 * MIB, 1024, 1024),
        ] {
            let before = memory.free_bytes();
            let one = memory.take(bytes).expect("there is room");
            assert_eq!(before - memory.free_bytes(), first * MIB, "{bytes}");
            let two = memory.take(bytes).expect("there is room");
            assert_eq!(before - memory.free_bytes(), (first + second) * MIB, "{bytes}");
            memory.give(two, bytes);
            assert_eq!(before - memory.free_bytes(), first * MIB, "{bytes}");
            memory.give(one, bytes);
            assert_eq!(before, memory.free_bytes(), "{bytes}");
        }
    }

    #[test]
    fn holes_do_not_make_a_device_smaller() {
        let mut memory = memory(256 * MIB);
        let blocks: Vec<u64> = (0..128).map(|_| memory.take(2 * MIB).expect("there is room")).collect();
        assert_eq!(memory.take(1), None);
        for block in blocks.iter().step_by(2) {
            memory.give(*block, 2 * MIB);
        }
        let whole = memory.take(128 * MIB).expect("half of the device is free");
        assert_eq!(memory.free_bytes(), 0);
        let first = memory.window().host_of(whole);
        let last = memory.window().host_of(whole + 128 * MIB - 1);
        assert_eq!((last - first) as u64, 128 * MIB - 1, "one stretch for the simulator, too");
        memory.give(whole, 128 * MIB);
    }

    #[test]
    fn a_charge_leaves_less_for_allocations() {
        let mut memory = memory(16 * MIB);
        assert!(memory.charge(13 * MIB));
        assert!(!memory.charge(4 * MIB));
        assert_eq!(memory.take(3 * MIB), None, "two blocks are more than 3 MiB");
        assert!(memory.take(2 * MIB).is_some());
        memory.refund(13 * MIB);
        assert_eq!(memory.free_bytes(), 14 * MIB);
    }

    proptest! {
        /// Against a model: free is capacity less the blocks in use, large requests fail exactly when they
        /// are more than that, and no two allocations overlap.
        #[test]
        fn capacity_follows_the_model(sizes in prop::collection::vec((1..6 * MIB, any::<usize>(), any::<bool>()), 1..150)) {
            let capacity = 64 * MIB + 12345;
            let mut memory = memory(capacity);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (bytes, which, give) in sizes {
                if give && !live.is_empty() {
                    let (at, bytes) = live.swap_remove(which % live.len());
                    memory.give(at, bytes);
                } else {
                    let free = memory.free_bytes();
                    match memory.take(bytes) {
                        Some(at) => {
                            prop_assert!(live.iter().all(|(other, len)| at >= other + len || other >= &(at + bytes)));
                            live.push((at, bytes));
                        }
                        None => prop_assert!(bytes.next_multiple_of(BLOCK) > free),
                    }
                }
                let large: u64 =
                    live.iter().filter(|(_, len)| *len > MIB).map(|(_, len)| len.next_multiple_of(BLOCK)).sum();
                let shared: std::collections::BTreeSet<u64> =
                    live.iter().filter(|(_, len)| *len <= MIB).map(|(at, _)| at / BLOCK).collect();
                prop_assert_eq!(memory.free_bytes(), capacity - large - shared.len() as u64 * BLOCK);
            }
            for (at, bytes) in live {
                memory.give(at, bytes);
            }
            prop_assert_eq!(memory.free_bytes(), capacity);
            prop_assert!(memory.take(64 * MIB).is_some());
        }
    }
}
