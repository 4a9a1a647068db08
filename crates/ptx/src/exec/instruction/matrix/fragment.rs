//! `wmma.load` and `wmma.store`: fragments between memory and registers.
//!
//! PTX does not define the elements that each lane reads. Here lanes take neighbouring pieces in turn, each
//! as large as those that an H200 reads at once, so an address is misaligned here where it is misaligned
//! there.

use super::layout;
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::instruction::lane_access::LaneAccess;
use crate::exec::memory::rows::Rows;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{ALL, LANES, Longs, by_lane, map_row};
use crate::program::matrix::Fragment;
use crate::program::slot::Slot;
use crate::program::space::Space;

/// Bytes of the largest matrix.
const BYTES: usize = 1024;

impl Fragment {
    /// Bits of a register.
    fn register(self) -> usize {
        usize::from(self.bits).max(32)
    }

    /// Lines, and elements of each, as they lie in memory.
    fn stored(self) -> (usize, usize) {
        let (lines, length) = (self.lines.into(), self.length.into());
        if self.along { (lines, length) } else { (length, lines) }
    }

    /// Bytes that a lane reads or writes at once.
    fn piece(self) -> usize {
        match (self.sum, self.bits) {
            (false, 16) if self.space == Space::Shared => 16,
            (false, ..=8) if self.space == Space::Shared && self.along => 16,
            (false, 8) if !self.along => 1,
            (true, 32 | 64) if self.along => usize::from(self.bits) / 4,
            (_, ..=32) => 4,
            _ => 8,
        }
    }

    /// The indices in the matrix of the elements in a lane's register, as if the matrix had no padding
    /// between lines.
    fn places(self, lane: usize, register: usize) -> impl Iterator<Item = usize> {
        let (lines, length, bits) = (usize::from(self.lines), usize::from(self.length), usize::from(self.bits));
        let width = self.register() / bits;
        let tall = if self.tall { 16 } else { 8 };
        (0..width).map(move |index| {
            let (line, inner) = if self.sum {
                let each = tall / 4;
                let (tile, index) = ((register * width + index) / each, (register * width + index) % each);
                let (line, inner) = layout::sum(lane, index);
                if lines > tall { (line + tile * tall, inner) } else { (line, inner + tile * 8) }
            } else {
                let each = tall * length * bits / self.register() / LANES;
                let tile = register / each % (lines / tall);
                let (line, inner) = layout::factor(self.tall, lane, register % each, width);
                (line + tile * tall, inner + index)
            };
            if self.along { line * length + inner } else { inner * lines + line }
        })
    }
}

fn read(bytes: &[u8; BYTES], bits: usize, place: usize) -> u64 {
    if bits < 8 {
        return u64::from(bytes[place * bits / 8] >> (place * bits % 8)) & ((1 << bits) - 1);
    }
    bytes[place * bits / 8..][..bits / 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Elements that are stored have whole bytes.
fn write(bytes: &mut [u8; BYTES], bits: usize, place: usize, value: u64) {
    let size = bits / 8;
    bytes[place * size..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

impl<Memo: Memory + Host> Executor<'_, Memo> {
    pub(crate) fn fragment(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        fragment: Fragment,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        if lanes != ALL {
            let kind = TrapKind::Deadlock("a fragment needs all lanes of the warp at once");
            return Err(stop(warp, at, lanes, kind));
        }
        let count = usize::from(fragment.registers);
        let code = std::sync::Arc::clone(&self.context.program.code);
        let list = &code.lists[slots[0].value() as usize..][..count];
        let bits = usize::from(fragment.bits);
        let width = fragment.register() / bits;
        let mut bytes = [0; BYTES];
        if fragment.store {
            let file = self.file(warp, at);
            for (register, slot) in list.iter().enumerate() {
                let row = if bits == 64 { *file.longs(*slot) } else { map_row(file.words(*slot), u64::from) };
                for (lane, value) in row.into_iter().enumerate() {
                    for (index, place) in fragment.places(lane, register).enumerate() {
                        write(&mut bytes, bits, place, value >> (index * bits % 64));
                    }
                }
            }
            return self.pieces(warp, at, fragment, slots, &mut bytes);
        }
        self.pieces(warp, at, fragment, slots, &mut bytes)?;
        let mut file = self.file(warp, at);
        for (register, slot) in list.iter().enumerate() {
            let row: Longs = by_lane(|lane| {
                let parts = fragment.places(lane, register).enumerate();
                parts.fold(0, |row, (index, place)| row | read(&bytes, bits, place) << (index * bits))
            });
            if width == 1 && bits == 64 {
                file.set_longs(*slot, lanes, &row);
            } else {
                file.set_words(*slot, lanes, &map_row(&row, |value| value as u32));
            }
        }
        Ok(())
    }

    fn pieces(
        &mut self,
        warp: &mut Warp,
        at: Current,
        fragment: Fragment,
        slots: &[Slot; 6],
        bytes: &mut [u8; BYTES],
    ) -> Result<(), Stop> {
        match fragment.piece() {
            1 => self.pieces_of::<1>(warp, at, fragment, slots, bytes),
            4 => self.pieces_of::<4>(warp, at, fragment, slots, bytes),
            8 => self.pieces_of::<8>(warp, at, fragment, slots, bytes),
            _ => self.pieces_of::<16>(warp, at, fragment, slots, bytes),
        }
    }

    /// Accesses the whole matrix, `N` bytes for a lane at a time; in `bytes` its lines are close together.
    fn pieces_of<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        fragment: Fragment,
        &[_, address, offset, stride, ..]: &[Slot; 6],
        bytes: &mut [u8; BYTES],
    ) -> Result<(), Stop> {
        let file = self.file(warp, at);
        let starts = file.addresses(address, fragment.wide, offset.value());
        let strides = *file.words(stride);
        let (lines, length) = fragment.stored();
        let line_bytes = length * usize::from(fragment.bits) / 8;
        let each = line_bytes / N;
        for first in (0..lines * each).step_by(LANES) {
            let count = (lines * each - first).min(LANES);
            let lanes = ALL >> (LANES - count);
            let addresses: Longs = by_lane(|lane| {
                let (line, piece) = ((first + lane) / each, (first + lane) % each);
                let apart = u64::from(strides[lane]) * u64::from(fragment.bits) * line as u64 / 8;
                starts[lane].wrapping_add(apart).wrapping_add((piece * N) as u64)
            });
            let access = LaneAccess { at, lanes, space: fragment.space, addresses: &addresses, strong: false };
            let part = &mut bytes[first * N..][..count * N];
            let mut rows: Rows<N> = [[0; N]; LANES];
            if fragment.store {
                rows.as_flattened_mut()[..part.len()].copy_from_slice(part);
                self.send(warp, access, &rows)?;
                continue;
            }
            if self.fetch(warp, access, &mut rows)? {
                rows = [rows[0]; LANES];
            }
            part.copy_from_slice(&rows.as_flattened()[..part.len()]);
        }
        Ok(())
    }
}
