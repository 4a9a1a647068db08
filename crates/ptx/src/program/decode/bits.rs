//! Bits: logic, shifts, fields, counts.

use super::super::compute::{Combine, Compared, Compute, Int};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::{file, int};
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, types};
use crate::arith::bits::Permutation;
use crate::arith::compare::Comparison;
use crate::syntax::{Instruction, ScalarType};

const WORD: ScalarType = ScalarType::B32;

pub(super) fn logic<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::BITS.and(types::PREDICATE))?;
    if scalar == ScalarType::Predicate {
        let [d, a, b] = decoder.operands(instruction, "3")?;
        let slots = [decoder.result(d, File::Predicates)?, decoder.predicate(a)?, decoder.predicate(b)?];
        let what = match instruction.opcode {
            "and" => Compute::PredicateAnd,
            "or" => Compute::PredicateOr,
            _ => Compute::PredicateXor,
        };
        decoder.emit(Operation::Compute(what), &slots);
        return Ok(());
    }
    let what = match (instruction.opcode, scalar.size() > 4) {
        ("and", false) => Compute::And,
        ("and", true) => Compute::AndLong,
        ("or", false) => Compute::Or,
        ("or", true) => Compute::OrLong,
        (_, false) => Compute::Xor,
        (_, true) => Compute::XorLong,
    };
    decoder.binary(instruction, scalar, what)
}

pub(super) fn not<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let taken = if instruction.opcode == "cnot" { types::BITS } else { types::BITS.and(types::PREDICATE) };
    let scalar = modifiers.one_of(taken)?;
    if scalar == ScalarType::Predicate {
        let [d, a] = decoder.operands(instruction, "2")?;
        let slots = [decoder.result(d, File::Predicates)?, decoder.predicate(a)?];
        decoder.emit(Operation::Compute(Compute::PredicateNot), &slots);
        return Ok(());
    }
    let what = match (instruction.opcode, scalar.size() > 4) {
        ("cnot", _) => Compute::IsZero(int(scalar)?),
        (_, false) => Compute::Not,
        (_, true) => Compute::NotLong,
    };
    decoder.unary(instruction, scalar, what)
}

pub(super) fn table<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let combine = modifiers.pick(|word| match word {
        "and" => Some(Combine::And),
        "or" => Some(Combine::Or),
        _ => None,
    });
    let scalar = modifiers.one_of(types::WORD_BITS)?;
    let [d, a, b, c, function, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "5" });
    };
    let function = Decoder::number(function, 4)?;
    let function = u8::try_from(function).map_err(|_| Why::Operand { index: 4, expected: "a number below 256" })?;
    let what = Operation::Compute(Compute::Table(function));
    match (combine, rest) {
        (None, []) => {
            let d = decoder.result(d, File::Words)?;
            let slots = [d, decoder.value(a, scalar)?, decoder.value(b, scalar)?, decoder.value(c, scalar)?];
            decoder.emit(what, &slots);
        }
        (Some(combine), [third]) => {
            // True if any bit is set, and a predicate.
            let [d, p] = decoder.result_and_predicate(d, File::Words)?;
            let (found, zero) = (decoder.new_word(), decoder.word(0));
            let slots = [found, decoder.value(a, scalar)?, decoder.value(b, scalar)?, decoder.value(c, scalar)?];
            let third = decoder.predicate(third)?;
            decoder.prepare(what, &slots);
            let (what, how) = (Compared::Int(Int::U32), Comparison::NotEqual);
            decoder.emit(
                Operation::Compute(Compute::Compare { what, how, combine }),
                &[p, Slot::SINK, found, zero, third],
            );
            decoder.emit(Operation::Compute(Compute::Move), &[d, found]);
        }
        _ => return Err(Why::Count { found: instruction.operands.len(), expected: "5, or 6 behind `.and` or `.or`" }),
    }
    Ok(())
}

pub(super) fn shift<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let taken = if instruction.opcode == "shl" { types::BITS } else { types::BITS.and(types::INTEGERS) };
    let scalar = modifiers.one_of(taken)?;
    let int = int(scalar)?;
    let [d, a, b] = decoder.operands(instruction, "3")?;
    let slots = [decoder.result(d, file(scalar))?, decoder.value(a, scalar)?, decoder.value(b, WORD)?];
    let what = if instruction.opcode == "shl" { Compute::ShiftLeft(int) } else { Compute::ShiftRight(int) };
    decoder.emit(Operation::Compute(what), &slots);
    Ok(())
}

/// One of two modifiers, which has to be there; true for the first.
fn either(modifiers: &mut Modifiers, one: &'static str, other: &'static str) -> Decoded<bool> {
    let found = modifiers.pick(|word| (word == one || word == other).then_some(word == one));
    found.ok_or(Why::Missing(one))
}

pub(super) fn funnel<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let left = either(modifiers, "l", "r")?;
    let wrap = either(modifiers, "wrap", "clamp")?;
    let scalar = modifiers.one_of(types::WORD_BITS)?;
    decoder.ternary(instruction, scalar, Compute::Funnel { left, wrap })
}

pub(super) fn permute<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let kind = modifiers.pick(|word| {
        Some(match word {
            "f4e" => Permutation::Forward,
            "b4e" => Permutation::Backward,
            "rc8" => Permutation::Replicate,
            "ecl" => Permutation::ClampLeft,
            "ecr" => Permutation::ClampRight,
            "rc16" => Permutation::Halves,
            _ => return None,
        })
    });
    let scalar = modifiers.one_of(types::WORD_BITS)?;
    decoder.ternary(instruction, scalar, Compute::Permute(kind.unwrap_or(Permutation::Any)))
}

pub(super) fn field<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::WIDE)?;
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let d = decoder.result(d, file(scalar))?;
    let slots = [d, decoder.value(a, scalar)?, decoder.value(b, WORD)?, decoder.value(c, WORD)?];
    decoder.emit(Operation::Compute(Compute::Field(int(scalar)?)), &slots);
    Ok(())
}

pub(super) fn insert<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::WIDE_BITS)?;
    let [d, value, base, start, length] = decoder.operands(instruction, "5")?;
    let d = decoder.result(d, file(scalar))?;
    let (value, base) = (decoder.value(value, scalar)?, decoder.value(base, scalar)?);
    let slots: [Slot; 5] = [d, value, base, decoder.value(start, WORD)?, decoder.value(length, WORD)?];
    decoder.emit(Operation::Compute(Compute::Insert { long: scalar.size() > 4 }), &slots);
    Ok(())
}

/// `d` has 32 bits, with any width of `a`.
fn counted<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    scalar: ScalarType,
    what: Compute,
) -> Decoded {
    let [d, a] = decoder.operands(instruction, "2")?;
    let slots = [decoder.result(d, File::Words)?, decoder.value(a, scalar)?];
    decoder.emit(Operation::Compute(what), &slots);
    Ok(())
}

pub(super) fn find<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let distance = modifiers.flag("shiftamt");
    let scalar = modifiers.one_of(types::WIDE)?;
    counted(decoder, instruction, scalar, Compute::Find { int: int(scalar)?, distance })
}

pub(super) fn count<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::WIDE_BITS)?;
    let long = scalar.size() > 4;
    match instruction.opcode {
        "brev" => decoder.unary(instruction, scalar, Compute::Reverse { long }),
        "clz" => counted(decoder, instruction, scalar, Compute::LeadingZeros { long }),
        _ => counted(decoder, instruction, scalar, Compute::Population { long }),
    }
}

pub(super) fn ones<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let wrap = either(modifiers, "wrap", "clamp")?;
    let scalar = modifiers.one_of(types::WORD_BITS)?;
    decoder.binary(instruction, scalar, Compute::Ones { wrap })
}

pub(super) fn extend<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let wrap = either(modifiers, "wrap", "clamp")?;
    let scalar = modifiers.one_of(types::WORDS)?;
    let signed = int(scalar)? == Int::S32;
    decoder.binary(instruction, scalar, Compute::Extend { signed, wrap })
}

pub(super) fn nth<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::WORD_BITS)?;
    decoder.ternary(instruction, scalar, Compute::NthSet)
}
