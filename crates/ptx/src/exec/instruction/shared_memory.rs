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

use crate::device::access::Access;
use crate::device::bounds::Bounds;
use crate::device::host::{Host, RANK_SHIFT, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::lanes as each;

const INSIDE: u64 = (1 << RANK_SHIFT) - 1;

/// `true` if an address is one of the block's own.
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
        let rank = if is_own(address) {
            self.others.rank
        } else {
            u32::try_from(address >> RANK_SHIFT).unwrap_or(u32::MAX) - 1
        };
        if rank != self.others.rank && (rank >= self.others.count || self.others.ended >> rank & 1 == 1) {
            let kind = TrapKind::Cluster { rank, count: self.others.count };
            return Err(stop(warp, at, lanes, kind));
        }
        let start = (address & INSIDE) as usize;
        let range = start..start + length;
        if range.end > self.unreported_shared() {
            self.check_shared(warp, at, lanes, start as u64, length)?;
        }
        let (size, others) = (self.shared.len(), &mut self.others);
        let memory: &mut [u8] = match rank.cmp(&others.rank) {
            std::cmp::Ordering::Less => &mut others.before[rank as usize * size..],
            std::cmp::Ordering::Equal => self.shared,
            std::cmp::Ordering::Greater => &mut others.after[(rank - others.rank - 1) as usize * size..],
        };
        Ok(&mut memory[range])
    }

    /// The bytes of a block's shared memory that can be accessed without a report.
    pub(crate) fn unreported_shared(&self) -> usize {
        match self.context.bounds {
            Bounds::Declared | Bounds::Hardware => self.shared.len(),
            Bounds::Reported => self.context.shared_bytes() as usize,
        }
    }

    /// Looks at an access beyond the declared size: a trap beyond the block's memory, otherwise a report.
    #[cold]
    fn check_shared(&self, warp: &Warp, at: Current, lanes: u32, offset: u64, length: usize) -> Result<(), Stop> {
        let declared = u64::from(self.context.shared_bytes());
        let share = length as u64 / u64::from(lanes.count_ones().max(1));
        let inside = declared.saturating_sub(offset) / share.max(1);
        let lane = each(lanes).nth(inside as usize).unwrap_or(0);
        let kind = TrapKind::Shared { address: offset.saturating_add(inside * share), size: declared };
        if offset.saturating_add(length as u64) > self.shared.len() as u64 {
            return Err(stop(warp, at, 1 << lane, kind));
        }
        self.context.memory.overrun(&self.access(warp, at, lanes & u32::MAX << lane, false), &kind);
        Ok(())
    }

    /// Tells the host of an access to shared memory; the bytes of lanes are `apart` from each other. Lanes
    /// beyond the declared size are left out: they have been reported.
    pub(crate) fn watch_shared(&self, access: &Access, start: u64, apart: usize, touch: Touch) {
        let (declared, offset) = (self.unreported_shared() as u64, start & INSIDE);
        let (Touch::Read(bytes) | Touch::Write { bytes, .. } | Touch::Update(bytes)) = touch;
        let last = u64::from(access.lanes.count_ones().saturating_sub(1)) * apart as u64;
        let mut access = *access;
        if offset + last + u64::from(bytes) > declared {
            let lanes = each(access.lanes).zip(0..);
            let inside = lanes.filter(|(_, index)| offset + index * apart as u64 + u64::from(bytes) <= declared);
            access.lanes = inside.fold(0, |lanes, (lane, _)| lanes | 1 << lane);
        }
        if access.lanes != 0 {
            self.context.memory.shared(&access, [start as u32, apart as u32], touch);
        }
    }
}
