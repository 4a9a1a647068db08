//! Mapped memory that no allocation holds: the rest of a block that small allocations share, or of a pool's
//! chunk.
//!
//! A real device has page tables: memory is mapped in blocks of 2 MiB, of pools and graphs in chunks of 32
//! MiB, and an access faults only outside of them. The bytes here are those at the address itself; no
//! allocation has them, so a kernel that writes beyond its memory spoils none.

use std::ops::Range;

use super::pool::CHUNK;
use crate::ffi::handle::PoolHandle;
use crate::machine::world::World;
use crate::memory::Side;

/// A range that is mapped for devices, whether or not allocations lie in it.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    pub(crate) range: Range<u64>,
    /// The host address of its first byte.
    pub(crate) host: usize,
    pub(crate) side: Side,
    /// The pool whose memory it is.
    pub(crate) pool: Option<PoolHandle>,
}

impl Mapped {
    /// The part of it between two addresses.
    pub(crate) fn part(&self, start: u64, end: u64) -> Self {
        let range = self.range.start.max(start)..self.range.end.min(end);
        Self { host: self.host + (range.start - self.range.start) as usize, range, ..self.clone() }
    }
}

impl World {
    /// The mapped range around an address.
    pub(crate) fn mapped(&self, address: u64) -> Option<Mapped> {
        let of_device = self.devices.iter().zip(0..).find_map(|(device, number)| {
            let of_graphs = || self.graphs.memory.mapped(number, address);
            let (range, host) = device.memory.mapped(address).or_else(of_graphs)?;
            Some(Mapped { range, host, side: Side::Device(number), pool: None })
        });
        let of_process = || {
            let (range, host, device) = self.imported.mapped(address)?;
            Some(Mapped { range, host, side: Side::Device(device), pool: None })
        };
        of_device.or_else(|| self.mapped_of_pool(address)).or_else(of_process).or_else(|| {
            // At one address for host and devices.
            let block = self.host_memory.block_of(address).or_else(|| self.managed_memory.block_of(address))?;
            let range = block.base..block.base + block.len;
            Some(Mapped { range, host: block.base as usize, side: Side::Host, pool: None })
        })
    }

    fn mapped_of_pool(&self, address: u64) -> Option<Mapped> {
        self.pools.iter().find_map(|(handle, pool)| {
            let addresses = pool.addresses.as_ref()?;
            let offset = address.checked_sub(addresses.base()).filter(|offset| *offset < pool.space.len)?;
            let chunk = offset / CHUNK * CHUNK;
            if !pool.has_memory(chunk) {
                return None;
            }
            let start = addresses.base() + chunk;
            let (host, side) = (addresses.host_of(start), pool.home.side());
            Some(Mapped { range: start..start + CHUNK, host, side, pool: Some(handle) })
        })
    }
}
