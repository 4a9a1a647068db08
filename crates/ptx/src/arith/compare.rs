//! Comparisons of integers, and of floating-point numbers with and without NaN.

/// The comparisons of `setp` and `set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `equ` and so on: also true where an operand is no number.
    EqualOrUnordered,
    NotEqualOrUnordered,
    LessOrUnordered,
    LessEqualOrUnordered,
    GreaterOrUnordered,
    GreaterEqualOrUnordered,
    /// `num`: both are numbers.
    Ordered,
    /// `nan`: at least one is none.
    Unordered,
}

impl Comparison {
    /// The comparison of a suffix, `lo` and its like included.
    pub(crate) fn of(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Comparison::Equal,
            "ne" => Comparison::NotEqual,
            "lt" | "lo" => Comparison::Less,
            "le" | "ls" => Comparison::LessEqual,
            "gt" | "hi" => Comparison::Greater,
            "ge" | "hs" => Comparison::GreaterEqual,
            "equ" => Comparison::EqualOrUnordered,
            "neu" => Comparison::NotEqualOrUnordered,
            "ltu" => Comparison::LessOrUnordered,
            "leu" => Comparison::LessEqualOrUnordered,
            "gtu" => Comparison::GreaterOrUnordered,
            "geu" => Comparison::GreaterEqualOrUnordered,
            "num" => Comparison::Ordered,
            "nan" => Comparison::Unordered,
            _ => return None,
        })
    }

    /// `true` if integers can be compared so.
    pub(crate) fn suits_integers(self) -> bool {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

/// A type that can be compared; ordered comparisons are false where an operand is NaN.
pub(crate) trait Comparable: PartialOrd + Copy {
    /// `true` if one of `self` and `other` is NaN.
    fn unordered(self, other: Self) -> bool;
}

macro_rules! ordered {
    ($($type:ty)*) => {$(
        impl Comparable for $type {
            #[inline(always)]
            fn unordered(self, _: Self) -> bool {
                false
            }
        }
    )*};
}

macro_rules! partly_ordered {
    ($($type:ty)*) => {$(
        impl Comparable for $type {
            #[inline(always)]
            fn unordered(self, other: Self) -> bool {
                self.is_nan() | other.is_nan()
            }
        }
    )*};
}

ordered!(u16 i16 u32 i32 u64 i64);
partly_ordered!(f32 f64);

/// The properties that `testp` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Property {
    /// The property of a suffix.
    pub(crate) fn of(name: &str) -> Option<Property> {
        Some(match name {
            "finite" => Property::Finite,
            "infinite" => Property::Infinite,
            "number" => Property::Number,
            "notanumber" => Property::NotANumber,
            "normal" => Property::Normal,
            "subnormal" => Property::Subnormal,
            _ => return None,
        })
    }

    /// Zero is normal to the hardware, and not subnormal.
    pub(crate) fn holds(self, value: f64, subnormal: bool) -> bool {
        match self {
            Property::Finite => value.is_finite(),
            Property::Infinite => value.is_infinite(),
            Property::Number => !value.is_nan(),
            Property::NotANumber => value.is_nan(),
            Property::Normal => value.is_finite() && !subnormal,
            Property::Subnormal => subnormal,
        }
    }
}

/// One comparison of two values.
#[inline]
pub(crate) fn holds<T: Comparable>(comparison: Comparison, a: T, b: T) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b && !a.unordered(b),
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::EqualOrUnordered => a == b || a.unordered(b),
        Comparison::NotEqualOrUnordered => a != b,
        Comparison::LessOrUnordered => a < b || a.unordered(b),
        Comparison::LessEqualOrUnordered => a <= b || a.unordered(b),
        Comparison::GreaterOrUnordered => a > b || a.unordered(b),
        Comparison::GreaterEqualOrUnordered => a >= b || a.unordered(b),
        Comparison::Ordered => !a.unordered(b),
        Comparison::Unordered => a.unordered(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_comparisons_are_false_and_unordered_ones_true_of_nan() {
        let ordered = ["eq", "ne", "lt", "le", "gt", "ge", "num"];
        let unordered = ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"];
        for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::NAN, f32::NAN)] {
            for name in ordered {
                assert!(!holds(Comparison::of(name).unwrap(), a, b), "{name}");
            }
            for name in unordered {
                assert!(holds(Comparison::of(name).unwrap(), a, b), "{name}");
            }
        }
    }

    #[test]
    fn numbers_are_compared_the_same_by_both_kinds() {
        for (plain, other) in [("eq", "equ"), ("ne", "neu"), ("lt", "ltu"), ("le", "leu"), ("gt", "gtu"), ("ge", "geu")]
        {
            for (a, b) in [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (-0.0, 0.0)] {
                let holds = |name| holds(Comparison::of(name).unwrap(), a, b);
                assert_eq!(holds(plain), holds(other), "{plain} {a} {b}");
            }
        }
        assert!(holds(Comparison::Equal, -0.0, 0.0));
        assert!(holds(Comparison::Less, -1i32, 0) && !holds(Comparison::Less, u32::MAX, 0));
    }

    #[test]
    fn properties_partition_the_numbers() {
        assert!(Property::Normal.holds(0.0, false) && !Property::Subnormal.holds(0.0, false));
        assert!(Property::Subnormal.holds(1e-40, true) && !Property::Normal.holds(1e-40, true));
        assert!(Property::Finite.holds(1.0, false) && Property::Infinite.holds(f64::INFINITY, false));
        assert!(Property::NotANumber.holds(f64::NAN, false) && !Property::Number.holds(f64::NAN, false));
    }
}
