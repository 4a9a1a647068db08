//! Shared memory of a block, and of the other blocks of its cluster.
//!
//! A cluster runs as one: its blocks' warps take turns, and their shared memory lies side by side. An address
//! of shared memory says in its upper byte whose it is:
//!
//! ```text
//!   0x00_offset          the block's own
//!   0xRR_offset, RR > 0  that of the block of rank RR - 1, as `mapa` makes it
//! ```
//!
//! On hardware a block's own addresses name its rank, too; programs that compare addresses of different
//! blocks can tell.

use std::ops::Range;

use crate::device::access::Access;
use crate::device::host::{Host, RANK_SHIFT, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::lanes as each;

const INSIDE: u64 = (1 << RANK_SHIFT) - 1;

/// True if an address is one of the block's own.
pub(crate) fn is_own(address: u64) -> bool {
    address <= INSIDE
}

impl<M: Memory + Host> Executor<'_, M> {
    /// Bytes of shared memory, of the block itself or of another one of the cluster.
    #[inline]
    pub(crate) fn shared_bytes(
        &mut self,
        warp: &Warp,
        at: Current,
        lanes: u32,
        address: u64,
        length: usize,
    ) -> Result<&mut [u8], Stop> {
        if is_own(address) {
            let range = range_of(warp, at, lanes, address, length, self.shared.len())?;
            return Ok(&mut self.shared[range]);
        }
        let (size, others) = (self.shared.len(), &mut self.others);
        let rank = u32::try_from(address >> RANK_SHIFT).unwrap_or(u32::MAX) - 1;
        if rank >= others.count || others.ended >> rank & 1 == 1 {
            let kind = TrapKind::Cluster { rank, count: others.count };
            return Err(stop(warp, at, lanes, kind));
        }
        let memory: &mut [u8] = match rank.cmp(&others.rank) {
            std::cmp::Ordering::Less => &mut others.before[rank as usize * size..],
            std::cmp::Ordering::Equal => self.shared,
            std::cmp::Ordering::Greater => &mut others.after[(rank - others.rank - 1) as usize * size..],
        };
        let range = range_of(warp, at, lanes, address & INSIDE, length, size)?;
        Ok(&mut memory[range])
    }

    /// Tells the host of an access to shared memory; the bytes of lanes are `apart` from each other.
    pub(crate) fn watch_shared(&self, access: &Access, start: u64, apart: usize, touch: Touch) {
        self.context.memory.shared(access, [start as u32, apart as u32], touch);
    }
}

/// The range of a block's `size` bytes that lanes access, each its share of `length`; or the trap of the
/// first lane whose share is out of bounds.
#[inline]
fn range_of(
    warp: &Warp,
    at: Current,
    lanes: u32,
    address: u64,
    length: usize,
    size: usize,
) -> Result<Range<usize>, Stop> {
    let start = usize::try_from(address).unwrap_or(usize::MAX);
    let end = start.saturating_add(length);
    if end <= size {
        return Ok(start..end);
    }
    let share = length / lanes.count_ones().max(1) as usize;
    let inside = size.saturating_sub(start) / share.max(1);
    let lane = each(lanes).nth(inside).unwrap_or(0);
    let kind = TrapKind::Shared { address: address.saturating_add((inside * share) as u64), size: size as u64 };
    Err(stop(warp, at, 1 << lane, kind))
}
