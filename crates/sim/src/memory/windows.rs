//! The windows of one device: one from the start, more when holes have used it up.

use std::io;
use std::os::fd::BorrowedFd;

use super::{Side, Window};

#[derive(Default)]
pub(crate) struct Windows {
    windows: Vec<Window>,
}

impl Windows {
    pub(super) fn add(&mut self, len: u64) -> io::Result<&Window> {
        self.windows.push(Window::new(len)?);
        Ok(&self.windows[self.windows.len() - 1])
    }

    /// The window an address is in. Asked only of addresses that the device gave out.
    fn holding(&self, address: u64) -> &Window {
        let window = self.windows.iter().find(|window| window.contains(address));
        window.unwrap_or_else(|| panic!("{address:#x} is in no window of its device"))
    }

    /// The host address of the byte at a device address.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        self.holding(address).host_of(address)
    }

    /// Reads the bytes behind a stretch, as they are now.
    pub(super) fn read(&self, address: u64, into: &mut [u8]) {
        let window = self.holding(address);
        // The side is only for the virtual clock.
        if let Some(place) = window.sim_address(address, Side::Host) {
            place.get(into);
        }
    }

    /// Puts shared memory behind a stretch: `file` from `offset` on.
    pub(super) fn map(&self, address: u64, len: u64, file: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
        self.holding(address).map(address, len, file, offset)
    }

    /// Puts private memory behind a stretch again; it reads as zeros.
    pub(super) fn unmap(&self, address: u64, len: u64) -> io::Result<()> {
        self.holding(address).unmap(address, len)
    }

    /// Gives the pages behind a stretch back to the system; it reads as zeros again.
    pub(crate) fn discard(&self, address: u64, len: u64) {
        self.holding(address).discard(address, len);
    }
}
