//! Addresses in the shared memory of other blocks of a cluster: `mapa`, `getctarank`, `isspacep`.
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

use super::shared_memory::is_own;
use crate::device::host::{Host, RANK_SHIFT};
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor};
use crate::lanes::{LANES, by_lane, lanes as each, map_row};
use crate::program::slot::Slot;

impl<M: Memory + Host> Executor<'_, M> {
    /// The address that another block of the cluster has for the same place in its memory.
    pub(crate) fn map_shared(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, [d, a, rank]: [Slot; 3]) {
        let mut file = self.file(warp, at);
        let ranks = map_row(file.words(rank), |rank| u64::from(rank.wrapping_add(1) as u8) << RANK_SHIFT);
        let of = |address: u64, lane: usize| address & !(0xff << RANK_SHIFT) | ranks[lane];
        if long {
            let addresses = *file.longs(a);
            file.set_longs(d, lanes, &by_lane(|lane| of(addresses[lane], lane)));
        } else {
            let addresses = *file.words(a);
            file.set_words(d, lanes, &by_lane(|lane| of(addresses[lane].into(), lane) as u32));
        }
    }

    /// The rank of the block that an address belongs to.
    pub(crate) fn shared_rank(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, [d, a]: [Slot; 2]) {
        let mut file = self.file(warp, at);
        let upper: [u8; LANES] = if long {
            map_row(file.longs(a), |address| (address >> RANK_SHIFT) as u8)
        } else {
            map_row(file.words(a), |address| (address >> RANK_SHIFT) as u8)
        };
        let own = self.others.rank;
        file.set_words(d, lanes, &map_row(&upper, |upper| if upper == 0 { own } else { u32::from(upper) - 1 }));
    }

    /// The lanes whose addresses are in the block's own shared memory.
    pub(crate) fn own_shared(&self, warp: &mut Warp, at: Current, lanes: u32, [d, a]: [Slot; 2]) {
        use crate::program::window::Window;
        let mut file = self.file(warp, at);
        let addresses = *file.longs(a);
        let is_own = |lane: &usize| matches!(Window::of(addresses[*lane]), (Window::Shared, inside) if is_own(inside));
        let mask = each(lanes).filter(is_own).fold(0, |mask, lane| mask | 1 << lane);
        file.set_predicate(d, lanes, mask);
    }
}
