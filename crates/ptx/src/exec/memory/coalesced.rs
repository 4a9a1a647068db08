//! Loads and stores of any size and count, in shared memory or in one range of global memory.

use super::pattern::{AccessPattern, Shape};
use super::processor::Processor;
use super::rows::{Rows, broadcast, by_size_and_count, from_registers, to_registers};
use super::transfer::{Environment, Transfer};
use crate::device::direct::Direct;
use crate::exec::registers::File;
use crate::lanes::{ALL, LANES, Longs};
use crate::program::operation::AccessForm;
use crate::program::slot::Slot;
use crate::program::space::Space;

/// An argument of the kernel, the same for all lanes; `false` if it has to be fetched otherwise.
#[inline(always)]
pub(crate) fn argument(file: &mut File<'_>, mask: u32, form: AccessForm, slots: &[Slot; 6], arguments: &[u8]) -> bool {
    let Some(bytes) = arguments.get(slots[5].value() as usize..) else { return false };
    let value = match (form.bytes, form.count, form.signed) {
        (4, 1, false) => bytes.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes))),
        (8, 1, _) => bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
        _ => None,
    };
    match value {
        Some(value) if form.long => file.set_longs(slots[0], mask, &[value; LANES]),
        Some(value) => file.set_words(slots[0], mask, &[value as u32; LANES]),
        None => return false,
    }
    true
}

/// Memory to registers; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn load<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let Transfer { mask, form: &form, slots, pc } = access;
    by_size_and_count!(form, [N, B] => {
        let Some((addresses, pattern)) = look::<P, N>(file, mask, form, slots) else { return false };
        let first = mask.trailing_zeros() as usize & 31;
        let leader = addresses[first];
        let mut rows: Rows<N> = [[0; N]; LANES];
        if form.space == Space::Shared {
            let Some(shared) = around.shared.as_deref() else { return false };
            let part = |address: u64| shared.get(address as usize..)?.first_chunk::<N>();
            match pattern.shape {
                Shape::Uniform => {
                    let Some(row) = part(leader) else { return false };
                    broadcast::<N, B>(file, mask, form, slots, row);
                    return true;
                }
                Shape::Contiguous if mask == ALL => {
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
            match pattern.shape {
                // Each element in one access, as other threads may write it.
                Shape::Contiguous | Shape::Scattered if form.strong => {
                    if !gather(range, mask, &addresses, &mut rows) {
                        return false;
                    }
                }
                Shape::Uniform => {
                    let Some(row) = range.read_one::<N>(leader) else { return false };
                    broadcast::<N, B>(file, mask, form, slots, &row);
                    return true;
                }
                Shape::Contiguous if mask == ALL => {
                    if !range.read(leader, &mut rows) {
                        return false;
                    }
                }
                Shape::Contiguous => {
                    if !range.read(leader, &mut rows[first..32 - mask.leading_zeros() as usize]) {
                        return false;
                    }
                }
                Shape::Scattered => {
                    if !gather(range, mask, &addresses, &mut rows) {
                        return false;
                    }
                }
            }
        }
        to_registers::<N, B>(file, mask, form, slots, &rows);
    });
    true
}

/// Registers to memory; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn store<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let Transfer { mask, form: &form, slots, pc } = access;
    by_size_and_count!(form, [N, B] => {
        let Some((addresses, pattern)) = look::<P, N>(file, mask, form, slots) else { return false };
        let first = mask.trailing_zeros() as usize & 31;
        let leader = addresses[first];
        let mut rows: Rows<N> = [[0; N]; LANES];
        if form.space == Space::Shared {
            let Some(shared) = around.shared.as_deref_mut() else { return false };
            from_registers::<N, B>(file, form, slots, &mut rows);
            if pattern.shape == Shape::Contiguous && mask == ALL {
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
        from_registers::<N, B>(file, form, slots, &mut rows);
        match pattern.shape {
            Shape::Contiguous if form.strong => scatter(range, mask, &addresses, &rows),
            Shape::Contiguous if mask == ALL => range.write(leader, &rows),
            Shape::Contiguous => range.write(leader, &rows[first..32 - mask.leading_zeros() as usize]),
            // Where two lanes write the same, the higher one is last.
            Shape::Uniform => range.write_one(leader, &rows[(31 - mask.leading_zeros() as usize) & 31]),
            Shape::Scattered => scatter(range, mask, &addresses, &rows),
        }
    })
}

/// The addresses, if they are aligned and all lead to one space that can be reached from here.
#[inline(always)]
fn look<P: Processor, const N: usize>(
    file: &File<'_>,
    mask: u32,
    form: AccessForm,
    slots: &[Slot; 6],
) -> Option<(Longs, AccessPattern)> {
    if !matches!(form.space, Space::Shared | Space::Global | Space::Generic) {
        return None;
    }
    let addresses = file.addresses(slots[4], form.wide, slots[5].value());
    let pattern = P::pattern(mask, &addresses, N as u64);
    let is_global = form.space != Space::Generic || pattern.is_global();
    (pattern.is_aligned(N as u64) && is_global).then_some((addresses, pattern))
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
