//! Device address ranges: inaccessible to the program, with the bytes at a constant distance for the
//! simulator.
#![expect(unsafe_code, reason = "vouches for the mapped bytes of its twin")]

use std::io;
use std::os::fd::BorrowedFd;

use super::BLOCK;
use super::sim_address::{Side, SimAddress};
use super::span::{Span, SpanKind};

/// A reservation and its readable twin at a constant distance.
pub(crate) struct Window {
    seen: Span,
    twin: Span,
}

impl Window {
    /// Reserves `len` bytes of both. The program's side starts at a multiple of `BLOCK`.
    pub(crate) fn new(len: u64) -> io::Result<Self> {
        Self::aligned(len, BLOCK)
    }

    /// Reserves `len` bytes of both. The program's side starts at a multiple of `align`, a power of two and
    /// of the page size.
    pub(crate) fn aligned(len: u64, align: u64) -> io::Result<Self> {
        let len = len.checked_next_multiple_of(BLOCK).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { seen: Span::closed(len, align, SpanKind::Virtual)?, twin: Span::open(len)? })
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

    /// The host address of the byte at `address` of this window.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        self.twin_of(address) as usize
    }

    /// The byte at `address`, for ops to touch; nothing if that is outside.
    pub(crate) fn sim_address(&self, address: u64, side: Side) -> Option<SimAddress> {
        // SAFETY: the twin's bytes are mapped for as long as the window lives, which is as long as the
        // machine.
        self.contains(address).then(|| unsafe { SimAddress::new(address, self.host_of(address), side) })
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
        self.twin.share(self.twin_of(address), len, file, offset, true)
    }

    /// Puts private memory behind a stretch again.
    pub(crate) fn unmap(&self, address: u64, len: u64) -> io::Result<()> {
        self.twin.renew(self.twin_of(address), len)
    }

    /// Lets the program touch a stretch directly: memory at one address for host and devices, without the
    /// twin.
    pub(crate) fn open(&self, address: u64, len: u64) -> io::Result<()> {
        self.seen.unlock(address, len)
    }

    /// Lets the program touch shared memory at its own address: `file` from `offset` on.
    pub(crate) fn expose(
        &self,
        address: u64,
        len: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        writable: bool,
    ) -> io::Result<()> {
        self.seen.share(address, len, file, offset, writable)
    }

    /// Gives the pages of an opened stretch back to the system; it stays open and reads as zeros again.
    pub(crate) fn discard_open(&self, address: u64, len: u64) {
        self.seen.discard(address, len);
    }

    /// Puts private memory behind an exposed stretch; it stays open and reads as zeros.
    pub(crate) fn hide(&self, address: u64, len: u64) -> io::Result<()> {
        self.seen.renew(address, len)
    }

    /// Takes back what `open` or `expose` gave; the stretch loses its own bytes.
    pub(crate) fn close(&self, address: u64, len: u64) -> io::Result<()> {
        self.seen.lock(address, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::host_memory::{Intent, KNOWS, is_own};

    #[test]
    fn reserved_address_space_is_not_the_programs() {
        let window = Window::new(4 << 20).expect("there is address space");
        assert!(!is_own(window.base() + 4096, 64, Intent::Read) || !*KNOWS);
        assert!(is_own(window.host_of(window.base()) as u64, 64, Intent::Write));
    }
}
