//! Blocks of device memory that other processes can open.
//!
//! The first handle of an allocation moves its whole block into a shared object, because the driver shares
//! blocks of 2 MiB. The addresses stay. The object's words say which allocations of the block have handles,
//! so that the handle of a freed one, and one that claims more bytes, is refused: two words for every 512
//! bytes of a block, with the generation and the size of the allocation that starts there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::atomic::Ordering;

use rustix::io::pwrite;

use super::BLOCK;
use super::blocks::Block;
use super::ipc_handle::{BlockPart, IpcHandle};
use super::shared_object::{Details, NewObject, SharedDevice, SharedKind, SharedObject};
use super::windows::Windows;

/// The driver's alignment of every allocation.
const UNIT: u64 = 512;
/// Marks the word of an allocation that has a handle.
const LIVE: u64 = 1 << 32;
/// Bytes that are copied at a time; those that are all zeros are left out.
const PIECE: u64 = 64 << 10;

/// The shared blocks of a device, by their start.
#[derive(Default)]
pub(crate) struct SharedBlocks {
    objects: BTreeMap<u64, SharedObject>,
}

impl SharedBlocks {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Host memory that the blocks take, in bytes.
    pub(super) fn committed(&self) -> u64 {
        self.objects.values().map(SharedObject::committed).sum()
    }

    /// Shares the block of an allocation, if it is not shared yet. Returns a handle of the allocation.
    pub(super) fn share(
        &mut self,
        windows: &Windows,
        block: Block,
        (address, size, generation): (u64, u64, u32),
        machine: u128,
        device: SharedDevice,
    ) -> io::Result<IpcHandle> {
        let object = match self.objects.entry(block.base) {
            Entry::Occupied(shared) => shared.into_mut(),
            Entry::Vacant(place) => place.insert(move_block(windows, block, machine, device)?),
        };
        let part = BlockPart { offset: address - block.base, size, generation };
        let locator = object.locator()?;
        let [size_word, live_word] = [1, 0].map(|word| object.word(part.offset / UNIT * 2 + word));
        if let (Some(size_word), Some(live_word)) = (size_word, live_word) {
            size_word.store(size, Ordering::Relaxed);
            live_word.store(LIVE | u64::from(generation), Ordering::Release);
        }
        Ok(IpcHandle { locator, part })
    }

    /// The shared object of a block.
    pub(super) fn object(&self, block: Block) -> Option<&SharedObject> {
        self.objects.get(&block.base)
    }

    /// An allocation is freed: its handles are no longer valid.
    pub(super) fn forget(&self, block: Block, address: u64) {
        let object = self.objects.get(&block.base);
        if let Some(word) = object.and_then(|object| object.word((address - block.base) / UNIT * 2)) {
            word.store(0, Ordering::Release);
        }
    }

    /// A block is given back: the memory stays with the processes that opened it, and the addresses get
    /// private memory. Returns `false` if the block is not shared.
    pub(super) fn end(&mut self, windows: &Windows, base: u64, len: u64) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        // Without private memory the block stays as it is; other processes see what is written there.
        self.objects.remove(&base).is_some_and(|_| windows.unmap(base, len).is_ok())
    }
}

/// The number of words of a block: an allocation starts at a multiple of 512 bytes of one that small ones
/// share, and at the start of another.
fn words(len: u64) -> u64 {
    if len == BLOCK { BLOCK / UNIT * 2 } else { 2 }
}

/// Moves a block into a new shared object.
fn move_block(windows: &Windows, block: Block, machine: u128, device: SharedDevice) -> io::Result<SharedObject> {
    let object = SharedObject::create(&NewObject {
        kind: SharedKind::Allocation,
        size: block.len,
        words: words(block.len),
        machine,
        device: Some(device),
        details: Details::default(),
    })?;
    let mut piece = vec![0; PIECE as usize];
    for offset in (0..block.len).step_by(PIECE as usize) {
        windows.read(block.base + offset, &mut piece);
        if piece.iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut rest = piece.as_slice();
        let mut at = object.data_offset() + offset;
        while !rest.is_empty() {
            let written = pwrite(object.file(), rest, at)?;
            (rest, at) = (&rest[written..], at + written as u64);
        }
    }
    windows.map(block.base, block.len, object.file(), object.data_offset())?;
    Ok(object)
}

/// The allocation with a handle that starts at an offset of a shared block, if any.
pub(super) fn part_at(object: &SharedObject, offset: u64) -> Option<BlockPart> {
    let index = (offset / UNIT).checked_mul(2).filter(|_| offset.is_multiple_of(UNIT))?;
    let live = object.word(index)?.load(Ordering::Acquire);
    let size = object.word(index + 1)?.load(Ordering::Relaxed);
    (live & LIVE != 0).then_some(BlockPart { offset, size, generation: live as u32 })
}
