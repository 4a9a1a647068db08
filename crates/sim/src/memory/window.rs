//! A stretch of address space: untouchable where the program sees it, bytes where the simulator does.

use std::io;
use std::os::fd::BorrowedFd;

use super::BLOCK;
use super::span::{Kind, Span};

/// A reservation and its readable twin at a constant distance.
pub(crate) struct Window {
    seen: Span,
    twin: Span,
}

impl Window {
    /// Reserves `len` bytes of both. The program's side starts at a multiple of `BLOCK`.
    pub(crate) fn new(len: u64) -> io::Result<Self> {
        let len = len.checked_next_multiple_of(BLOCK).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { seen: Span::closed(len, BLOCK, Kind::Virtual)?, twin: Span::open(len)? })
    }

    pub(crate) fn base(&self) -> u64 {
        self.seen.address()
    }

    pub(crate) fn len(&self) -> u64 {
        self.seen.len()
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        self.seen.contains(address)
    }

    /// Where the simulator finds the byte at `address` of this window.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        self.twin_of(address) as usize
    }

    fn twin_of(&self, address: u64) -> u64 {
        self.twin.address() + (address - self.base())
    }

    /// Gives the pages behind a stretch back to the system; it reads as zeros again.
    pub(crate) fn discard(&self, address: u64, len: u64) {
        self.twin.discard(self.twin_of(address), len);
    }

    /// Puts shared memory behind a stretch: `file` from `offset` on.
    pub(crate) fn map(&self, address: u64, len: u64, file: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
        self.twin.share(self.twin_of(address), len, file, offset)
    }

    /// Puts private memory behind a stretch again.
    pub(crate) fn unmap(&self, address: u64, len: u64) -> io::Result<()> {
        self.twin.renew(self.twin_of(address), len)
    }
}
