//! Words of shared memory, without a detour: what most kernels do most of the time.

use super::coalesced::Transfer;
use super::processor::Processor;
use crate::exec::interpreter::fast_path::Surroundings;
use crate::exec::registers::File;
use crate::lanes::{ALL, LANES, Words};
use crate::program::operation::{Reach, Space};

/// Whether an access is one of these, unless its addresses are odd.
#[inline(always)]
pub(crate) fn is_likely(reach: &Reach) -> bool {
    reach.space == Space::Shared && reach.bytes == 4 && reach.count == 1 && !reach.wide && !reach.long
}

/// A word for each lane; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn load<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
    let Transfer { mask, slots, .. } = access;
    let Some(shared) = around.shared.as_deref() else { return false };
    let row = P::load_words(shared, file.words(slots[4]), slots[5].value());
    row.map(|row| file.set_words(slots[0], mask, &row)).is_some()
}

/// A word of each lane, where all lie side by side; `false` if it has to be done otherwise.
#[inline(always)]
pub(crate) fn store<P: Processor>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
    let Transfer { mask, slots, .. } = access;
    let Some(shared) = around.shared.as_deref_mut() else { return false };
    let addresses = file.words(slots[4]);
    // Zero where all agree.
    let mut apart = 0;
    for lane in 0..LANES {
        apart |= addresses[lane] ^ addresses[0].wrapping_add(4 * lane as u32);
    }
    let first = addresses[0].wrapping_add(slots[5].value());
    if mask != ALL || apart != 0 || !first.is_multiple_of(4) {
        return false;
    }
    let Some(bytes) = shared.get_mut(first as usize..).and_then(|bytes| bytes.first_chunk_mut::<128>()) else {
        return false;
    };
    for (four, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(file.words(slots[0])) {
        *four = word.to_le_bytes();
    }
    true
}

/// Reads a word for each lane; `None` where any lane's address is misaligned or outside, whoever it may be.
#[inline(always)]
pub(crate) fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
    let mut row = [0; LANES];
    let mut bits = 0;
    for (into, from) in row.as_chunks_mut::<16>().0.iter_mut().zip(addresses.as_chunks::<16>().0) {
        let first = from[0].wrapping_add(offset);
        let start = first as usize;
        // Zero where all agree.
        let (mut same, mut next) = (0, 0);
        for (lane, address) in from.iter().enumerate() {
            let address = address.wrapping_add(offset);
            bits |= address;
            same |= address ^ first;
            next |= address ^ first.wrapping_add(4 * lane as u32);
        }
        if same == 0 {
            *into = [word(shared, start)?; 16];
        } else if next == 0 {
            let bytes: &[u8; 64] = shared.get(start..start.checked_add(64)?)?.try_into().ok()?;
            for (word, four) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*four);
            }
        } else {
            for (into, address) in into.iter_mut().zip(from) {
                *into = word(shared, address.wrapping_add(offset) as usize)?;
            }
        }
    }
    (bits & 3 == 0).then_some(row)
}

#[inline(always)]
fn word(shared: &[u8], start: usize) -> Option<u32> {
    let four: &[u8; 4] = shared.get(start..start.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_from_wherever_lanes_point() {
        let shared: Vec<u8> = (0..=255).collect();
        let at = |address: u32| u32::from_le_bytes(std::array::from_fn(|byte| address as u8 + byte as u8));
        for pattern in
            [|_| 8, |lane| 4 * lane, |lane| 4 * (lane % 16) + 8, |lane| 4 * (lane * 7 % 32), |lane| lane / 16 * 4]
        {
            let addresses: Words = std::array::from_fn(|lane| pattern(lane as u32));
            assert_eq!(load_words(&shared, &addresses, 4), Some(addresses.map(|address| at(address + 4))));
        }
    }

    #[test]
    fn what_is_outside_or_misaligned_is_left_to_others() {
        let shared = [0; 128];
        assert_eq!(load_words(&shared, &std::array::from_fn(|lane| 4 * lane as u32), 4), None);
        assert_eq!(load_words(&shared, &[2; LANES], 0), None);
        assert_eq!(load_words(&shared, &[0; LANES], u32::MAX - 3), None);
        assert_eq!(load_words(&[], &[0; LANES], 0), None);
    }
}
