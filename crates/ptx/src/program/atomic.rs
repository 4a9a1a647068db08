//! Operations and types of atomic operations and reductions.

/// The operations of `atom` and `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Minimum,
    Maximum,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

/// The types of atomic operations and reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atom {
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    /// With subnormal numbers in global memory, too.
    WholeF32,
    F64,
}

impl Atom {
    pub(crate) fn bytes(self) -> u8 {
        match self {
            Atom::U16 | Atom::F16 | Atom::Bf16 => 2,
            Atom::U32 | Atom::S32 | Atom::F16x2 | Atom::Bf16x2 | Atom::F32 | Atom::WholeF32 => 4,
            Atom::U64 | Atom::S64 | Atom::F64 => 8,
        }
    }
}
