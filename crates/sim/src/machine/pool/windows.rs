//! Address windows of pools, in the program's and in the simulator's view.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::space::CHUNK;
use crate::ffi::handle::PoolHandle;
use crate::memory::{Home, SharedObject, Window};

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
    /// Memory of other processes, by the start of its first chunk.
    imported: BTreeMap<u64, ImportedMemory>,
    /// Ranges that still show memory of other processes, because the system had no mapping left to replace
    /// it.
    retired: Vec<Addresses>,
}

/// The chunks of imported memory.
struct ImportedMemory {
    addresses: Addresses,
    len: u64,
    pool: PoolHandle,
    home: Home,
}

/// Mapped chunks of imported memory around an address.
pub(crate) struct ImportedChunks {
    pub(crate) range: Range<u64>,
    pub(crate) host: usize,
    pub(crate) pool: PoolHandle,
    pub(crate) home: Home,
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
        match addresses.unshare(len) {
            Ok(()) => self.spare.push(addresses),
            Err(_) => self.retired.push(addresses),
        }
    }

    /// Maps the chunks around a range of another process's pool. Returns the address of the range's first byte
    /// and the host address.
    pub(crate) fn import(
        &mut self,
        object: &SharedObject,
        range: Range<u64>,
        pool: PoolHandle,
        home: Home,
    ) -> io::Result<(u64, usize)> {
        let start = range.start / CHUNK * CHUNK;
        let len = range.end.next_multiple_of(CHUNK) - start;
        let addresses = self.take(len, home.is_open())?;
        if let Err(error) = addresses.share(object, start, len) {
            self.give(addresses);
            return Err(error);
        }
        let address = addresses.base() + (range.start - start);
        let host = addresses.host_of(address);
        self.imported.insert(addresses.base(), ImportedMemory { addresses, len, pool, home });
        Ok((address, host))
    }

    /// Removes the mapping of imported memory that starts at an address.
    pub(crate) fn end_import(&mut self, address: u64) {
        if let Some(ImportedMemory { addresses, len, .. }) = self.imported.remove(&(address / CHUNK * CHUNK)) {
            self.give_shared(addresses, len);
        }
    }

    /// The mapped chunks of imported memory around an address.
    pub(crate) fn imported(&self, address: u64) -> Option<ImportedChunks> {
        let (base, memory) = self.imported.range(..=address).next_back()?;
        let range = *base..base + memory.len;
        let ImportedMemory { addresses, pool, home, .. } = memory;
        let chunks = ImportedChunks { host: addresses.host_of(*base), pool: *pool, home: *home, range };
        chunks.range.contains(&address).then_some(chunks)
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

    /// Puts a shared object behind the first `len` addresses: its memory from `start` on.
    pub(crate) fn share(&self, object: &SharedObject, start: u64, len: u64) -> io::Result<()> {
        let offset = object.data_offset() + start;
        if self.is_open {
            self.window.expose(self.base, len, object.file(), offset, true)
        } else {
            self.window.map(self.base, len, object.file(), offset)
        }
    }

    /// Puts private memory behind the first `len` addresses again, in one step: work in flight does no harm.
    fn unshare(&self, len: u64) -> io::Result<()> {
        if self.is_open { self.window.hide(self.base, len) } else { self.window.unmap(self.base, len) }
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
