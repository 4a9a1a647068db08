//! Accesses of a warp that need no more than a look at their addresses: all the same, side by side, or anywhere in one
//! range of memory.
//!
//! Nothing is done by halves: an access that would fail for any lane is left alone, and `false` says so. Whoever carries it
//! out then goes lane by lane, and knows which one is to blame.

use super::pattern::{Pattern, Shape};
use super::processor::Processor;
use crate::device::direct::Direct;
use crate::exec::instruction::lane_access::Rows;
use crate::exec::instruction::load_store::{keep, keep_one, spread_all};
use crate::exec::interpreter::fast_path::Surroundings;
use crate::exec::registers::File;
use crate::lanes::{ALL, LANES, Longs};
use crate::program::operation::{Reach, Space};
use crate::program::slot::Slot;

/// An access that some lanes make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer<'i> {
    pub(crate) mask: u32,
    pub(crate) reach: &'i Reach,
    pub(crate) slots: &'i [Slot; 6],
    /// The instruction.
    pub(crate) pc: usize,
}

/// The same for each size of an element and each count of them.
macro_rules! by_shape {
    ($reach:expr, [$n:ident, $b:ident] => $body:expr) => {
        match ($reach.bytes, $reach.count) {
            (1, 1) => by_shape!(1, 1, $n, $b, $body),
            (1, 2) => by_shape!(2, 1, $n, $b, $body),
            (1, _) => by_shape!(4, 1, $n, $b, $body),
            (2, 1) => by_shape!(2, 2, $n, $b, $body),
            (2, 2) => by_shape!(4, 2, $n, $b, $body),
            (2, _) => by_shape!(8, 2, $n, $b, $body),
            (4, 1) => by_shape!(4, 4, $n, $b, $body),
            (4, 2) => by_shape!(8, 4, $n, $b, $body),
            (4, _) => by_shape!(16, 4, $n, $b, $body),
            (_, 1) => by_shape!(8, 8, $n, $b, $body),
            (_, 2) => by_shape!(16, 8, $n, $b, $body),
            (_, _) => by_shape!(32, 8, $n, $b, $body),
        }
    };
    ($size:literal, $element:literal, $n:ident, $b:ident, $body:expr) => {{
        const $n: usize = $size;
        const $b: usize = $element;
        $body
    }};
}

pub(crate) use by_shape;

/// An argument of the kernel, the same for all lanes; `false` if it has to be fetched otherwise.
#[inline(always)]
pub(crate) fn argument(file: &mut File<'_>, mask: u32, reach: Reach, slots: &[Slot; 6], arguments: &[u8]) -> bool {
    let Some(bytes) = arguments.get(slots[5].value() as usize..) else { return false };
    let value = match (reach.bytes, reach.count, reach.signed) {
        (4, 1, false) => bytes.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes))),
        (8, 1, _) => bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
        _ => None,
    };
    match value {
        Some(value) if reach.long => file.set_longs(slots[0], mask, &[value; LANES]),
        Some(value) => file.set_words(slots[0], mask, &[value as u32; LANES]),
        None => return false,
    }
    true
}

/// Memory to registers; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn load<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
    let Transfer { mask, reach: &reach, slots, pc } = access;
    by_shape!(reach, [N, B] => {
        let Some((addresses, shape)) = look::<P, N>(file, mask, reach, slots) else { return false };
        let first = mask.trailing_zeros() as usize & 31;
        let leader = addresses[first];
        let mut rows: Rows<N> = [[0; N]; LANES];
        if reach.space == Space::Shared {
            let Some(shared) = around.shared.as_deref() else { return false };
            let part = |address: u64| shared.get(address as usize..)?.first_chunk::<N>();
            match shape.pattern {
                Pattern::Uniform => {
                    let Some(row) = part(leader) else { return false };
                    keep_one::<N, B>(file, mask, reach, slots, row);
                    return true;
                }
                Pattern::Contiguous if mask == ALL => {
                    let bytes = shared.get(leader as usize..).and_then(|bytes| bytes.as_chunks().0.first_chunk());
                    let Some(bytes) = bytes else { return false };
                    rows = *bytes;
                }
                _ => {
                    for lane in 0..LANES {
                        if mask >> lane & 1 == 0 {
                            continue;
                        }
                        let Some(row) = part(addresses[lane]) else { return false };
                        rows[lane] = *row;
                    }
                }
            }
        } else {
            let Some(range) = around.ranges.range(around.memory, pc, leader) else { return false };
            match shape.pattern {
                // Each element in one go, whoever else writes it.
                Pattern::Contiguous | Pattern::Other if reach.strong => {
                    if !gather(range, mask, &addresses, &mut rows) {
                        return false;
                    }
                }
                Pattern::Uniform => {
                    let Some(row) = range.read_one::<N>(leader) else { return false };
                    keep_one::<N, B>(file, mask, reach, slots, &row);
                    return true;
                }
                Pattern::Contiguous if mask == ALL => {
                    if !range.read(leader, &mut rows) {
                        return false;
                    }
                }
                Pattern::Contiguous => {
                    if !range.read(leader, &mut rows[first..32 - mask.leading_zeros() as usize]) {
                        return false;
                    }
                }
                Pattern::Other => {
                    if !gather(range, mask, &addresses, &mut rows) {
                        return false;
                    }
                }
            }
        }
        keep::<N, B>(file, mask, reach, slots, &rows);
    });
    true
}

/// Registers to memory; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn store<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
    let Transfer { mask, reach: &reach, slots, pc } = access;
    by_shape!(reach, [N, B] => {
        let Some((addresses, shape)) = look::<P, N>(file, mask, reach, slots) else { return false };
        let first = mask.trailing_zeros() as usize & 31;
        let leader = addresses[first];
        let mut rows: Rows<N> = [[0; N]; LANES];
        if reach.space == Space::Shared {
            let Some(shared) = around.shared.as_deref_mut() else { return false };
            spread_all::<N, B>(file, reach, slots, &mut rows);
            if shape.pattern == Pattern::Contiguous && mask == ALL {
                let bytes = shared.get_mut(leader as usize..).and_then(|bytes| bytes.as_chunks_mut().0.first_chunk_mut());
                let Some(bytes) = bytes else { return false };
                *bytes = rows;
                return true;
            }
            let mut outside = 0;
            for (lane, address) in addresses.iter().enumerate() {
                let is_inside = address.saturating_add(N as u64) <= shared.len() as u64;
                outside |= u32::from(!is_inside) << lane;
            }
            if outside & mask != 0 {
                return false;
            }
            for lane in 0..LANES {
                if mask >> lane & 1 == 1 {
                    let into = shared.get_mut(addresses[lane] as usize..).and_then(|bytes| bytes.first_chunk_mut());
                    into.into_iter().for_each(|into| *into = rows[lane]);
                }
            }
            return true;
        }
        let Some(range) = around.ranges.range(around.memory, pc, leader) else { return false };
        spread_all::<N, B>(file, reach, slots, &mut rows);
        match shape.pattern {
            Pattern::Contiguous if reach.strong => scatter(range, mask, &addresses, &rows),
            Pattern::Contiguous if mask == ALL => range.write(leader, &rows),
            Pattern::Contiguous => range.write(leader, &rows[first..32 - mask.leading_zeros() as usize]),
            // Where two lanes write the same, the higher one is last.
            Pattern::Uniform => range.write_one(leader, &rows[(31 - mask.leading_zeros() as usize) & 31]),
            Pattern::Other => scatter(range, mask, &addresses, &rows),
        }
    })
}

/// The addresses, if they are aligned and all lead to one space that can be reached from here.
#[inline(always)]
fn look<P: Processor, const N: usize>(
    file: &File<'_>,
    mask: u32,
    reach: Reach,
    slots: &[Slot; 6],
) -> Option<(Longs, Shape)> {
    if !matches!(reach.space, Space::Shared | Space::Global | Space::Generic) {
        return None;
    }
    let addresses = file.addresses(slots[4], reach.wide, slots[5].value());
    let shape = P::shape(mask, &addresses, N as u64);
    let is_global = reach.space != Space::Generic || shape.bits >> 48 == 0;
    (shape.bits & (N as u64 - 1) == 0 && is_global).then_some((addresses, shape))
}

/// Reads for lanes whose addresses lie in one range, in any order.
#[inline(always)]
fn gather<const N: usize>(range: &Direct, mask: u32, addresses: &Longs, rows: &mut Rows<N>) -> bool {
    for lane in 0..LANES {
        if mask >> lane & 1 == 0 {
            continue;
        }
        match range.read_one(addresses[lane]) {
            Some(row) => rows[lane] = row,
            None => return false,
        }
    }
    true
}

/// Writes for lanes whose addresses lie in one range, in any order.
#[inline(always)]
fn scatter<const N: usize>(range: &Direct, mask: u32, addresses: &Longs, rows: &Rows<N>) -> bool {
    let mut outside = 0;
    for (lane, address) in addresses.iter().enumerate() {
        outside |= u32::from(!range.holds::<N>(*address, true)) << lane;
    }
    if outside & mask != 0 {
        return false;
    }
    for lane in 0..LANES {
        if mask >> lane & 1 == 1 {
            range.write_one(addresses[lane], &rows[lane]);
        }
    }
    true
}
