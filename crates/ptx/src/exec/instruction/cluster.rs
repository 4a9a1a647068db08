//! Clusters: blocks that reach each other's shared memory and wait for each other.
//!
//! A cluster runs as one: its blocks' warps take turns, and their shared memory lies side by side. An address of shared
//! memory says in its upper byte whose it is:
//!
//! ```text
//!   0x00_offset          the block's own
//!   0xRR_offset, RR > 0  that of the block of rank RR - 1, as `mapa` makes it
//! ```
//!
//! On hardware a block's own addresses name its rank, too; programs that compare addresses of different blocks can tell.

use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::{Stop, TrapKind};
use crate::exec::interpreter::{Current, Executor, stop};
use crate::exec::warp::Warp;
use crate::lanes::{LANES, lanes as each};
use crate::program::slot::Slot;

/// Where an address says whose it is.
const RANK: u32 = 24;
const INSIDE: u64 = (1 << RANK) - 1;

/// Shared memory of the blocks of a cluster beside one's own.
#[derive(Debug)]
pub(crate) struct Others<'b> {
    /// Of the blocks of lower rank, and of those of higher.
    pub(crate) before: &'b mut [u8],
    pub(crate) after: &'b mut [u8],
    pub(crate) rank: u32,
    /// Blocks of the cluster.
    pub(crate) count: u32,
    /// Ranks of blocks all of whose threads have ended.
    pub(crate) ended: u32,
}

/// Whether an address is one of the block's own.
pub(crate) fn is_own(address: u64) -> bool {
    address <= INSIDE
}

impl<M: Memory + Host> Executor<'_, M> {
    /// Bytes of shared memory of the cluster, if there are such.
    pub(crate) fn shared_bytes(
        &mut self,
        warp: &Warp,
        at: Current,
        lanes: u32,
        address: u64,
        length: usize,
    ) -> Result<&mut [u8], Stop> {
        if is_own(address) {
            let range = self.shared_range(warp, at, lanes, address, length)?;
            return Ok(&mut self.shared[range]);
        }
        let (size, others) = (self.shared.len(), &mut self.others);
        let rank = u32::try_from(address >> RANK).unwrap_or(u32::MAX) - 1;
        if rank >= others.count || others.ended >> rank & 1 == 1 {
            let kind = TrapKind::Cluster { rank, count: others.count };
            return Err(stop(warp, at, lanes, kind));
        }
        let inside = (address & INSIDE) as usize;
        let memory: &mut [u8] = match rank.cmp(&others.rank) {
            std::cmp::Ordering::Less => &mut others.before[rank as usize * size..],
            std::cmp::Ordering::Equal => self.shared,
            std::cmp::Ordering::Greater => &mut others.after[(rank - others.rank - 1) as usize * size..],
        };
        let kind = TrapKind::Shared { address: address & INSIDE, size: size as u64 };
        memory[..size].get_mut(inside..inside.saturating_add(length)).ok_or_else(|| stop(warp, at, lanes, kind))
    }

    /// The address that another block of the cluster has for the same place in its memory.
    pub(crate) fn map_shared(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, [d, a, rank]: [Slot; 3]) {
        let mut file = self.file(warp, at);
        let ranks = file.words(rank).map(|rank| u64::from(rank.wrapping_add(1) as u8) << RANK);
        let of = |address: u64, lane: usize| address & !(0xff << RANK) | ranks[lane];
        if long {
            let addresses = *file.longs(a);
            file.set_longs(d, lanes, &std::array::from_fn(|lane| of(addresses[lane], lane)));
        } else {
            let addresses = *file.words(a);
            file.set_words(d, lanes, &std::array::from_fn(|lane| of(addresses[lane].into(), lane) as u32));
        }
    }

    /// The rank of the block that an address belongs to.
    pub(crate) fn shared_rank(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, [d, a]: [Slot; 2]) {
        let mut file = self.file(warp, at);
        let upper: [u8; LANES] = if long {
            file.longs(a).map(|address| (address >> RANK) as u8)
        } else {
            file.words(a).map(|address| (address >> RANK) as u8)
        };
        let own = self.others.rank;
        file.set_words(d, lanes, &upper.map(|upper| if upper == 0 { own } else { u32::from(upper) - 1 }));
    }

    /// Which lanes' addresses lie in the block's own shared memory.
    pub(crate) fn own_shared(&self, warp: &mut Warp, at: Current, lanes: u32, [d, a]: [Slot; 2]) {
        use crate::program::window::Window;
        let mut file = self.file(warp, at);
        let addresses = *file.longs(a);
        let is_own = |lane: &usize| matches!(Window::of(addresses[*lane]), (Window::Shared, inside) if is_own(inside));
        let mask = each(lanes).filter(is_own).fold(0, |mask, lane| mask | 1 << lane);
        file.set_predicate(d, lanes, mask);
    }
}
