//! Traffic to global memory: bytes, and the sectors of 32 bytes that loads and stores of warps touch.

use crate::exec::registers::File;
use crate::lanes::{LANES, Longs};
use crate::program::operation::AccessForm;
use crate::program::slot::Slot;
use crate::program::space::Space;
use crate::program::window;

/// Bytes that global memory hands out at once.
const SECTOR: u64 = 32;

/// Global memory that the threads of a block accessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes that were loaded and stored.
    pub(crate) bytes: u64,
    /// `true` if sectors are counted.
    pub(crate) counts_sectors: bool,
    /// Loads and stores of warps.
    pub(crate) requests: u64,
    /// Sectors that they touched.
    pub(crate) sectors: u64,
    /// Sectors that the same bytes would take side by side.
    pub(crate) needed_sectors: u64,
}

impl Traffic {
    /// Counts a load or a store of some lanes that has not been carried out yet: a load may overwrite its own
    /// addresses.
    #[cold]
    pub(crate) fn count(&mut self, file: &File<'_>, mask: u32, form: &AccessForm, slots: &[Slot; 6]) {
        if !matches!(form.space, Space::Global | Space::Generic) {
            return;
        }
        let addresses = file.addresses(slots[4], form.wide, slots[5].value());
        self.add(mask, &addresses, u64::from(form.bytes) * u64::from(form.count));
    }

    /// Counts the accesses of `size` bytes each that lead to global memory.
    fn add(&mut self, mask: u32, addresses: &Longs, size: u64) {
        let (mut sorted, mut lanes) = ([0; LANES], 0);
        for (lane, address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 && address >> window::DEVICE_BITS == 0 {
                sorted[lanes] = *address;
                lanes += 1;
            }
        }
        let sorted = &mut sorted[..lanes];
        sorted.sort_unstable();
        // Behind the last sector and the last byte that were counted.
        let (mut next, mut end, mut bytes) = (0, 0, 0);
        for address in sorted.iter().copied() {
            let behind = address + size;
            bytes += behind.saturating_sub(address.max(end));
            let sectors = (address / SECTOR).max(next)..behind.div_ceil(SECTOR);
            self.sectors += sectors.end.saturating_sub(sectors.start);
            (next, end) = (next.max(sectors.end), end.max(behind));
        }
        self.requests += u64::from(lanes > 0);
        self.needed_sectors += bytes.div_ceil(SECTOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::ALL;

    /// Requests, sectors, and sectors needed of one access.
    fn counted(mask: u32, size: u64, address: fn(u64) -> u64) -> [u64; 3] {
        let mut traffic = Traffic::default();
        traffic.add(mask, &std::array::from_fn(|lane| address(lane as u64)), size);
        [traffic.requests, traffic.sectors, traffic.needed_sectors]
    }

    #[test]
    fn contiguous_lanes_share_sectors() {
        assert_eq!(counted(ALL, 4, |lane| 256 + 4 * lane), [1, 4, 4]);
        assert_eq!(counted(ALL, 16, |lane| 256 + 16 * lane), [1, 16, 16]);
        assert_eq!(counted(ALL, 4, |lane| 4 * (31 - lane)), [1, 4, 4]);
    }

    #[test]
    fn a_row_that_starts_inside_a_sector_takes_one_more() {
        assert_eq!(counted(ALL, 4, |lane| 260 + 4 * lane), [1, 5, 4]);
    }

    #[test]
    fn a_stride_takes_a_sector_for_each_lane() {
        assert_eq!(counted(ALL, 4, |lane| 128 * lane), [1, 32, 4]);
        assert_eq!(counted(0xff, 4, |lane| 128 * lane), [1, 8, 1]);
    }

    #[test]
    fn one_address_for_all_lanes_is_one_sector() {
        assert_eq!(counted(ALL, 8, |_| 4096), [1, 1, 1]);
    }

    #[test]
    fn generic_addresses_of_other_memories_are_no_requests() {
        assert_eq!(counted(ALL, 4, |lane| window::Window::Shared.start() + 4 * lane), [0, 0, 0]);
    }
}
