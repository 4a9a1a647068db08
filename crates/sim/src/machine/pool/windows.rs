//! Address windows of pools, in the program's and in the simulator's view.

use std::io;

use super::space::CHUNK;
use crate::memory::Window;

/// One pool's addresses.
pub(crate) struct Addresses {
    window: Window,
    /// The first address: a multiple of the chunk size, as the driver's is.
    base: u64,
    /// Programs may touch it, too.
    is_open: bool,
}

/// Address space that no pool uses. An op that outlives its memory may still write there, so none is ever given back to
/// the system while the machine lives; the next pool of the same size takes it.
#[derive(Default)]
pub(crate) struct Windows {
    spare: Vec<Addresses>,
}

impl Windows {
    /// Takes `len` bytes, for programs to touch or not.
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
}

impl Addresses {
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The simulator's address of a program's address.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        if self.is_open { address as usize } else { self.window.host_of(address) }
    }

    /// Gives the pages behind a chunk back to the system.
    pub(crate) fn discard(&self, chunk: u64) {
        if self.is_open {
            self.window.discard_open(self.base + chunk, CHUNK);
        } else {
            self.window.discard(self.base + chunk, CHUNK);
        }
    }
}
