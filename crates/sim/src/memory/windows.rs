//! The windows of one device: one from the start, more when holes have used it up.

use std::io;

use super::Window;

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

    /// Gives the pages behind a stretch back to the system; it reads as zeros again.
    pub(crate) fn discard(&self, address: u64, len: u64) {
        self.holding(address).discard(address, len);
    }
}
