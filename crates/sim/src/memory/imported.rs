//! Blocks of device memory that other processes share, mapped here.
//!
//! A block is mapped as a whole, at addresses of its own, and the allocations in it are opened one by one.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::blocks::Block;
use super::ipc_handle::{BlockPart, IpcHandle};
use super::shared_blocks::part_at;
use super::shared_object::{OpenError, SharedDevice, SharedKind, SharedObject};
use super::window::Window;

/// The blocks, and address space of those that were closed: an op that outlives its memory may still write
/// there.
#[derive(Default)]
pub(crate) struct ImportedMemory {
    blocks: BTreeMap<u64, ImportedBlock>,
    spare: Vec<Window>,
    next_serial: u64,
}

/// A mapped block.
struct ImportedBlock {
    window: Window,
    object: SharedObject,
    /// The allocations that are open.
    parts: u64,
    serial: u64,
}

/// An allocation of another process, at the place where it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportedPart {
    pub(crate) base: u64,
    /// Where the simulator finds the first byte.
    pub(crate) host: usize,
    pub(crate) size: u64,
    pub(crate) device: u16,
}

/// The reason why a handle cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The allocation is not, or no longer, one of the block.
    #[error("the allocation has been freed")]
    Freed,
    /// Another allocation is at the place of a freed one, or one of another size.
    #[error("another allocation is at the place that the handle names")]
    Replaced,
    /// The part is not inside the block.
    #[error("the handle names {size} bytes at {offset}, and the block has {len}")]
    Outside { offset: u64, size: u64, len: u64 },
    /// The device of the memory is no peer of the one that opens it.
    #[error("device {to} has no peer access to device {from}, whose memory it is")]
    Unreachable { from: u16, to: u16 },
    /// Another allocation of the block is open at the same place.
    #[error("{len} bytes at {base:#x} are open from a handle of memory that was freed since; close them first")]
    Overlaps { base: u64, len: u64 },
}

impl ImportedMemory {
    /// The part of a block that a handle names, if the block is mapped already. The exporter may have freed
    /// it.
    pub(crate) fn find(&self, handle: &IpcHandle) -> Option<ImportedPart> {
        let block = self.blocks.values().find(|block| block.object.header().id == handle.locator.id)?;
        block.part(handle.part).ok()
    }

    /// Maps the block of a handle, if it is not mapped yet. The part becomes open with
    /// [`ImportedMemory::opened`].
    pub(crate) fn map(
        &mut self,
        handle: &IpcHandle,
        machine: u128,
        check: impl Fn(SharedDevice) -> Result<(), ImportError>,
    ) -> Result<ImportedPart, ImportError> {
        let id = handle.locator.id;
        if let Some(block) = self.blocks.values().find(|block| block.object.header().id == id) {
            return block.live_part(handle.part);
        }
        let object = SharedObject::open_at(&handle.locator, SharedKind::Allocation, machine)?;
        check(object.header().device.ok_or(OpenError::Damaged)?)?;
        let len = object.header().size;
        let window = match self.spare.iter().position(|spare| spare.len() == len) {
            Some(at) => self.spare.swap_remove(at),
            None => Window::new(len).map_err(OpenError::from)?,
        };
        let block = ImportedBlock { window, object, parts: 0, serial: self.next_serial };
        let part = block.live_part(handle.part).and_then(|part| {
            let mapped = block.window.map(block.window.base(), len, block.object.file(), block.object.data_offset());
            mapped.map_err(OpenError::from)?;
            Ok(part)
        });
        if part.is_err() {
            self.spare.push(block.window);
            return part;
        }
        self.next_serial += 1;
        self.blocks.insert(block.window.base(), block);
        part
    }

    fn holding(&self, address: u64) -> Option<&ImportedBlock> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        block.window.contains(address).then_some(block)
    }

    /// The shared object that an address is in, and the address's offset there.
    pub(crate) fn shared_object(&self, address: u64) -> Option<(&SharedObject, u64)> {
        self.holding(address).map(|block| (&block.object, address - block.window.base()))
    }

    /// An allocation of a mapped block is open.
    pub(crate) fn opened(&mut self, address: u64) {
        if let Some((_, block)) = self.blocks.range_mut(..=address).next_back() {
            block.parts += 1;
        }
    }

    /// An allocation of a mapped block is closed; with the last one the block is unmapped.
    pub(crate) fn closed(&mut self, address: u64) {
        let Some((base, block)) = self.blocks.range_mut(..=address).next_back() else { return };
        let base = *base;
        block.parts = block.parts.saturating_sub(1);
        self.unmap_unused(base);
    }

    /// Unmaps the block of an address if none of its allocations is open.
    pub(crate) fn unmap_unused(&mut self, address: u64) {
        let Some((base, block)) = self.blocks.range(..=address).next_back() else { return };
        let base = *base;
        if block.parts == 0
            && let Some(block) = self.blocks.remove(&base)
        {
            // Without private memory the addresses are not used again.
            if block.window.unmap(base, block.window.len()).is_ok() {
                self.spare.push(block.window);
            } else {
                self.blocks.insert(base, block);
            }
        }
    }

    /// The mapped range around an address, the simulator's address of its first byte, and its device.
    pub(crate) fn mapped(&self, address: u64) -> Option<(Range<u64>, usize, u16)> {
        let block = self.holding(address)?;
        let base = block.window.base();
        Some((base..base + block.object.header().size, block.window.host_of(base), block.device()))
    }

    /// The block an address is in.
    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        let block = self.holding(address)?;
        Some(Block { base: block.window.base(), len: block.object.header().size, serial: block.serial })
    }
}

impl ImportedBlock {
    fn device(&self) -> u16 {
        self.object.header().device.map_or(0, |device| device.ordinal)
    }

    /// The place of a part, if it is inside the block.
    fn part(&self, part: BlockPart) -> Result<ImportedPart, ImportError> {
        let (BlockPart { offset, size, .. }, len) = (part, self.object.header().size);
        if size == 0 || offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(ImportError::Outside { offset, size, len });
        }
        let base = self.window.base() + offset;
        Ok(ImportedPart { base, host: self.window.host_of(base), size, device: self.device() })
    }

    /// The place of a part that the exporter has not freed.
    fn live_part(&self, part: BlockPart) -> Result<ImportedPart, ImportError> {
        let found = self.part(part)?;
        match part_at(&self.object, part.offset) {
            Some(live) if live == part => Ok(found),
            Some(_) => Err(ImportError::Replaced),
            None => Err(ImportError::Freed),
        }
    }
}

impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> Self {
        Self::Open(error.into())
    }
}
