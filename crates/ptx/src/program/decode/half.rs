//! Sixteen-bit floating point.

use super::super::compute::HalfType;
use super::{Decoded, Modifiers, Why, types};
use crate::arith::half::Edge;
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

/// `true` if subnormal numbers count as zero. Bf16 has no such modifier, which is left for the modifiers to
/// refuse.
pub(super) fn flush(modifiers: &mut Modifiers, scalar: ScalarType) -> bool {
    !types::BRAINS.hold(scalar) && modifiers.flag("ftz")
}

/// The modifiers around the rounding, which can only be to nearest; another one is left for the modifiers to
/// refuse.
pub(super) fn edge(modifiers: &mut Modifiers, half: HalfType, fused: bool) -> Decoded<Edge> {
    let near = modifiers.pick(|word| (word == "rn").then_some(())).is_some();
    let edge = Edge {
        flush: modifiers.flag("ftz"),
        saturate: modifiers.flag("sat"),
        rectify: fused && modifiers.flag("relu"),
        outside: fused && modifiers.flag("oob"),
    };
    if fused && !near {
        return Err(Why::Missing("`.rn`"));
    }
    if matches!(half, HalfType::Bf16 | HalfType::Bf16x2) && (edge.flush || edge.saturate) {
        return Err(Why::Other("`.ftz` and `.sat` are not for bf16"));
    }
    Ok(edge)
}
