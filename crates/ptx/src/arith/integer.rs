//! Integers of 16, 32 and 64 bits, signed and unsigned: wrapping, high halves, saturation.

/// An integer type of PTX, as the arithmetic sees it.
pub(crate) trait Integer: Copy + Ord {
    /// Twice as wide, of the same signedness.
    type Wide;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The lower half of the product.
    fn times(self, other: Self) -> Self;
    /// The upper half of the product.
    fn times_high(self, other: Self) -> Self;
    /// The whole product.
    fn times_wide(self, other: Self) -> Self::Wide;
    /// All bits set where the divisor is zero, as the hardware leaves it.
    fn over(self, other: Self) -> Self;
    /// All bits set where the divisor is zero, too.
    fn modulo(self, other: Self) -> Self;
    fn distance(self, other: Self) -> Self;
    /// Shifts of the width or more leave nothing.
    fn shift_left(self, count: u32) -> Self;
    /// Shifts of the width or more leave the sign, or nothing.
    fn shift_right(self, count: u32) -> Self;
    fn magnitude(self) -> Self;
    fn negated(self) -> Self;
}

macro_rules! integer {
    ($($type:ty, $wide:ty, $double:ty, $bits:expr, $negative:expr, $magnitude:expr;)*) => {$(
        impl Integer for $type {
            type Wide = $wide;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn times_high(self, other: Self) -> Self {
                ((<$double>::from(self) * <$double>::from(other)) >> $bits) as $type
            }

            #[inline(always)]
            fn times_wide(self, other: Self) -> $wide {
                <$wide>::from(self).wrapping_mul(<$wide>::from(other))
            }

            #[inline(always)]
            fn over(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            fn modulo(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn distance(self, other: Self) -> Self {
                if self < other { other.wrapping_sub(self) } else { self.wrapping_sub(other) }
            }

            #[inline(always)]
            fn shift_left(self, count: u32) -> Self {
                if count < $bits { self << count } else { 0 }
            }

            #[inline(always)]
            fn shift_right(self, count: u32) -> Self {
                if count < $bits {
                    self >> count
                } else if $negative(self) {
                    !0
                } else {
                    0
                }
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                $magnitude(self)
            }

            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
}

integer! {
    u16, u32, u32, 16, never, itself;
    i16, i32, i32, 16, i16::is_negative, i16::wrapping_abs;
    u32, u64, u64, 32, never, itself;
    i32, i64, i64, 32, i32::is_negative, i32::wrapping_abs;
    u64, u64, u128, 64, never, itself;
    i64, i64, i128, 64, i64::is_negative, i64::wrapping_abs;
}

fn never<T>(_: T) -> bool {
    false
}

fn itself<T>(value: T) -> T {
    value
}

/// `cvt.pack`: `a` and `b`, clamped to `bits` bits, are the lowest of the result, `b` below `a`; `c` is moved
/// up over them.
pub(crate) fn packed(bits: u32, signed: bool, a: i32, b: i32, c: u32) -> u32 {
    let (least, greatest) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let part = |value: i32| value.clamp(least, greatest).cast_unsigned() & ((1 << bits) - 1);
    c.checked_shl(2 * bits).unwrap_or(0) | part(a) << bits | part(b)
}

/// Sums and differences of `s32` that stop at the limits instead of wrapping.
pub(crate) mod saturating {
    pub(crate) fn add(a: i32, b: i32) -> i32 {
        a.saturating_add(b)
    }

    pub(crate) fn subtract(a: i32, b: i32) -> i32 {
        a.saturating_sub(b)
    }

    /// The upper half of `a × b`, plus `c`.
    pub(crate) fn multiply_add_high(a: i32, b: i32, c: i32) -> i32 {
        (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
    }
}

/// Products of the lower 24 bits.
pub(crate) mod short {
    /// `mul24.lo` and `.hi` of signed operands: the lower, or the upper, 32 of the product's 48 bits.
    pub(crate) fn signed(high: bool, a: i32, b: i32) -> i32 {
        let extend = |value: i32| i64::from(value << 8 >> 8);
        ((extend(a) * extend(b)) >> if high { 16 } else { 0 }) as i32
    }

    /// The same of unsigned operands.
    pub(crate) fn unsigned(high: bool, a: u32, b: u32) -> u32 {
        let cut = |value: u32| u64::from(value & 0xff_ffff);
        ((cut(a) * cut(b)) >> if high { 16 } else { 0 }) as u32
    }
}

/// Sums of products of the bytes of `a` with bytes or halves of `b`, added to `c`.
pub(crate) mod dot {
    /// A byte or a half out of a register, extended as its type says.
    fn part(value: u32, index: u32, bits: u32, signed: bool) -> i64 {
        let raw = i64::from(value) >> (index * bits) & ((1 << bits) - 1);
        if signed && raw >> (bits - 1) == 1 { raw - (1 << bits) } else { raw }
    }

    /// `dp4a`: four bytes with four bytes.
    pub(crate) fn bytes(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
        let sum: i64 = (0..4).map(|index| part(a, index, 8, a_signed) * part(b, index, 8, b_signed)).sum();
        c.wrapping_add(sum as u32)
    }

    /// `dp2a`: two halves of `a` with the lower or the upper two bytes of `b`.
    pub(crate) fn halves(high: bool, a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
        let first = if high { 2 } else { 0 };
        let product = |index| part(a, index, 16, a_signed) * part(b, first + index, 8, b_signed);
        c.wrapping_add((product(0) + product(1)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_halves_and_whole_products_agree() {
        for a in [0i32, 1, -1, i32::MIN, i32::MAX, 123_456_789, -987_654_321] {
            for b in [0i32, 3, -7, i32::MIN, i32::MAX, 55_555] {
                let whole = i64::from(a) * i64::from(b);
                assert_eq!(a.times_wide(b), whole);
                assert_eq!((a.times_high(b), a.times(b)), ((whole >> 32) as i32, whole as i32));
                let (x, y) = (a.cast_unsigned(), b.cast_unsigned());
                let whole = u64::from(x) * u64::from(y);
                assert_eq!((x.times_high(y), x.times(y)), ((whole >> 32) as u32, whole as u32));
            }
        }
        assert_eq!(u64::MAX.times_high(u64::MAX), u64::MAX - 1);
        assert_eq!(i64::MIN.times_high(i64::MIN), 1 << 62);
        assert_eq!((-2i16).times_wide(300), -600);
    }

    #[test]
    fn dividing_by_zero_or_overflowing_is_no_trap() {
        assert_eq!((7u32.over(0), 7u32.modulo(0)), (u32::MAX, u32::MAX));
        assert_eq!((7i64.over(0), 7i64.modulo(0)), (-1, -1));
        assert_eq!((i32::MIN.over(-1), i32::MIN.modulo(-1)), (i32::MIN, 0));
    }

    #[test]
    fn shifts_beyond_the_width_leave_nothing_or_the_sign() {
        assert_eq!((1u32.shift_left(32), 1u32.shift_left(31)), (0, 1 << 31));
        assert_eq!((u64::MAX.shift_right(64), u64::MAX.shift_right(63)), (0, 1));
        assert_eq!(((-5i16).shift_right(16), (-5i16).shift_right(200), 5i16.shift_right(99)), (-1, -1, 0));
    }

    #[test]
    fn distances_are_of_the_type_that_is_compared() {
        assert_eq!((3u32.distance(u32::MAX), (-1i32).distance(3)), (u32::MAX - 3, 4));
    }

    #[test]
    fn short_products_see_24_bits() {
        assert_eq!(short::signed(false, 0x00ff_ffff, 5), -5);
        assert_eq!(short::unsigned(false, 0xff00_0003, 5), 15);
        assert_eq!(short::unsigned(true, 0xff_ffff, 0xff_ffff), ((0xff_ffffu64 * 0xff_ffff) >> 16) as u32);
        assert_eq!(short::signed(true, -1, 0x7f_ffff), ((-0x7f_ffffi64) >> 16) as i32);
    }

    #[test]
    fn saturated_sums_stop_at_the_limits() {
        assert_eq!(saturating::add(i32::MAX, 1), i32::MAX);
        assert_eq!(saturating::subtract(i32::MIN, 1), i32::MIN);
        assert_eq!(saturating::multiply_add_high(i32::MAX, i32::MAX, i32::MAX), i32::MAX);
    }

    #[test]
    fn dot_products_extend_each_side_as_it_says() {
        assert_eq!(dot::bytes(0xff01_02ff, true, 0x0101_0101, false, 10), 11);
        assert_eq!(dot::bytes(0xff00_00ff, false, 0x0200_0002, false, 0), 1020);
        assert_eq!(dot::halves(false, 0xffff_0002, true, 0x0000_0305, false, 0), 7);
        assert_eq!(dot::halves(true, 0x0001_0002, true, 0xff03_0000, true, 0), 5);
    }
}
