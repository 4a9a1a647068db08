//! Comparisons and selections.

use super::super::compute::{Combine, Compared, Compute, HalfType, Truth};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::{file, int};
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, half, types};
use crate::arith::compare::Comparison;
use crate::syntax::{Instruction, Operand, ScalarType};

fn combine(word: &str) -> Option<Combine> {
    Some(match word {
        "and" => Combine::And,
        "or" => Combine::Or,
        "xor" => Combine::Xor,
        _ => return None,
    })
}

/// The comparison and the type it compares. Bits are equal or not; `lo` and the like are for unsigned
/// integers.
fn question(modifiers: &mut Modifiers, scalar: ScalarType) -> Decoded<(Compared, Comparison)> {
    let (how, unsigned) = modifiers
        .pick(|word| Some((Comparison::of(word)?, matches!(word, "lo" | "ls" | "hi" | "hs"))))
        .ok_or(Why::Missing("a comparison such as `.lt`"))?;
    if unsigned && !matches!(scalar, ScalarType::U16 | ScalarType::U32 | ScalarType::U64) {
        return Err(Why::Other("`.lo`, `.ls`, `.hi` and `.hs` are for unsigned integers only"));
    }
    if types::BITS.hold(scalar) && !matches!(how, Comparison::Equal | Comparison::NotEqual) {
        return Err(Why::Other("bits are compared with `.eq` and `.ne` only"));
    }
    let what = match scalar {
        ScalarType::F32 => Compared::F32(modifiers.flag("ftz")),
        ScalarType::F64 => Compared::F64,
        _ => match half::half(scalar) {
            Some(half) => Compared::Half(half, half::flush(modifiers, scalar)),
            None if how.suits_integers() => Compared::Int(int(scalar)?),
            None => return Err(Why::Other("integers are never unordered")),
        },
    };
    Ok((what, how))
}

/// The third operand of a comparison that has one.
fn third<'t>(decoder: &mut Decoder<'_, 't>, combine: Combine, operand: Option<&Operand<'t>>) -> Decoded<Slot> {
    match (combine, operand) {
        (Combine::None, None) => Ok(Slot::SINK),
        (Combine::None, Some(_)) => Err(Why::Count { found: 4, expected: "3" }),
        (_, Some(operand)) => decoder.predicate(operand),
        (_, None) => Err(Why::Count { found: 3, expected: "4" }),
    }
}

pub(super) fn set_predicate<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let combine = modifiers.pick(combine).unwrap_or(Combine::None);
    let scalar = modifiers.one_of(types::NUMBERS.and(types::BITS))?;
    let (what, how) = question(modifiers, scalar)?;
    let [p, a, b, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "3 or 4" });
    };
    if matches!(p, Operand::Pair(..)) && matches!(what, Compared::Half(HalfType::F16 | HalfType::Bf16, _)) {
        return Err(Why::Other("of single halves it gives one predicate only"));
    }
    let [p, q] = decoder.predicate_pair(p)?;
    let (a, b) = (decoder.value(a, scalar)?, decoder.value(b, scalar)?);
    let third = third(decoder, combine, rest.first())?;
    if let Compared::Half(HalfType::F16x2 | HalfType::Bf16x2, _) = what {
        // Of pairs, the first predicate is of the lower halves and the second of the upper ones.
        let (low, high) = (decoder.new_word(), decoder.new_word());
        let (other_low, other_high) = (decoder.new_word(), decoder.new_word());
        decoder.prepare(Operation::Compute(Compute::UnpackWord), &[low, high, a]);
        decoder.prepare(Operation::Compute(Compute::UnpackWord), &[other_low, other_high, b]);
        let compare = Operation::Compute(Compute::Compare { what, how, combine });
        decoder.emit(compare, &[p, Slot::SINK, low, other_low, third]);
        decoder.emit(compare, &[q, Slot::SINK, high, other_high, third]);
        return Ok(());
    }
    decoder.emit(Operation::Compute(Compute::Compare { what, how, combine }), &[p, q, a, b, third]);
    Ok(())
}

pub(super) fn set<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let combine = modifiers.pick(combine).unwrap_or(Combine::None);
    let (to, scalar) = (modifiers.scalar()?, modifiers.one_of(types::NUMBERS.and(types::BITS))?);
    let (what, how) = question(modifiers, scalar)?;
    let flush = matches!(what, Compared::F32(true) | Compared::Half(_, true));
    if flush && types::BRAINS.hold(to) {
        return Err(Why::Modifier("ftz".to_owned()));
    }
    let half = half::half(scalar);
    let pairs = half.is_some_and(|half| matches!(half, HalfType::F16x2 | HalfType::Bf16x2));
    let truth = match to {
        ScalarType::U32 | ScalarType::S32 => Truth::Ones,
        ScalarType::U16 | ScalarType::S16 if half.is_some() && !pairs => Truth::ShortOnes,
        ScalarType::F32 if half.is_none() => Truth::Single,
        ScalarType::F16x2 | ScalarType::Bf16x2 if scalar != to => {
            return Err(Why::Other("pairs give pairs of the same type"));
        }
        ScalarType::F16 | ScalarType::Bf16 if pairs => return Err(Why::Other("pairs give pairs of the same type")),
        ScalarType::F16 if scalar == ScalarType::Bf16 => return Err(Why::Other("bf16 does not give f16")),
        _ => Truth::Half(half::half(to).ok_or(Why::Other("it cannot give this type"))?),
    };
    let [d, a, b, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "3 or 4" });
    };
    let d = decoder.result(d, File::Words)?;
    let (a, b) = (decoder.value(a, scalar)?, decoder.value(b, scalar)?);
    let third = third(decoder, combine, rest.first())?;
    decoder.emit(Operation::Compute(Compute::Set { what, how, combine, truth }), &[d, Slot::SINK, a, b, third]);
    Ok(())
}

pub(super) fn select<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::MOVED)?;
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let d = decoder.result(d, file(scalar))?;
    let slots = [d, decoder.value(a, scalar)?, decoder.value(b, scalar)?, decoder.predicate(c)?];
    let what = if scalar.size() > 4 { Compute::SelectLong } else { Compute::Select };
    decoder.emit(Operation::Compute(what), &slots);
    Ok(())
}

pub(super) fn select_by_sign<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (scalar, by) = (modifiers.one_of(types::MOVED)?, modifiers.scalar()?);
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let d = decoder.result(d, file(scalar))?;
    let slots = [d, decoder.value(a, scalar)?, decoder.value(b, scalar)?, decoder.value(c, by)?];
    let long = scalar.size() > 4;
    let what = match by {
        ScalarType::S32 => Compute::SelectBySign { long },
        ScalarType::F32 => Compute::SelectBySingle { long, flush: modifiers.flag("ftz") },
        _ => return Err(Why::Other("the third operand is s32 or f32")),
    };
    decoder.emit(Operation::Compute(what), &slots);
    Ok(())
}
