//! Loads and stores of words in shared memory, the most frequent access there.

use super::pattern::Shape;
use super::processor::Processor;
use super::transfer::{Environment, Transfer};
use crate::exec::registers::File;
use crate::lanes::ALL;
use crate::program::operation::AccessForm;
use crate::program::space::Space;

/// `true` if an access has this form; its addresses decide if it is done here.
#[inline(always)]
pub(crate) fn is_likely(form: &AccessForm) -> bool {
    form.space == Space::Shared && form.bytes == 4 && form.count == 1 && !form.wide && !form.long
}

/// A word for each lane; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn load<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let Transfer { mask, slots, .. } = access;
    let Some(shared) = around.shared.as_deref() else { return false };
    let row = P::load_words(shared, file.words(slots[4]), slots[5].value());
    row.map(|row| file.set_words(slots[0], mask, &row)).is_some()
}

/// A word of each lane, where all lie side by side; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn store<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let Transfer { mask, slots, .. } = access;
    let Some(shared) = around.shared.as_deref_mut() else { return false };
    let addresses = file.words(slots[4]);
    let first = addresses[0].wrapping_add(slots[5].value());
    let halves_meet = addresses[16] == addresses[0].wrapping_add(64);
    let are_contiguous = || addresses.as_chunks().0.iter().all(|half| P::half_shape(half) == Shape::Contiguous);
    if mask != ALL || !first.is_multiple_of(4) || !halves_meet || !are_contiguous() {
        return false;
    }
    let Some(bytes) = shared.get_mut(first as usize..).and_then(|bytes| bytes.first_chunk_mut::<128>()) else {
        return false;
    };
    let words = file.words(slots[0]);
    for (lane, four) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *four = words[lane].to_le_bytes();
    }
    true
}
