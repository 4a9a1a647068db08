//! Rows of bytes, `N` for each lane, on their way between registers and memory.

use crate::exec::registers::File;
use crate::lanes::{LANES, by_lane};
use crate::program::operation::AccessForm;
use crate::program::slot::Slot;

/// The bytes of every lane: `N` each.
pub(crate) type Rows<const N: usize> = [[u8; N]; LANES];

/// The same for each size of an element and each count of them.
macro_rules! by_size_and_count {
    ($form:expr, [$n:ident, $b:ident] => $body:expr) => {
        match ($form.bytes, $form.count) {
            (1, 1) => by_size_and_count!(1, 1, $n, $b, $body),
            (1, 2) => by_size_and_count!(2, 1, $n, $b, $body),
            (1, _) => by_size_and_count!(4, 1, $n, $b, $body),
            (2, 1) => by_size_and_count!(2, 2, $n, $b, $body),
            (2, 2) => by_size_and_count!(4, 2, $n, $b, $body),
            (2, _) => by_size_and_count!(8, 2, $n, $b, $body),
            (4, 1) => by_size_and_count!(4, 4, $n, $b, $body),
            (4, 2) => by_size_and_count!(8, 4, $n, $b, $body),
            (4, _) => by_size_and_count!(16, 4, $n, $b, $body),
            (_, 1) => by_size_and_count!(8, 8, $n, $b, $body),
            (_, 2) => by_size_and_count!(16, 8, $n, $b, $body),
            (_, _) => by_size_and_count!(32, 8, $n, $b, $body),
        }
    };
    ($size:literal, $element:literal, $n:ident, $b:ident, $body:expr) => {{
        const $n: usize = $size;
        const $b: usize = $element;
        $body
    }};
}

pub(crate) use by_size_and_count;

/// Puts the bytes of each lane into registers.
#[inline(always)]
pub(crate) fn to_registers<const N: usize, const B: usize>(
    file: &mut File<'_>,
    lanes: u32,
    form: AccessForm,
    slots: &[Slot; 6],
    rows: &Rows<N>,
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        match (form.long, form.signed) {
            (false, false) => file.set_words(*slot, lanes, &each(rows, |row| value::<N, B>(row, start) as u32)),
            (true, false) => file.set_longs(*slot, lanes, &each(rows, |row| value::<N, B>(row, start))),
            (false, true) => file.set_words(*slot, lanes, &each(rows, |row| signed::<N, B>(row, start) as u32)),
            (true, true) => file.set_longs(*slot, lanes, &each(rows, |row| signed::<N, B>(row, start))),
        }
    }
}

/// Puts bytes that all lanes have read into registers.
#[inline(always)]
pub(crate) fn broadcast<const N: usize, const B: usize>(
    file: &mut File<'_>,
    lanes: u32,
    form: AccessForm,
    slots: &[Slot; 6],
    row: &[u8; N],
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        let value = if form.signed { signed::<N, B>(row, start) } else { value::<N, B>(row, start) };
        if form.long {
            file.set_longs(*slot, lanes, &[value; LANES]);
        } else {
            file.set_words(*slot, lanes, &[value as u32; LANES]);
        }
    }
}

/// Takes the bytes of each lane from registers.
#[inline(always)]
pub(crate) fn from_registers<const N: usize, const B: usize>(
    file: &File<'_>,
    form: AccessForm,
    slots: &[Slot; 6],
    rows: &mut Rows<N>,
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        if form.long {
            let values = file.longs(*slot);
            put::<N, B>(rows, start, |lane| values[lane]);
        } else {
            let values = file.words(*slot);
            put::<N, B>(rows, start, |lane| values[lane].into());
        }
    }
}

#[inline(always)]
fn each<const N: usize, T: Copy + Default>(rows: &Rows<N>, value: impl Fn(&[u8; N]) -> T) -> [T; LANES] {
    by_lane(|lane| value(&rows[lane]))
}

/// `B` bytes of each value, `start` bytes into the row; an element that does not fit is not there.
#[inline(always)]
fn put<const N: usize, const B: usize>(rows: &mut Rows<N>, start: usize, value: impl Fn(usize) -> u64) {
    if start + B > N {
        return;
    }
    for (lane, row) in rows.iter_mut().enumerate() {
        let bytes = value(lane).to_le_bytes();
        if let (Some(into), Some(from)) = (row[start..].first_chunk_mut::<B>(), bytes.first_chunk::<B>()) {
            *into = *from;
        }
    }
}

#[inline(always)]
fn value<const N: usize, const B: usize>(row: &[u8; N], start: usize) -> u64 {
    let mut all = [0; 8];
    if let (Some(into), Some(from)) = (all.first_chunk_mut::<B>(), row.get(start..).and_then(<[u8]>::first_chunk::<B>))
    {
        *into = *from;
    }
    u64::from_le_bytes(all)
}

#[inline(always)]
fn signed<const N: usize, const B: usize>(row: &[u8; N], start: usize) -> u64 {
    let unused = 64 - 8 * B as u32;
    (value::<N, B>(row, start).cast_signed() << unused >> unused).cast_unsigned()
}
