//! Sixteen-bit floating point.

use super::super::compute::HalfType;
use super::Modifiers;
use crate::exec::arith::half::Edge;
use crate::exec::arith::round::Rounding;
use crate::syntax::ScalarType;

pub(super) fn half(scalar: ScalarType) -> Option<HalfType> {
    Some(match scalar {
        ScalarType::F16 => HalfType::F16,
        ScalarType::F16x2 => HalfType::F16x2,
        ScalarType::Bf16 => HalfType::Bf16,
        ScalarType::Bf16x2 => HalfType::Bf16x2,
        _ => return None,
    })
}

/// What stands around the rounding, which can only be to nearest; another one is left for the modifiers to refuse.
pub(super) fn edge(modifiers: &mut Modifiers) -> Edge {
    modifiers.pick(|word| (word == "rn").then_some(Rounding::Nearest));
    Edge {
        flush: modifiers.flag("ftz"),
        saturate: modifiers.flag("sat"),
        rectify: modifiers.flag("relu"),
        outside: modifiers.flag("oob"),
    }
}
