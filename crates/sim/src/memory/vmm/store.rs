//! The bytes of physical allocations: one unnamed, sparse file in memory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, fstat, ftruncate, memfd_create};

use crate::memory::BLOCK;
use crate::memory::heap::Heap;

/// The file's length, which costs nothing; more than all devices and the host of any machine have.
pub(super) const LEN: u64 = 1 << 46;
/// The limit of all physical allocations of the host together; a real host runs out, too.
const HOST: u64 = 1 << 40;

/// The file, once it was needed.
#[derive(Default)]
pub(super) struct Store {
    open: Option<Open>,
    host_used: u64,
}

struct Open {
    file: OwnedFd,
    heap: Heap,
}

impl Store {
    /// Takes a stretch that reads as zeros.
    pub(super) fn take(&mut self, bytes: u64) -> io::Result<u64> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let file = memfd_create(c"warploom physical memory", MemfdFlags::CLOEXEC)?;
                ftruncate(&file, LEN)?;
                self.open.insert(Open { file, heap: Heap::new(0, LEN) })
            }
        };
        open.heap.take(bytes, BLOCK).ok_or(io::ErrorKind::OutOfMemory.into())
    }

    /// Gives a stretch back, and its pages to the system.
    pub(super) fn give(&mut self, offset: u64, bytes: u64) {
        let Some(open) = &mut self.open else { return };
        let punched = fallocate(&open.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes);
        debug_assert!(punched.is_ok(), "a file in memory can have holes");
        open.heap.give(offset, bytes);
    }

    /// The file, for mapping ranges of it.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref().map(|open| open.file.as_fd())
    }

    /// Host memory that the file takes, in bytes.
    pub(super) fn committed(&self) -> u64 {
        let blocks = self.open.as_ref().and_then(|open| fstat(&open.file).ok()).map(|file| file.st_blocks);
        blocks.and_then(|blocks| u64::try_from(blocks).ok()).unwrap_or(0) * 512
    }

    /// Charges host memory; fails with the free bytes if there are too few.
    pub(super) fn charge_host(&mut self, bytes: u64) -> Result<(), u64> {
        let free = HOST - self.host_used;
        if bytes > free {
            return Err(free);
        }
        self.host_used += bytes;
        Ok(())
    }

    pub(super) fn refund_host(&mut self, bytes: u64) {
        self.host_used -= bytes;
    }
}
