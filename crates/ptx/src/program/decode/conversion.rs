//! The forms of `cvt` that exist, which depend on both types.

use crate::arith::convert::Number;
use crate::arith::round::{Format, Rounding};

/// The modifiers of `cvt`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) to: Number,
    pub(super) from: Number,
    /// Two at a time.
    pub(super) pair: bool,
    /// `.rni` and its like.
    pub(super) integral: Option<Rounding>,
    /// `.rn` and its like.
    pub(super) rounding: Option<Rounding>,
    pub(super) flush: bool,
    pub(super) saturate: bool,
    pub(super) finite: bool,
    pub(super) rectify: bool,
}

impl Form {
    /// The reason for which there is no such conversion.
    pub(super) fn refusal(self) -> Option<&'static str> {
        use Number::{Float, Integer};
        let single = self.to == Float(Format::SINGLE) || self.from == Float(Format::SINGLE);
        let brain = self.to == Float(Format::BRAIN) || self.from == Float(Format::BRAIN);
        let plain = !(self.finite || self.rectify);
        let reason = |holds: bool, reason| holds.then_some(reason);
        let ftz = reason(self.flush && !single, "`.ftz` is for f32 only");
        let clamp = reason(self.saturate && brain, "`.sat` is not for bf16");
        match (self.from, self.to) {
            (Integer { .. }, Integer { .. }) => {
                let rounds = self.integral.is_some() || self.rounding.is_some() || self.flush || !plain;
                let fits = self.saturate && fits(self.from, self.to);
                reason(rounds, "integers are not rounded").or(reason(fits, "there is nothing for `.sat` to clamp"))
            }
            (Integer { .. }, Float(_)) => {
                let directed = self.integral.is_none() && self.rounding.is_some_and(is_directed);
                let missing =
                    reason(!directed || !plain, "an integer becomes a floating-point number by `.rn` or its like");
                missing.or(ftz).or(clamp)
            }
            (Float(_), Integer { .. }) => {
                let missing = self.integral.is_none() || self.rounding.is_some() || !plain;
                let missing = reason(missing, "a floating-point number becomes an integer by `.rni` or its like");
                missing.or(ftz).or(clamp)
            }
            (Float(from), Float(to)) => self.between(from, to).or(ftz).or(clamp),
        }
    }

    /// `true` if its integer has to be in a register that is declared with 8 bits.
    pub(super) fn needs_byte(self) -> bool {
        let brain = Number::Float(Format::BRAIN);
        let is_byte = |number| matches!(number, Number::Integer { bits: 8, .. });
        self.to == brain && is_byte(self.from) || self.from == brain && is_byte(self.to)
    }

    fn between(self, from: Format, to: Format) -> Option<&'static str> {
        let narrow = matches!(to, Format::E4M3 | Format::E5M2);
        let near = self.integral.is_none() && self.rounding == Some(Rounding::Nearest);
        if narrow || matches!(from, Format::E4M3 | Format::E5M2) {
            let right = near && self.finite == narrow && !self.flush && !self.saturate;
            return (!right).then_some("8-bit floating point needs `.rn`, and `.satfinite` to become so");
        }
        if from == to {
            let right = self.rounding.is_none() && !self.finite && !self.rectify;
            return (!right).then_some("the type is the same: only `.rni` and its like change anything");
        }
        if self.integral.is_some() {
            return Some("`.rni` and its like are for integers, or for one type");
        }
        let single = from == Format::SINGLE;
        let special = self.finite || self.rectify || self.pair || to == Format::TENSOR;
        if special {
            let right = match self.rounding {
                Some(Rounding::Nearest | Rounding::Zero) => !(to == Format::TENSOR && self.finite),
                Some(Rounding::NearestAway) => to == Format::TENSOR && !self.rectify,
                _ => false,
            };
            let right = right && single && !self.flush && !self.saturate;
            let target = matches!(to, Format::HALF | Format::BRAIN | Format::TENSOR);
            return (!right || !target).then_some("a narrower type with these modifiers comes of f32 alone");
        }
        let optional = from == Format::BRAIN || (from, to) == (Format::HALF, Format::BRAIN);
        match self.rounding {
            Some(rounding) if !is_directed(rounding) => Some("`.rna` is for tf32 only"),
            Some(_) if to.fraction > from.fraction && !optional => Some("nothing is rounded here"),
            None if to.fraction < from.fraction && !optional => Some("it needs a rounding such as `.rn`"),
            _ => None,
        }
    }
}

fn is_directed(rounding: Rounding) -> bool {
    rounding != Rounding::NearestAway
}

/// `true` if every integer of one type is one of the other.
fn fits(from: Number, to: Number) -> bool {
    let (Number::Integer { bits, signed }, Number::Integer { bits: room, signed: to_signed }) = (from, to) else {
        return false;
    };
    match (signed, to_signed) {
        (false, true) => bits < room,
        (true, false) => false,
        _ => bits <= room,
    }
}
