//! Products of small matrices that a whole warp holds, and the transfers that go with them.

/// What the elements of a factor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    /// Eight bits of floating point.
    E4m3,
    E5m2,
    F64,
    S8,
    U8,
    S4,
    U4,
    /// Bits, whose differences are counted.
    Differing,
    /// Bits, of which those that both have are counted.
    Common,
}

impl Element {
    pub(crate) fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::Differing | Element::Common => 1,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Element::S8 | Element::U8 | Element::S4 | Element::U4)
    }
}

/// `mma.sync.aligned.mMn8kK.row.col`: slots of `d`, `a`, `b` and `c` lie in the program's list from slot 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Sixteen rows instead of eight.
    pub(crate) tall: bool,
    /// How many columns of `a` meet rows of `b`; the result has eight columns.
    pub(crate) k: u16,
    /// Elements of `a` and `b`.
    pub(crate) factors: [Element; 2],
    /// Whether `d` and `c` are halves in pairs instead of singles.
    pub(crate) half: bool,
    /// `.satfinite` of integers.
    pub(crate) saturate: bool,
}

impl Product {
    /// Registers of the result, of the first and of the second factor in each lane.
    pub(crate) fn registers(self) -> [usize; 3] {
        let long = self.factors[0] == Element::F64;
        let words = usize::from(self.k) * 8 * self.factors[0].bits() / 32 / if long { 64 } else { 32 };
        let sums = if self.half { 1 } else { 2 };
        if self.tall { [sums * 2, words * 2, words] } else { [sums, words, words] }
    }
}

/// `ldmatrix`, `stmatrix`: 8 × 8 matrices of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) count: u8,
    pub(crate) transposed: bool,
    /// From registers to memory.
    pub(crate) store: bool,
    /// Whether the address is 64 bits wide.
    pub(crate) wide: bool,
    /// Whether the address is a generic one.
    pub(crate) generic: bool,
}
