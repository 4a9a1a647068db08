//! Products of small matrices that a whole warp holds, and the transfers that go with them.

/// What the elements of a factor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    /// `m8n8k4`: one register of each factor, two of the sums.
    F64,
    S8,
    U8,
}

/// `mma.sync.aligned.mMnNkK.row.col`: slots of `d`, `a`, `b` and `c` lie in the program's list from slot 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// How many columns of `a` meet rows of `b`; the result is 16 × 8.
    pub(crate) k: u8,
    /// Elements of `a` and `b`.
    pub(crate) factors: [Element; 2],
    /// Whether `d` and `c` are halves in pairs instead of singles.
    pub(crate) half: bool,
    /// `.satfinite` of integers.
    pub(crate) saturate: bool,
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
