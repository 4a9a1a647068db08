//! Arithmetic on any type: `add` to `dp4a`.

use super::super::compute::{Carry, Compute, Int};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, float, half, types};
use crate::syntax::{Instruction, ScalarType};

/// The integer type that arithmetic uses for a type of PTX.
pub(super) fn int(scalar: ScalarType) -> Decoded<Int> {
    Ok(match scalar {
        ScalarType::U16 | ScalarType::B16 => Int::U16,
        ScalarType::S16 => Int::S16,
        ScalarType::U32 | ScalarType::B32 => Int::U32,
        ScalarType::S32 => Int::S32,
        ScalarType::U64 | ScalarType::B64 => Int::U64,
        ScalarType::S64 => Int::S64,
        _ => return Err(Why::Other("it is not for this type")),
    })
}

pub(super) fn file(scalar: ScalarType) -> File {
    if scalar.size() > 4 { File::Longs } else { File::Words }
}

impl<'t> Decoder<'_, 't> {
    /// `d, a` of one type.
    pub(super) fn unary(&mut self, instruction: &Instruction<'t>, scalar: ScalarType, what: Compute) -> Decoded {
        let [d, a] = self.operands(instruction, "2")?;
        let slots = [self.result(d, file(scalar))?, self.value(a, scalar)?];
        self.emit(Operation::Compute(what), &slots);
        Ok(())
    }

    /// `d, a, b` of one type.
    pub(super) fn binary(&mut self, instruction: &Instruction<'t>, scalar: ScalarType, what: Compute) -> Decoded {
        let [d, a, b] = self.operands(instruction, "3")?;
        let slots = [self.result(d, file(scalar))?, self.value(a, scalar)?, self.value(b, scalar)?];
        self.emit(Operation::Compute(what), &slots);
        Ok(())
    }

    /// `d, a, b, c` of one type.
    pub(super) fn ternary(&mut self, instruction: &Instruction<'t>, scalar: ScalarType, what: Compute) -> Decoded {
        self.widening(instruction, scalar, scalar, what)
    }

    /// `d, a, b, c` where `c` and `d` may be wider.
    fn widening(
        &mut self,
        instruction: &Instruction<'t>,
        narrow: ScalarType,
        wide: ScalarType,
        what: Compute,
    ) -> Decoded {
        let [d, a, b, c] = self.operands(instruction, "4")?;
        let d = self.result(d, file(wide))?;
        let slots = [d, self.value(a, narrow)?, self.value(b, narrow)?, self.value(c, wide)?];
        self.emit(Operation::Compute(what), &slots);
        Ok(())
    }
}

pub(super) fn add<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let subtract = instruction.opcode == "sub";
    if let Some(signed) = modifiers.pick(pair) {
        let _ = signed;
        let why = Err(Why::Other("pairs of integers can only be added"));
        return if subtract { why } else { decoder.binary(instruction, ScalarType::B32, Compute::PairAdd) };
    }
    let scalar = modifiers.one_of(types::NUMBERS)?;
    if float::is_float(scalar) {
        return float::add(decoder, instruction, modifiers, scalar, subtract);
    }
    if let Some(half) = half::half(scalar) {
        let edge = half::edge(modifiers, half, false)?;
        let what = if subtract { Compute::SubtractHalf(half, edge) } else { Compute::AddHalf(half, edge) };
        return decoder.binary(instruction, scalar, what);
    }
    if modifiers.flag("cc") {
        carried(scalar)?;
        let carry = Carry { long: int(scalar)?.is_long(), enter: false, leave: true };
        let what = if subtract { Compute::SubtractCarry(carry) } else { Compute::AddCarry(carry) };
        return decoder.binary(instruction, scalar, what);
    }
    let saturate = modifiers.flag("sat");
    if saturate && scalar != ScalarType::S32 {
        return Err(Why::Other("`.sat` is for s32 and floating-point numbers only"));
    }
    let what = match (saturate, subtract) {
        (true, false) => Compute::AddSaturating,
        (true, true) => Compute::SubtractSaturating,
        (false, false) => Compute::Add(unsigned(int(scalar)?)),
        (false, true) => Compute::Subtract(unsigned(int(scalar)?)),
    };
    decoder.binary(instruction, scalar, what)
}

/// Sixteen bits have no carry.
fn carried(scalar: ScalarType) -> Decoded {
    if types::WIDE.hold(scalar) { Ok(()) } else { Err(Why::Other("`.cc` is for 32 and 64 bits only")) }
}

/// The same result by the same instruction, for either sign.
fn unsigned(int: Int) -> Int {
    match int {
        Int::S16 => Int::U16,
        Int::S32 => Int::U32,
        Int::S64 => Int::U64,
        other => other,
    }
}

pub(super) fn pair(word: &str) -> Option<bool> {
    match word {
        "u16x2" => Some(false),
        "s16x2" => Some(true),
        _ => None,
    }
}

pub(super) fn add_carry<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let leave = modifiers.flag("cc");
    let scalar = modifiers.one_of(types::INTEGERS)?;
    if leave {
        carried(scalar)?;
    }
    let carry = Carry { long: int(scalar)?.is_long(), enter: true, leave };
    let subtract = instruction.opcode == "subc";
    let what = if subtract { Compute::SubtractCarry(carry) } else { Compute::AddCarry(carry) };
    decoder.binary(instruction, scalar, what)
}

/// The part of a product that is kept.
enum Part {
    Low,
    High,
    Wide,
}

fn part(modifiers: &mut Modifiers) -> Option<Part> {
    modifiers.pick(|word| {
        Some(match word {
            "lo" => Part::Low,
            "hi" => Part::High,
            "wide" => Part::Wide,
            _ => return None,
        })
    })
}

/// Only products of integers have parts.
fn whole(scalar: ScalarType, part: Option<&Part>) -> Decoded {
    let floating = float::is_float(scalar) || half::half(scalar).is_some();
    if floating && part.is_some() { Err(Why::Other("only products of integers have parts")) } else { Ok(()) }
}

fn widened(scalar: ScalarType) -> Decoded<ScalarType> {
    Ok(match scalar {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        _ => return Err(Why::Other("there is nothing wider than 64 bits")),
    })
}

pub(super) fn multiply<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let part = part(modifiers);
    let scalar = modifiers.one_of(types::NUMBERS)?;
    whole(scalar, part.as_ref())?;
    if float::is_float(scalar) {
        return float::multiply(decoder, instruction, modifiers, scalar);
    }
    if let Some(half) = half::half(scalar) {
        let edge = half::edge(modifiers, half, false)?;
        return decoder.binary(instruction, scalar, Compute::MultiplyHalf(half, edge));
    }
    match part.ok_or(Why::Missing("`.lo`, `.hi` or `.wide`"))? {
        Part::Low => decoder.binary(instruction, scalar, Compute::Multiply(unsigned(int(scalar)?))),
        Part::High => decoder.binary(instruction, scalar, Compute::MultiplyHigh(int(scalar)?)),
        Part::Wide => {
            let [d, a, b] = decoder.operands(instruction, "3")?;
            let d = decoder.result(d, file(widened(scalar)?))?;
            let slots = [d, decoder.value(a, scalar)?, decoder.value(b, scalar)?];
            decoder.emit(Operation::Compute(Compute::MultiplyWide(int(scalar)?)), &slots);
            Ok(())
        }
    }
}

pub(super) fn multiply_add<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let part = part(modifiers);
    let scalar = modifiers.one_of(types::NUMBERS)?;
    whole(scalar, part.as_ref())?;
    if float::is_float(scalar) {
        return float::multiply_add(decoder, instruction, modifiers, scalar);
    }
    let fused = instruction.opcode == "fma";
    if let (Some(half), true) = (half::half(scalar), fused) {
        let edge = half::edge(modifiers, half, true)?;
        return decoder.ternary(instruction, scalar, Compute::FusedHalf(half, edge));
    }
    if fused {
        return Err(Why::Other("it is for floating-point numbers only"));
    }
    let int = int(scalar)?;
    let (cc, saturate) = (modifiers.flag("cc"), modifiers.flag("sat"));
    if cc {
        carried(scalar)?;
    }
    if saturate && (scalar != ScalarType::S32 || !matches!(part, Some(Part::High))) {
        return Err(Why::Other("`.sat` is for `.hi` of s32 only"));
    }
    match part.ok_or(Why::Missing("`.lo`, `.hi` or `.wide`"))? {
        Part::Wide => decoder.widening(instruction, scalar, widened(scalar)?, Compute::MultiplyAddWide(int)),
        part if cc => {
            let carry = Carry { long: int.is_long(), enter: false, leave: true };
            let signed = matches!(int, Int::S32 | Int::S64);
            let high = matches!(part, Part::High);
            decoder.ternary(instruction, scalar, Compute::MultiplyAddCarry { high, signed, carry })
        }
        Part::High if saturate => decoder.ternary(instruction, scalar, Compute::MultiplyAddHighSaturating),
        Part::Low => decoder.ternary(instruction, scalar, Compute::MultiplyAdd(unsigned(int))),
        Part::High => decoder.ternary(instruction, scalar, Compute::MultiplyAddHigh(int)),
    }
}

pub(super) fn multiply_add_carry<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let high = match part(modifiers) {
        Some(Part::Low) => false,
        Some(Part::High) => true,
        _ => return Err(Why::Missing("`.lo` or `.hi`")),
    };
    let leave = modifiers.flag("cc");
    let scalar = modifiers.one_of(types::INTEGERS)?;
    if leave {
        carried(scalar)?;
    }
    let int = int(scalar)?;
    let carry = Carry { long: int.is_long(), enter: true, leave };
    let signed = matches!(int, Int::S32 | Int::S64);
    decoder.ternary(instruction, scalar, Compute::MultiplyAddCarry { high, signed, carry })
}

pub(super) fn short<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let high = match part(modifiers) {
        Some(Part::Low) => false,
        Some(Part::High) => true,
        _ => return Err(Why::Missing("`.lo` or `.hi`")),
    };
    let scalar = modifiers.one_of(types::WORDS)?;
    let signed = scalar == ScalarType::S32;
    if high && signed && instruction.opcode == "mad24" && modifiers.flag("sat") {
        decoder.ternary(instruction, scalar, Compute::MultiplyAdd24Saturating)
    } else if instruction.opcode == "mul24" {
        decoder.binary(instruction, scalar, Compute::Multiply24 { high, signed })
    } else {
        decoder.ternary(instruction, scalar, Compute::MultiplyAdd24 { high, signed })
    }
}

pub(super) fn divide<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::INTEGERS.and(types::FLOATS))?;
    let remainder = instruction.opcode == "rem";
    if float::is_float(scalar) && !remainder {
        return float::divide(decoder, instruction, modifiers, scalar);
    }
    let int = int(scalar)?;
    decoder.binary(instruction, scalar, if remainder { Compute::Remainder(int) } else { Compute::Divide(int) })
}

pub(super) fn distance<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::INTEGERS)?;
    decoder.ternary(instruction, scalar, Compute::Distance(int(scalar)?))
}

pub(super) fn sign<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::SIGNED.and(types::FLOATS).and(types::HALVES))?;
    let negate = instruction.opcode == "neg";
    let what = match (scalar, negate) {
        (ScalarType::F32, true) => Compute::NegateSingle(modifiers.flag("ftz")),
        (ScalarType::F32, false) => Compute::MagnitudeSingle(modifiers.flag("ftz")),
        (ScalarType::F64, true) => Compute::NegateDouble,
        (ScalarType::F64, false) => Compute::MagnitudeDouble,
        _ => match half::half(scalar) {
            Some(half) if negate => Compute::NegateHalf(half, half::flush(modifiers, scalar)),
            Some(half) => Compute::MagnitudeHalf(half, half::flush(modifiers, scalar)),
            None if negate => Compute::Negate(int(scalar)?),
            None => Compute::Magnitude(int(scalar)?),
        },
    };
    decoder.unary(instruction, scalar, what)
}

pub(super) fn dot<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let halves = instruction.opcode == "dp2a";
    let high = match part(modifiers) {
        Some(Part::High) if halves => true,
        Some(Part::Low) if halves => false,
        None if !halves => false,
        _ => return Err(Why::Missing("`.lo` or `.hi`")),
    };
    let mut signed = || Ok(modifiers.one_of(types::WORDS)? == ScalarType::S32);
    let signed = [signed()?, signed()?];
    let what = if halves { Compute::DotHalves { high, signed } } else { Compute::DotBytes { signed } };
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let word = ScalarType::B32;
    let slots: [Slot; 4] =
        [decoder.result(d, File::Words)?, decoder.value(a, word)?, decoder.value(b, word)?, decoder.value(c, word)?];
    decoder.emit(Operation::Compute(what), &slots);
    Ok(())
}
