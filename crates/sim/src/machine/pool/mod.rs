//! Memory pools: allocations, freed memory, and the rules of its reuse.

mod chunks;
pub(crate) mod pointer_data;
mod sharing;
mod space;
mod windows;

use std::collections::HashSet;
use std::io;
use std::ops::Range;

pub(crate) use sharing::{Exportable, Imported, PointerError, Sharing, WORDS};
pub(crate) use space::{CHUNK, Space, Tag};
pub(crate) use windows::{Addresses, Windows};

use crate::ffi::handle::{PoolHandle, kind};
use crate::machine::objects::Object;
use crate::memory::Home;

/// A memory pool and its allocations.
pub(crate) struct Pool {
    pub(crate) home: Home,
    /// The handle types it can be exported as.
    pub(crate) handle_types: u32,
    /// The maximum size given at creation; 0 is no limit.
    pub(crate) max_size: u64,
    pub(crate) usage: u16,
    pub(crate) is_default: bool,
    /// Its handle is destroyed; the pool is removed after the last free.
    pub(crate) destroyed: bool,
    pub(crate) reuse: Reuse,
    /// The release threshold, in bytes.
    pub(crate) threshold: u64,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved_high: u64,
    /// Devices other than its own that have access to its memory.
    pub(crate) peers: HashSet<u16>,
    /// The relation of its memory to other processes.
    pub(crate) sharing: Sharing,
    /// Its addresses, reserved at the first allocation.
    pub(in crate::machine) addresses: Option<Addresses>,
    pub(crate) space: Space,
}

/// The reuse policies of allocations.
#[derive(Clone, Copy)]
pub(crate) struct Reuse {
    pub(crate) follow_events: bool,
    pub(crate) opportunistic: bool,
    pub(crate) internal_dependencies: bool,
}

impl Object for Pool {
    type Kind = kind::Pool;
}

impl Pool {
    /// The handle types it can be exported as.
    pub(crate) fn handle_types(&self) -> u32 {
        self.handle_types
    }

    /// `true` if another process created it. Such a pool has no memory of its own and no attributes.
    pub(crate) fn is_imported(&self) -> bool {
        matches!(self.sharing, Sharing::Imported(_))
    }

    /// Notes that an allocation of it is freed.
    pub(crate) fn end_export(&mut self, offset: u64) {
        if let Sharing::Exportable(shared) = &mut self.sharing {
            shared.end(offset);
        }
    }

    /// Host memory that its shared object takes, in bytes. That of an imported pool counts in the process
    /// that created it.
    pub(crate) fn committed(&self) -> u64 {
        match &self.sharing {
            Sharing::Exportable(shared) => shared.object().committed(),
            Sharing::Private | Sharing::Imported(_) => 0,
        }
    }

    /// `true` if the program created it and has not destroyed it.
    pub(crate) fn is_the_programs(&self) -> bool {
        !self.is_default && !self.destroyed
    }

    pub(crate) fn new(home: Home, max_size: u64, room: u64) -> Self {
        Self {
            home,
            handle_types: 0,
            max_size,
            usage: 0,
            is_default: false,
            destroyed: false,
            reuse: Reuse { follow_events: true, opportunistic: true, internal_dependencies: true },
            threshold: 0,
            used: 0,
            used_high: 0,
            reserved_high: 0,
            peers: HashSet::new(),
            sharing: Sharing::Private,
            addresses: None,
            space: Space::new(room),
        }
    }
}

/// The memory that a free's op releases.
#[derive(Debug)]
pub(crate) enum Freed {
    /// All memory of a pool freed by the queue, up to a stamp. The address is for reports only: it may be in
    /// use again.
    Pool { pool: PoolHandle, stamp: u64, address: u64 },
    /// Memory of an imported pool, whose mapping ends.
    Import { pool: PoolHandle, offset: u64, size: u64, address: u64 },
    /// An allocation of `cuMemAlloc`.
    Device { device: u16, address: u64, bytes: u64 },
    /// Memory of a graph, whose addresses stay the graph's.
    Graph { address: u64 },
}

impl Freed {
    pub(crate) fn address(&self) -> u64 {
        match self {
            Freed::Pool { address, .. }
            | Freed::Import { address, .. }
            | Freed::Device { address, .. }
            | Freed::Graph { address } => *address,
        }
    }
}

impl Pool {
    /// Releases idle chunks while `goes_on` returns true for the reserved bytes. Returns the number of
    /// released bytes.
    pub(crate) fn shrink(&mut self, goes_on: impl Fn(u64) -> bool) -> u64 {
        if !goes_on(self.space.reserved) {
            return 0;
        }
        let before = self.space.reserved;
        for chunk in self.space.idle_chunks() {
            if !goes_on(self.space.reserved) {
                break;
            }
            self.space.unback(chunk);
            self.discard(chunk);
        }
        before - self.space.reserved
    }

    /// Returns the pages of a chunk to the operating system.
    pub(crate) fn discard(&self, chunk: u64) {
        match (&self.sharing, &self.addresses) {
            (Sharing::Exportable(shared), _) => shared.discard(chunk),
            (_, Some(addresses)) => addresses.discard(chunk),
            (_, None) => {}
        }
    }

    /// `true` if a destroyed pool has no memory left in use.
    pub(crate) fn is_over(&self) -> bool {
        let is_mapped = matches!(&self.sharing, Sharing::Imported(imported) if imported.is_mapped());
        self.destroyed && self.space.is_idle() && !is_mapped
    }

    /// `true` if a chunk has memory behind its addresses.
    pub(crate) fn has_memory(&self, chunk: u64) -> bool {
        match &self.sharing {
            Sharing::Imported(imported) => imported.has_chunk(chunk),
            Sharing::Private | Sharing::Exportable(_) => self.space.is_backed(chunk),
        }
    }

    /// Maps a range of an imported pool's memory at its addresses.
    pub(crate) fn map_import(&mut self, range: Range<u64>) -> io::Result<u64> {
        let (Some(addresses), Sharing::Imported(imported)) = (&self.addresses, &mut self.sharing) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let address = addresses.base() + range.start;
        imported.map(addresses, range)?;
        Ok(address)
    }

    /// Ends a mapping of [`Pool::map_import`].
    pub(crate) fn unmap_import(&mut self, range: Range<u64>) {
        if let (Some(addresses), Sharing::Imported(imported)) = (&self.addresses, &mut self.sharing) {
            imported.unmap(addresses, range);
        }
    }
}

/// The pools of a home.
#[derive(Clone, Copy)]
pub(crate) struct Current {
    pub(crate) default: PoolHandle,
    /// The current pool, if set.
    pub(crate) chosen: Option<PoolHandle>,
}
