//! Sets of types that an instruction accepts, as the assembler has them.

use crate::syntax::ScalarType::{self, *};

/// A set of types.
#[derive(Clone, Copy)]
pub(super) struct Types(u32);

impl Types {
    const fn of(types: &[ScalarType]) -> Types {
        let (mut set, mut index) = (0, 0);
        while index < types.len() {
            set |= 1 << types[index] as u32;
            index += 1;
        }
        Types(set)
    }

    /// Those of both.
    pub(super) const fn and(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(super) fn hold(self, scalar: ScalarType) -> bool {
        self.0 >> scalar as u32 & 1 == 1
    }
}

pub(super) const SIGNED: Types = Types::of(&[S16, S32, S64]);
pub(super) const INTEGERS: Types = SIGNED.and(Types::of(&[U16, U32, U64]));
/// Those that shifts, fields and carries are for.
pub(super) const WORDS: Types = Types::of(&[U32, S32]);
pub(super) const WIDE: Types = WORDS.and(Types::of(&[U64, S64]));
pub(super) const BITS: Types = Types::of(&[B16, B32, B64]);
pub(super) const WIDE_BITS: Types = Types::of(&[B32, B64]);
pub(super) const WORD_BITS: Types = Types::of(&[B32]);
pub(super) const PREDICATE: Types = Types::of(&[Predicate]);
pub(super) const FLOATS: Types = Types::of(&[F32, F64]);
pub(super) const BRAINS: Types = Types::of(&[Bf16, Bf16x2]);
pub(super) const HALVES: Types = BRAINS.and(Types::of(&[F16, F16x2]));
pub(super) const NUMBERS: Types = INTEGERS.and(FLOATS).and(HALVES);
pub(super) const PAIRS: Types = Types::of(&[B128]);
/// The types of `mov` and `selp`.
pub(super) const MOVED: Types = INTEGERS.and(BITS).and(FLOATS);
/// The types of loads and stores.
pub(super) const STORED: Types = MOVED.and(Types::of(&[B8, U8, S8, B128]));
