//! Bits of a register: fields, counts, permutations, shifts over two registers, tables of three inputs.

/// The part of a start and a length that counts: the lowest byte for 32 bits, all of it for 64.
#[inline]
fn counted(width: u32, count: u32) -> u32 {
    if width == 32 { count & 0xff } else { count.min(0xff) }
}

/// `bfe.u32`, `bfe.u64`: `length` bits from `start`, as if zeros lay above the top.
#[inline]
pub(crate) fn field(width: u32, value: u64, start: u32, length: u32) -> u64 {
    let (start, length) = (counted(width, start), counted(width, length));
    let shifted = if start > 63 { 0 } else { value >> start };
    if length > 63 { shifted } else { shifted & ((1 << length) - 1) }
}

/// `bfe.s32`, `bfe.s64`: the same, extended by the field's highest bit, or by the value's sign where the
/// field leaves it.
#[inline]
pub(crate) fn signed_field(width: u32, value: i64, start: u32, length: u32) -> i64 {
    let (start, length) = (counted(width, start), counted(width, length));
    if length == 0 {
        return 0;
    }
    let top = (start + length - 1).min(width - 1);
    let sign = value >> top & 1;
    let bits = field(width, value.cast_unsigned() & mask(width), start, length).cast_signed();
    let filled = (top + 1).saturating_sub(start).min(length);
    if sign == 0 || filled > 63 { bits } else { bits | (-1i64 << filled) }
}

fn mask(width: u32) -> u64 {
    if width > 63 { u64::MAX } else { (1 << width) - 1 }
}

/// `bfi`: `base` with the lower `length` bits of `value` put in at `start`.
#[inline]
pub(crate) fn insert(width: u32, value: u64, base: u64, start: u32, length: u32) -> u64 {
    let (start, length) = (counted(width, start), counted(width, length));
    if start >= width {
        return base;
    }
    let place = mask(length.min(width)) << start & mask(width);
    (base & !place) | (value << start & place)
}

/// `bfind`: the highest bit that is not the sign, or all ones where there is none; `distance` counts from the
/// top.
#[inline]
pub(crate) fn find(width: u32, value: u64, signed: bool, distance: bool) -> u32 {
    let negative = signed && value >> (width - 1) & 1 == 1;
    let value = if negative { !value & mask(width) } else { value };
    if value == 0 {
        return u32::MAX;
    }
    let place = 63 - value.leading_zeros();
    if distance { width - 1 - place } else { place }
}

/// `fns`: where the `count`-th set bit from `base` lies, upwards for a positive count; all ones where there
/// is none, but zero for the count that has no opposite.
pub(crate) fn nth_set(value: u32, base: u32, count: i32) -> u32 {
    if count == i32::MIN {
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let set = |place: &u32| value >> place & 1 == 1;
    let nth = count.unsigned_abs().saturating_sub(1) as usize;
    let found = match count {
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(nth),
        _ => (0..=base).rev().filter(set).nth(nth),
    };
    found.unwrap_or(u32::MAX)
}

/// `bmsk`: `length` ones from `start`; counts beyond 32 are clamped, or wrap to 0 … 31.
#[inline]
pub(crate) fn ones(start: u32, length: u32, wrap: bool) -> u32 {
    let limit = |count: u32| if wrap { count & 31 } else { count.min(32) };
    let (start, length) = (limit(start), limit(length));
    (mask(length) << start) as u32
}

/// `szext`: the lower `length` bits of `value`, extended by zeros or by their highest.
pub(crate) fn extend(signed: bool, wrap: bool, value: u32, length: u32) -> u32 {
    let length = if wrap { length & 31 } else { length.min(32) };
    if signed {
        signed_field(32, value.cast_signed().into(), 0, length) as u32
    } else {
        field(32, value.into(), 0, length) as u32
    }
}

/// The byte selection mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permutation {
    /// A nibble of the selector for each byte; its highest bit replicates the sign.
    Any,
    /// Four bytes upwards from one.
    Forward,
    /// Four bytes downwards from one.
    Backward,
    /// One byte, four times.
    Replicate,
    /// Never below the selected one.
    ClampLeft,
    /// Never above the selected one.
    ClampRight,
    /// One half, twice.
    Halves,
}

/// `prmt`: four bytes picked from the eight of `b:a`.
#[inline]
pub(crate) fn permute(kind: Permutation, a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let low = selector & 3;
    let pick = |index: u32| match kind {
        Permutation::Any => selector >> (index * 4) & 15,
        Permutation::Forward => (low + index) & 7,
        Permutation::Backward => low.wrapping_sub(index) & 7,
        Permutation::Replicate => low,
        Permutation::ClampLeft => index.max(low),
        Permutation::ClampRight => index.min(low),
        Permutation::Halves => (selector & 1) * 2 + (index & 1),
    };
    (0..4).fold(0, |result, index| {
        let choice = pick(index);
        let byte = (bytes >> ((choice & 7) * 8)) as u8;
        let byte = if choice & 8 == 0 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() };
        result | u32::from(byte) << (index * 8)
    })
}

/// `shf`: 32 bits out of `b:a`, shifted left (the upper half is taken) or right (the lower half).
#[inline(always)]
pub(crate) fn funnel(left: bool, wrap: bool, a: u32, b: u32, count: u32) -> u32 {
    let count = if wrap { count & 31 } else { count.min(32) };
    let both = u64::from(b) << 32 | u64::from(a);
    if left { (both << count >> 32) as u32 } else { (both >> count) as u32 }
}

/// `lop3`: any function of three bits, as a table of eight.
#[inline(always)]
pub(crate) fn table(function: u8, a: u32, b: u32, c: u32) -> u32 {
    let term = |index: u32, value: u32| if function >> index & 1 == 1 { value } else { 0 };
    term(0, !a & !b & !c)
        | term(1, !a & !b & c)
        | term(2, !a & b & !c)
        | term(3, !a & b & c)
        | term(4, a & !b & !c)
        | term(5, a & !b & c)
        | term(6, a & b & !c)
        | term(7, a & b & c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_at_the_top() {
        assert_eq!(field(32, 0xdead_beef, 8, 8), 0xbe);
        assert_eq!(field(32, 0xdead_beef, 28, 32), 0xd);
        assert_eq!(field(32, 0xdead_beef, 40, 8), 0);
        assert_eq!(field(64, u64::MAX, 4, 0), 0);
        assert_eq!((field(32, 0xff, 256, 260), field(64, 0xff, 256, 260)), (0xf, 0));
    }

    #[test]
    fn signed_fields_extend_their_highest_bit() {
        assert_eq!(signed_field(32, 0x0000_0f00, 8, 4), -1);
        assert_eq!(signed_field(32, 0x0000_0700, 8, 4), 7);
        assert_eq!(signed_field(32, -2, 30, 8), -1);
        assert_eq!(signed_field(32, -2, 50, 4), -1);
        assert_eq!(signed_field(32, 5, 50, 4), 0);
        assert_eq!(signed_field(64, i64::MIN, 60, 4), -8);
        assert_eq!(signed_field(64, i64::MIN, 0, 64), i64::MIN);
        assert_eq!(signed_field(32, -1, 3, 0), 0);
    }

    #[test]
    fn insertions_stay_inside_the_register() {
        assert_eq!(insert(32, 0xff, 0, 28, 8), 0xf000_0000);
        assert_eq!(insert(32, 0xab, 0xffff_ffff, 8, 8), 0xffff_abff);
        assert_eq!(insert(32, 0xff, 7, 32, 8), 7);
        assert_eq!(insert(64, 1, 0, 63, 64), 1 << 63);
        assert_eq!(insert(64, 1, 9, 3, 0), 9);
    }

    #[test]
    fn found_bits_are_counted_from_either_end() {
        assert_eq!((find(32, 0x10, false, false), find(32, 0x10, false, true)), (4, 27));
        assert_eq!((find(32, 0xffff_fff0, true, false), find(32, 0xffff_ffff, true, false)), (3, u32::MAX));
        assert_eq!(find(64, 1 << 40, false, false), 40);
        assert_eq!((nth_set(0b1011, 0, 2), nth_set(0b1011, 3, -2), nth_set(0b1011, 2, 0)), (1, 1, u32::MAX));
        assert_eq!(nth_set(1, 32, 1), u32::MAX);
    }

    #[test]
    fn masks_are_clamped_or_wrap() {
        assert_eq!((ones(4, 8, false), ones(0, 32, false), ones(40, 8, false)), (0xff0, u32::MAX, 0));
        assert_eq!((ones(33, 1, true), ones(0, 32, true)), (2, 0));
    }

    #[test]
    fn bytes_are_permuted_in_every_mode() {
        let (a, b) = (0x3322_1100, 0x7766_5584);
        assert_eq!(permute(Permutation::Any, a, b, 0x7531), 0x7755_3311);
        assert_eq!(permute(Permutation::Any, a, b, 0x000c), 0x0000_00ff);
        assert_eq!(permute(Permutation::Forward, a, b, 3), 0x6655_8433);
        assert_eq!(permute(Permutation::Backward, a, b, 1), 0x6677_0011);
        assert_eq!(permute(Permutation::Replicate, a, b, 2), 0x2222_2222);
        assert_eq!(permute(Permutation::ClampLeft, a, b, 2), 0x3322_2222);
        assert_eq!(permute(Permutation::ClampRight, a, b, 1), 0x1111_1100);
        assert_eq!(permute(Permutation::Halves, a, b, 1), 0x3322_3322);
    }

    #[test]
    fn funnels_take_the_side_they_shift_towards() {
        assert_eq!(funnel(true, true, 0x8000_0000, 1, 1), 3);
        assert_eq!(funnel(false, true, 0x8000_0000, 1, 1), 0xc000_0000);
        assert_eq!((funnel(true, false, 5, 9, 32), funnel(true, true, 5, 9, 32)), (5, 9));
        assert_eq!((funnel(false, false, 5, 9, 99), funnel(false, true, 5, 9, 32)), (9, 5));
    }

    #[test]
    fn tables_are_the_functions_of_three_inputs() {
        let (a, b, c) = (0xf0f0_ff00, 0xcccc_aaaa, 0x1234_5678);
        assert_eq!(table(0x80, a, b, c), a & b & c);
        assert_eq!(table(0xfe, a, b, c), a | b | c);
        assert_eq!(table(0x96, a, b, c), a ^ b ^ c);
        assert_eq!(table(0xca, a, b, c), (a & b) | (!a & c));
        assert_eq!((table(0, a, b, c), table(0xff, a, b, c)), (0, u32::MAX));
    }
}
