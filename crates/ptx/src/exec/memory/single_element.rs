//! Loads and stores of one element for each lane of global memory, uniform or contiguous.
//!
//! Most loads and stores of most kernels have this form, so it is done without writing addresses or bytes to
//! memory on the way. Every other access is left to [`coalesced`](super::coalesced).

use super::pattern::Shape;
use super::processor::Processor;
use super::rows::{broadcast, to_registers};
use super::transfer::{Environment, Transfer};
use crate::exec::registers::File;
use crate::lanes::{ALL, LANES, Longs};
use crate::program::operation::AccessForm;
use crate::program::space::Space;
use crate::program::window;

/// `true` if an access has this form; its addresses decide if it is done here.
#[inline(always)]
pub(crate) fn is_likely(form: &AccessForm) -> bool {
    form.count == 1 && form.wide && !form.strong && matches!(form.space, Space::Global | Space::Generic)
}

/// Global memory to a register; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn load<P: Processor, const N: usize>(
    access: Transfer<'_>,
    file: &mut File<'_>,
    around: &mut Environment<'_>,
) -> bool {
    let Transfer { mask, form: &form, slots, pc } = access;
    let Some((shape, leader)) = look::<P, N>(file.longs(slots[4]), access) else { return false };
    let Some(range) = around.ranges.range(around.memory, pc, leader) else { return false };
    if shape == Shape::Uniform {
        let Some(row) = range.read_one::<N>(leader) else { return false };
        broadcast::<N, N>(file, mask, form, slots, &row);
        return true;
    }
    if mask != ALL {
        let mut rows = [[0; N]; LANES];
        let last = 32 - mask.leading_zeros() as usize;
        let is_read = range.read(leader, &mut rows[mask.trailing_zeros() as usize & 31..last]);
        if is_read {
            to_registers::<N, N>(file, mask, form, slots, &rows);
        }
        return is_read;
    }
    match (N, form.long) {
        (4, false) => range.read_words::<P>(leader).map(|row| file.set_words(slots[0], ALL, &row)),
        (8, true) => range.read_longs::<P>(leader).map(|row| file.set_longs(slots[0], ALL, &row)),
        _ => range.read_row::<P, N>(leader).map(|rows| to_registers::<N, N>(file, ALL, form, slots, &rows)),
    }
    .is_some()
}

/// A register to global memory; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn store<P: Processor, const N: usize>(
    access: Transfer<'_>,
    file: &mut File<'_>,
    around: &mut Environment<'_>,
) -> bool {
    let Transfer { mask, form: &form, slots, pc } = access;
    if mask != ALL || form.long != (N == 8) {
        return false;
    }
    let Some((Shape::Contiguous, leader)) = look::<P, N>(file.longs(slots[4]), access) else { return false };
    let Some(range) = around.ranges.range(around.memory, pc, leader) else { return false };
    match N {
        4 => range.write_words::<P>(leader, file.words(slots[0])),
        8 => range.write_longs::<P>(leader, file.longs(slots[0])),
        _ => false,
    }
}

/// The pattern of the addresses and the first of them, if that is aligned and in global memory; then all
/// others are, too.
#[inline(always)]
fn look<P: Processor, const N: usize>(from: &Longs, access: Transfer<'_>) -> Option<(Shape, u64)> {
    let Transfer { mask, form, slots, .. } = access;
    let shape = P::shape::<N>(mask, from);
    if shape == Shape::Scattered {
        return None;
    }
    let offset = i64::from(slots[5].value().cast_signed()).cast_unsigned();
    let leader = from[mask.trailing_zeros() as usize & 31].wrapping_add(offset);
    let last = leader.wrapping_add((LANES * N) as u64);
    let is_global = form.space == Space::Global || (leader | last) >> window::DEVICE_BITS == 0;
    (leader.is_multiple_of(N as u64) && is_global).then_some((shape, leader))
}
