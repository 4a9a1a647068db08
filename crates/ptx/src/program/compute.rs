//! Operations from registers to registers, lane by lane.

use crate::arith::bits::Permutation;
use crate::arith::compare::{Comparison, Property};
use crate::arith::extreme::Choice;
use crate::arith::float::Mode;
use crate::arith::half::Edge;
use crate::arith::round::Rounding;

/// Integer types as arithmetic sees them; bits without a sign are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Int {
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Int::U64 | Int::S64)
    }

    /// `true` if it has 32 bits.
    pub(crate) fn is_word(self) -> bool {
        matches!(self, Int::U32 | Int::S32)
    }
}

/// Sixteen-bit floating point, alone or in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HalfType {
    F16,
    F16x2,
    Bf16,
    Bf16x2,
}

/// The operands of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Int(Int),
    /// `true` if subnormals are zeros.
    F32(bool),
    F64,
    Half(HalfType, bool),
}

/// The operator that combines a comparison with the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// The result type of `set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// All ones in 32 bits.
    Ones,
    /// 1.0
    Single,
    /// All ones in 16 bits.
    ShortOnes,
    /// 1.0 as f16, bf16.
    Half(HalfType),
}

/// Functions of one single that are approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Reciprocal,
    Root,
    ReciprocalRoot,
    Exponential,
    Logarithm,
    Sine,
    Cosine,
    Tangent,
}

/// Conversions that need no general path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// The lower bits of a word: 8 or 16, with or without sign, into a word.
    Extend {
        bits: u8,
        signed: bool,
    },
    /// The same into a long; 32 bits too.
    ExtendLong {
        bits: u8,
        signed: bool,
    },
    /// The lower bits of a long, extended again: 8, 16 or 32.
    Cut {
        bits: u8,
        signed: bool,
    },
    SignedToSingle,
    UnsignedToSingle,
    SignedToDouble,
    UnsignedToDouble,
    LongToSingle,
    LongToDouble,
    UnsignedLongToSingle,
    UnsignedLongToDouble,
    SingleToSigned,
    SingleToUnsigned,
    DoubleToSigned,
    SingleToDouble,
    DoubleToSingle,
    HalfToSingle,
    SingleToHalf,
    BrainToSingle,
    SingleToBrain,
}

/// Carry in and carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carry {
    pub(crate) long: bool,
    /// Takes the carry of an earlier instruction.
    pub(crate) enter: bool,
    /// Leaves one behind.
    pub(crate) leave: bool,
}

/// An operation. Unless it is said otherwise, slots are `d`, `a`, `b`, `c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compute {
    /// Words, as they are.
    Move,
    MoveLong,
    /// Two words to a long, and back: the words are `a`, `b` and `d`, and the second slot.
    PackLong,
    UnpackLong,
    /// Two halves to a word, and back.
    PackWord,
    UnpackWord,
    Add(Int),
    Subtract(Int),
    Multiply(Int),
    MultiplyHigh(Int),
    MultiplyWide(Int),
    MultiplyAdd(Int),
    MultiplyAddHigh(Int),
    MultiplyAddWide(Int),
    AddSaturating,
    SubtractSaturating,
    MultiplyAddHighSaturating,
    AddCarry(Carry),
    SubtractCarry(Carry),
    /// `mad.lo.cc` and its like.
    MultiplyAddCarry {
        high: bool,
        signed: bool,
        carry: Carry,
    },
    Multiply24 {
        high: bool,
        signed: bool,
    },
    MultiplyAdd24 {
        high: bool,
        signed: bool,
    },
    /// `mad24.hi.sat.s32`
    MultiplyAdd24Saturating,
    Divide(Int),
    Remainder(Int),
    /// `sad`
    Distance(Int),
    Magnitude(Int),
    Negate(Int),
    Minimum(Int),
    Maximum(Int),
    /// `min`, `max` of two halves in a word.
    PairExtreme {
        greater: bool,
        signed: bool,
    },
    /// `add` of two halves in a word.
    PairAdd,
    And,
    AndLong,
    Or,
    OrLong,
    Xor,
    XorLong,
    Not,
    NotLong,
    /// `cnot`: 1 for zero, else 0.
    IsZero(Int),
    /// `lop3`
    Table(u8),
    ShiftLeft(Int),
    ShiftRight(Int),
    /// `shf`
    Funnel {
        left: bool,
        wrap: bool,
    },
    Permute(Permutation),
    /// `bfe`
    Field(Int),
    /// `bfi`: the value, the base, and the third and fourth operand.
    Insert {
        long: bool,
    },
    /// `bfind`
    Find {
        int: Int,
        distance: bool,
    },
    Reverse {
        long: bool,
    },
    LeadingZeros {
        long: bool,
    },
    Population {
        long: bool,
    },
    /// `bmsk`
    Ones {
        wrap: bool,
    },
    /// `szext`
    Extend {
        signed: bool,
        wrap: bool,
    },
    /// `fns`
    NthSet,
    /// `dp4a`
    DotBytes {
        signed: [bool; 2],
    },
    /// `dp2a`
    DotHalves {
        high: bool,
        signed: [bool; 2],
    },
    AddSingle(Mode),
    SubtractSingle(Mode),
    MultiplySingle(Mode),
    FusedSingle(Mode),
    DivideSingle(Mode),
    ReciprocalSingle(Mode),
    RootSingle(Mode),
    /// `true` if subnormals are zeros.
    QuotientApproximate(bool),
    QuotientFull(bool),
    Approximate(Function, bool),
    /// `rsqrt.approx.f64`
    ReciprocalRootDouble,
    /// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`
    ReciprocalHalfway,
    ReciprocalRootHalfway,
    /// `abs`, `neg`; true if subnormals are zeros.
    MagnitudeSingle(bool),
    NegateSingle(bool),
    ExtremeSingle(Choice),
    CopySign,
    AddDouble(Rounding),
    SubtractDouble(Rounding),
    MultiplyDouble(Rounding),
    FusedDouble(Rounding),
    DivideDouble(Rounding),
    ReciprocalDouble(Rounding),
    RootDouble(Rounding),
    MagnitudeDouble,
    NegateDouble,
    ExtremeDouble(Choice),
    CopySignDouble,
    AddHalf(HalfType, Edge),
    SubtractHalf(HalfType, Edge),
    MultiplyHalf(HalfType, Edge),
    FusedHalf(HalfType, Edge),
    /// `abs`, `neg`; true if subnormals are zeros.
    MagnitudeHalf(HalfType, bool),
    NegateHalf(HalfType, bool),
    ExtremeHalf(HalfType, Choice),
    /// And true if subnormals are zeros.
    ApproximateHalf(HalfType, Function, bool),
    /// A conversion of the program's list: `d`, `a`, its index.
    Convert {
        from_long: bool,
        to_long: bool,
    },
    /// Two singles to a pair: `d`, upper, lower, the index of the conversion.
    ConvertPair,
    /// Both of a pair to a pair: `d`, `a`, the index of the conversion.
    ConvertEach,
    /// `cvt.pack`: `a` and `b`, clamped to so many bits, below the low bits of `c`.
    Pack {
        bits: u8,
        signed: bool,
    },
    Cast(Cast),
    /// A video instruction: `d`, `a`, `b`, `c`, and the instruction in two raw words.
    Video,
    /// Predicates: `p`, `q`, `a`, `b`, the third operand.
    Compare {
        what: Compared,
        how: Comparison,
        combine: Combine,
    },
    /// `set`: `d`, the sink, `a`, `b`, the third operand.
    Set {
        what: Compared,
        how: Comparison,
        combine: Combine,
        truth: Truth,
    },
    /// `testp`: a predicate.
    Test {
        long: bool,
        property: Property,
    },
    /// `a` where the predicate `c` holds, else `b`.
    Select,
    SelectLong,
    /// `a` where `c` is not negative, else `b`.
    SelectBySign {
        long: bool,
    },
    SelectBySingle {
        long: bool,
        flush: bool,
    },
    /// Between predicates.
    PredicateMove,
    PredicateNot,
    PredicateAnd,
    PredicateOr,
    PredicateXor,
    /// All lanes as the raw `a`: 0 or all ones.
    PredicateConstant,
    /// `true` if the address `a` lies in a window, or in none: see `Window`.
    InWindow(super::window::Window),
}
