//! Address windows of pools, in the program's and in the simulator's view.

use std::io;

use super::space::CHUNK;
use crate::memory::{SharedObject, Window};

/// The addresses of one pool.
pub(crate) struct Addresses {
    window: Window,
    /// The first address, aligned to the chunk size, as in the driver.
    base: u64,
    /// The program has access, too.
    is_open: bool,
}

/// Address ranges of destroyed pools. An op that outlives its memory may still write there, so they stay
/// mapped as long as the machine; the next pool of the same size reuses one.
#[derive(Default)]
pub(crate) struct Windows {
    spare: Vec<Addresses>,
    /// Ranges that still show shared memory, because the system had no mapping left to replace it.
    retired: Vec<Addresses>,
}

impl Windows {
    /// Reserves `len` bytes, with or without access for the program.
    pub(crate) fn take(&mut self, len: u64, is_open: bool) -> io::Result<Addresses> {
        let fits = |spare: &Addresses| spare.is_open == is_open && spare.window.len() == len + CHUNK;
        if let Some(at) = self.spare.iter().position(fits) {
            return Ok(self.spare.swap_remove(at));
        }
        let window = Window::new(len + CHUNK)?;
        let base = window.base().next_multiple_of(CHUNK);
        if is_open {
            window.open(window.base(), window.len())?;
        }
        Ok(Addresses { window, base, is_open })
    }

    pub(crate) fn give(&mut self, addresses: Addresses) {
        self.spare.push(addresses);
    }

    /// Gives addresses back whose first `len` bytes show a shared object.
    pub(crate) fn give_shared(&mut self, addresses: Addresses, len: u64) {
        match addresses.unshare(0, len) {
            Ok(()) => self.spare.push(addresses),
            Err(_) => self.retired.push(addresses),
        }
    }
}

impl Addresses {
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The simulator's address of a program's address.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        if self.is_open { address as usize } else { self.window.host_of(address) }
    }

    /// Puts the memory of a shared object behind a range of addresses, at the same offset.
    pub(crate) fn share(&self, object: &SharedObject, offset: u64, len: u64) -> io::Result<()> {
        let (address, start) = (self.base + offset, object.data_offset() + offset);
        if self.is_open {
            self.window.expose(address, len, object.file(), start, true)
        } else {
            self.window.map(address, len, object.file(), start)
        }
    }

    /// Puts private memory behind a range of addresses again, in one step: work in flight does no harm.
    pub(crate) fn unshare(&self, offset: u64, len: u64) -> io::Result<()> {
        let address = self.base + offset;
        if self.is_open { self.window.hide(address, len) } else { self.window.unmap(address, len) }
    }

    /// Returns the pages of a chunk to the operating system.
    pub(crate) fn discard(&self, chunk: u64) {
        if self.is_open {
            self.window.discard_open(self.base + chunk, CHUNK);
        } else {
            self.window.discard(self.base + chunk, CHUNK);
        }
    }
}
