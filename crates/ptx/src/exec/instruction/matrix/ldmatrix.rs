//! `ldmatrix`, `stmatrix` and `movmatrix`: matrices of 8 rows of 16 bytes.

use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::instruction::lane_access::LaneAccess;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, Words, by_lane};
use crate::program::matrix::Transfer;
use crate::program::slot::Slot;
use crate::program::space::Space;

impl<Memo: Memory + Host> Executor<'_, Memo> {
    /// `movmatrix`: lane `l` holds two halves of row `l / 4`, and gets those of column `l / 4`.
    pub(crate) fn transpose(&self, warp: &mut Warp, at: Current, lanes: u32, [d, a]: [Slot; 2]) {
        let mut file = self.file(warp, at);
        let from = *file.words(a);
        let row = by_lane(|lane| {
            let half = |index: usize| {
                let (row, column) = (lane % 4 * 2 + index, lane / 4);
                from[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff
            };
            half(1) << 16 | half(0)
        });
        file.set_words(d, lanes, &row);
    }

    /// `ldmatrix`, `stmatrix`: lanes 0–7 have the rows of the first matrix, 8–15 those of the second, and so
    /// on.
    pub(crate) fn transfer(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        transfer: Transfer,
        [list, address, offset]: [Slot; 3],
    ) -> Result<(), Stop> {
        if lanes != u32::MAX {
            let kind = TrapKind::Deadlock("a matrix needs all lanes of the warp at once");
            return Err(stop(warp, at, lanes, kind));
        }
        let count = usize::from(transfer.count);
        let code = std::sync::Arc::clone(&self.context.program.code);
        let slots = &code.lists[list.value() as usize..][..count];
        let addresses = self.file(warp, at).addresses(address, transfer.wide, offset.value());
        let space = if transfer.generic { Space::Generic } else { Space::Shared };
        let rows_of = (1u64 << (8 * count)).wrapping_sub(1) as u32;
        let access = LaneAccess { at, lanes: rows_of, space, addresses: &addresses, strong: false };
        // Where the half `index` of a lane lies in its matrix.
        let place = |lane: usize, index: usize| {
            let (row, column) = (lane / 4, lane % 4 * 2 + index);
            if transfer.transposed { (column, row) } else { (row, column) }
        };
        if transfer.store {
            let mut rows = [[0u8; 16]; LANES];
            let file = self.file(warp, at);
            for (matrix, slot) in slots.iter().enumerate() {
                for (lane, word) in file.words(*slot).iter().enumerate() {
                    for index in 0..2 {
                        let (row, column) = place(lane, index);
                        let half = ((word >> (16 * index)) as u16).to_le_bytes();
                        rows[matrix * 8 + row][column * 2..column * 2 + 2].copy_from_slice(&half);
                    }
                }
            }
            return self.send(warp, access, &rows);
        }
        let mut rows = [[0; 16]; LANES];
        if self.fetch(warp, access, &mut rows)? {
            rows = [rows[0]; LANES];
        }
        let mut file = self.file(warp, at);
        for (matrix, slot) in slots.iter().enumerate() {
            let words: Words = by_lane(|lane| {
                let half = |index| {
                    let (row, column) = place(lane, index);
                    let bytes = &rows[matrix * 8 + row][column * 2..column * 2 + 2];
                    u32::from(u16::from_le_bytes([bytes[0], bytes[1]]))
                };
                half(1) << 16 | half(0)
            });
            file.set_words(*slot, lanes, &words);
        }
        Ok(())
    }
}
