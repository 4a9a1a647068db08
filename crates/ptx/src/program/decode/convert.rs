//! `mov`, `cvt`, `cvta` and other conversions.

use super::super::compute::{Cast, Compute, Int};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::file;
use super::conversion::Form;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, pair, types};
use crate::arith::bits::Permutation;
use crate::arith::convert::{Conversion, Number};
use crate::arith::round::{Format, Rounding};
use crate::syntax::{Immediate, Instruction, Operand, ScalarType};

pub(super) fn mov<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.one_of(types::MOVED.and(types::PREDICATE).and(types::PAIRS))?;
    let [d, a] = decoder.operands(instruction, "2")?;
    if scalar == ScalarType::B128 {
        return pair::mov(decoder, d, a);
    }
    match (d, a) {
        (Operand::Vector(parts), _) => return unpack(decoder, parts, a, scalar),
        (_, Operand::Vector(parts)) => return pack(decoder, d, parts, scalar),
        _ => {}
    }
    if scalar == ScalarType::Predicate {
        if super::cluster::move_explicit(decoder, d, a)? {
            return Ok(());
        }
        let slots = [decoder.result(d, File::Predicates)?, decoder.predicate(a)?];
        decoder.emit(Operation::Compute(Compute::PredicateMove), &slots);
        return Ok(());
    }
    if decoder.move_special(d, a, scalar)? {
        return Ok(());
    }
    let what = if scalar.size() > 4 { Compute::MoveLong } else { Compute::Move };
    // Numbers are bits here, of any type.
    let a = match a {
        Operand::Immediate(Immediate::F32(bits)) if scalar != ScalarType::F64 => decoder.word(*bits),
        _ => decoder.value(a, scalar)?,
    };
    let d = decoder.result(d, file(scalar))?;
    decoder.emit(Operation::Compute(what), &[d, a]);
    Ok(())
}

fn pack<'t>(decoder: &mut Decoder<'_, 't>, d: &Operand<'t>, parts: &[Operand<'t>], scalar: ScalarType) -> Decoded {
    let long = scalar.size() > 4;
    let d = decoder.result(d, file(scalar))?;
    match (parts, long) {
        ([low, high], true) => {
            let slots = [d, decoder.value(low, ScalarType::B32)?, decoder.value(high, ScalarType::B32)?];
            decoder.emit(Operation::Compute(Compute::PackLong), &slots);
        }
        ([low, high], false) if scalar.size() == 4 => {
            let slots = [d, decoder.value(low, ScalarType::B16)?, decoder.value(high, ScalarType::B16)?];
            decoder.emit(Operation::Compute(Compute::PackWord), &slots);
        }
        ([low, high], false) if scalar == ScalarType::B16 => {
            let (bytes, byte) = (decoder.word(0x0040), ScalarType::B16);
            let slots = [d, decoder.value(low, byte)?, decoder.value(high, byte)?, bytes];
            let word = decoder.new_word();
            let [_, low, high, bytes] = slots;
            decoder.prepare(Operation::Compute(Compute::Permute(Permutation::Any)), &[word, low, high, bytes]);
            let cut = Cast::Extend { bits: 16, signed: false };
            decoder.emit(Operation::Compute(Compute::Cast(cut)), &[d, word]);
        }
        ([first, second, third, fourth], false) if scalar.size() == 4 => {
            let (low, high) = (decoder.new_word(), decoder.new_word());
            let byte = ScalarType::B16;
            let (bytes, halves) = (decoder.word(0x0040), decoder.word(0x5410));
            let permute = Operation::Compute(Compute::Permute(Permutation::Any));
            let slots = [low, decoder.value(first, byte)?, decoder.value(second, byte)?, bytes];
            decoder.prepare(permute, &slots);
            let slots = [high, decoder.value(third, byte)?, decoder.value(fourth, byte)?, bytes];
            decoder.prepare(permute, &slots);
            decoder.emit(permute, &[d, low, high, halves]);
        }
        ([first, second, third, fourth], true) => {
            let (low, high) = (decoder.new_word(), decoder.new_word());
            let half = ScalarType::B16;
            let slots = [low, decoder.value(first, half)?, decoder.value(second, half)?];
            decoder.prepare(Operation::Compute(Compute::PackWord), &slots);
            let slots = [high, decoder.value(third, half)?, decoder.value(fourth, half)?];
            decoder.prepare(Operation::Compute(Compute::PackWord), &slots);
            decoder.emit(Operation::Compute(Compute::PackLong), &[d, low, high]);
        }
        _ => return Err(Why::Other("vectors of this shape cannot be packed here")),
    }
    Ok(())
}

fn unpack<'t>(decoder: &mut Decoder<'_, 't>, parts: &[Operand<'t>], a: &Operand<'t>, scalar: ScalarType) -> Decoded {
    let long = scalar.size() > 4;
    let from = decoder.value(a, scalar)?;
    match (parts, long) {
        ([low, high], true) => {
            let slots = [decoder.result(low, File::Words)?, decoder.result(high, File::Words)?, from];
            decoder.emit(Operation::Compute(Compute::UnpackLong), &slots);
        }
        ([low, high], false) if scalar.size() == 4 => {
            let slots = [decoder.result(low, File::Words)?, decoder.result(high, File::Words)?, from];
            decoder.emit(Operation::Compute(Compute::UnpackWord), &slots);
        }
        (parts @ [_, _], false) if scalar == ScalarType::B16 => {
            let field = Operation::Compute(Compute::Field(Int::U32));
            let (length, bytes) = (decoder.word(8), [0; 2].map(|_: u8| decoder.new_word()));
            for (index, byte) in bytes.into_iter().enumerate() {
                let start = decoder.word(8 * index as u32);
                decoder.prepare(field, &[byte, from, start, length]);
            }
            for (part, byte) in parts.iter().zip(bytes) {
                let d = decoder.result(part, File::Words)?;
                decoder.emit(Operation::Compute(Compute::Move), &[d, byte]);
            }
        }
        (parts @ [_, _, _, _], false) if scalar.size() == 4 => {
            // A part may be the source itself, so they wait until all are known.
            let field = Operation::Compute(Compute::Field(Int::U32));
            let (length, bytes) = (decoder.word(8), [0; 4].map(|_: u8| decoder.new_word()));
            for (index, byte) in bytes.into_iter().enumerate() {
                let start = decoder.word(8 * index as u32);
                decoder.prepare(field, &[byte, from, start, length]);
            }
            for (part, byte) in parts.iter().zip(bytes) {
                let d = decoder.result(part, File::Words)?;
                decoder.emit(Operation::Compute(Compute::Move), &[d, byte]);
            }
        }
        ([first, second, third, fourth], true) => {
            let (low, high) = (decoder.new_word(), decoder.new_word());
            decoder.prepare(Operation::Compute(Compute::UnpackLong), &[low, high, from]);
            let slots = [decoder.result(first, File::Words)?, decoder.result(second, File::Words)?, low];
            decoder.emit(Operation::Compute(Compute::UnpackWord), &slots);
            let slots = [decoder.result(third, File::Words)?, decoder.result(fourth, File::Words)?, high];
            decoder.emit(Operation::Compute(Compute::UnpackWord), &slots);
        }
        _ => return Err(Why::Other("vectors of this shape cannot be unpacked here")),
    }
    Ok(())
}

fn number(word: &str) -> Option<Number> {
    let integer = |bits, signed| Number::Integer { bits, signed };
    Some(match word {
        "u8" => integer(8, false),
        "u16" => integer(16, false),
        "u32" => integer(32, false),
        "u64" => integer(64, false),
        "s8" => integer(8, true),
        "s16" => integer(16, true),
        "s32" => integer(32, true),
        "s64" => integer(64, true),
        "f16" => Number::Float(Format::HALF),
        "bf16" => Number::Float(Format::BRAIN),
        "f32" => Number::Float(Format::SINGLE),
        "f64" => Number::Float(Format::DOUBLE),
        "tf32" => Number::Float(Format::TENSOR),
        _ => return None,
    })
}

/// Two of a format in one register.
fn pair(word: &str) -> Option<Format> {
    Some(match word {
        "f16x2" => Format::HALF,
        "bf16x2" => Format::BRAIN,
        "e4m3x2" => Format::E4M3,
        "e5m2x2" => Format::E5M2,
        _ => return None,
    })
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c`
fn pack_integers<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if !modifiers.flag("sat") {
        return Err(Why::Missing("`.sat`"));
    }
    let narrow = modifiers.pick(|word| {
        let (sign, bits) = word.split_at_checked(1)?;
        let bits = bits.parse::<u8>().ok().filter(|bits| matches!(bits, 2 | 4 | 8 | 16))?;
        matches!(sign, "u" | "s").then_some((bits, sign == "s"))
    });
    let (bits, signed) = narrow.ok_or(Why::Missing("the type that it packs"))?;
    if modifiers.scalar()? != ScalarType::S32 {
        return Err(Why::Other("it packs s32 only"));
    }
    let what = Operation::Compute(Compute::Pack { bits, signed });
    let word = ScalarType::B32;
    let (d, a, b, above) = if bits == 16 {
        let [d, a, b] = decoder.operands(instruction, "3")?;
        (d, a, b, decoder.word(0))
    } else {
        if modifiers.scalar()? != word {
            return Err(Why::Missing("`.b32`"));
        }
        let [d, a, b, c] = decoder.operands(instruction, "4")?;
        (d, a, b, decoder.value(c, word)?)
    };
    let slots = [decoder.result(d, File::Words)?, decoder.value(a, word)?, decoder.value(b, word)?, above];
    decoder.emit(what, &slots);
    Ok(())
}

pub(super) fn cvt<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if modifiers.flag("pack") {
        return pack_integers(decoder, instruction, modifiers);
    }
    let integral = modifiers.integer_rounding();
    let rounding = modifiers.rounding();
    let (flush, saturate) = (modifiers.flag("ftz"), modifiers.flag("sat"));
    let (rectify, finite) = (modifiers.flag("relu"), modifiers.flag("satfinite"));
    let into_pair = modifiers.pick(pair);
    let to = match into_pair {
        Some(format) => Number::Float(format),
        None => modifiers.pick(number).ok_or(Why::Missing("a type"))?,
    };
    let from_pair = if into_pair.is_some() { modifiers.pick(pair) } else { None };
    let from = match from_pair {
        Some(format) => Number::Float(format),
        None => modifiers.pick(number).ok_or(Why::Missing("the type that it converts"))?,
    };
    let form = Form { to, from, pair: into_pair.is_some(), integral, rounding, flush, saturate, finite, rectify };
    if let Some(refusal) = form.refusal() {
        return Err(Why::Other(refusal));
    }
    let conversion = Conversion {
        to,
        from,
        rounding: integral.or(rounding).unwrap_or(Rounding::Nearest),
        integral: integral.is_some(),
        saturate,
        finite,
        rectify,
        flush,
    };
    let (to_long, from_long) = (to.bits() > 32, from.bits() > 32);
    if from_pair.is_some() {
        if to.bits() == from.bits() {
            return Err(Why::Other("there is nothing to convert"));
        }
        let [d, a] = decoder.operands(instruction, "2")?;
        let slots =
            [decoder.result(d, File::Words)?, decoder.value(a, ScalarType::B32)?, decoder.conversion(conversion)];
        decoder.emit(Operation::Compute(Compute::ConvertEach), &slots);
        return Ok(());
    }
    if into_pair.is_some() {
        if from != Number::Float(Format::SINGLE) {
            return Err(Why::Other("a pair is made of two f32"));
        }
        let [d, high, low] = decoder.operands(instruction, "3")?;
        let d = decoder.result(d, File::Words)?;
        let (high, low) = (decoder.value(high, ScalarType::F32)?, decoder.value(low, ScalarType::F32)?);
        let conversion = decoder.conversion(conversion);
        decoder.emit(Operation::Compute(Compute::ConvertPair), &[d, high, low, conversion]);
        return Ok(());
    }
    let [d, a] = decoder.operands(instruction, "2")?;
    if form.needs_byte() {
        let (index, integer) = if matches!(to, Number::Integer { .. }) { (0, d) } else { (1, a) };
        let is_byte = matches!(integer, Operand::Sink) || decoder.is_narrow(integer, 1);
        if !is_byte {
            return Err(Why::Operand { index, expected: "a register that is declared with 8 bits" });
        }
    }
    let scalar = match from {
        Number::Float(Format::SINGLE) => ScalarType::F32,
        Number::Float(Format::DOUBLE) => ScalarType::F64,
        _ if from_long => ScalarType::B64,
        _ => ScalarType::B32,
    };
    let (wide_source, a) = source(decoder, a, scalar)?;
    let (found, d) = match d {
        Operand::Sink => (if to_long { File::Longs } else { File::Words }, Slot::SINK),
        _ => decoder.any_result(d)?,
    };
    // A narrow integer may go to, or come from, a wider register.
    let wide_result = match found {
        File::Words if !to_long => false,
        File::Longs => true,
        _ => return Err(Why::Operand { index: 0, expected: "a register that is wide enough" }),
    };
    let into = if wide_result && !to_long { decoder.new_word() } else { d };
    if let Some(quick) = (wide_source == from_long).then(|| quick(conversion)).flatten() {
        decoder.emit(Operation::Compute(Compute::Cast(quick)), &[into, a]);
    } else {
        let index = decoder.conversion(conversion);
        let what = Compute::Convert { from_long: wide_source, to_long };
        decoder.emit(Operation::Compute(what), &[into, a, index]);
    }
    if wide_result && !to_long {
        let signed = matches!(to, Number::Integer { signed: true, .. });
        let extend = Cast::ExtendLong { bits: to.bits().min(32) as u8, signed };
        decoder.emit(Operation::Compute(Compute::Cast(extend)), &[d, into]);
    }
    if let Number::Float(Format::TENSOR) = to {
        // The nineteen bits are the upper ones of the register.
        let count = decoder.word(13);
        let shift = Compute::ShiftLeft(Int::U32);
        decoder.emit(Operation::Compute(shift), &[d, d, count]);
    }
    Ok(())
}

/// The source of a conversion, in the register file that it lies in.
fn source<'t>(decoder: &mut Decoder<'_, 't>, operand: &Operand<'t>, scalar: ScalarType) -> Decoded<(bool, Slot)> {
    if let Ok((file @ (File::Words | File::Longs), slot)) = decoder.any_register(operand, 1) {
        return Ok((file == File::Longs, slot));
    }
    Ok((scalar.size() > 4, decoder.value(operand, scalar)?))
}

/// Conversions that the processor does the same way.
fn quick(conversion: Conversion) -> Option<Cast> {
    use Number::{Float, Integer};
    let Conversion { to, from, rounding, integral, saturate, finite, rectify, flush } = conversion;
    if saturate || finite || rectify || flush {
        return None;
    }
    let (near, zero) = (rounding == Rounding::Nearest, rounding == Rounding::Zero && integral);
    Some(match (from, to) {
        (Integer { bits: from @ ..=32, signed: from_signed }, Integer { bits: to @ ..=32, signed: to_signed }) => {
            let (bits, signed) = if to <= from { (to, to_signed) } else { (from, from_signed) };
            // A sign-extended value is cut to its type again when it is read.
            Cast::Extend { bits: bits as u8, signed }
        }
        (Integer { bits: from @ ..=32, signed }, Integer { bits: 64, .. }) => {
            Cast::ExtendLong { bits: from as u8, signed }
        }
        (Integer { bits: 64, .. }, Integer { bits: to @ ..=32, signed }) => Cast::Cut { bits: to as u8, signed },
        (Integer { bits: 32, signed: true }, Float(Format::SINGLE)) if near => Cast::SignedToSingle,
        (Integer { bits: 32, signed: false }, Float(Format::SINGLE)) if near => Cast::UnsignedToSingle,
        (Integer { bits: 32, signed: true }, Float(Format::DOUBLE)) => Cast::SignedToDouble,
        (Integer { bits: 32, signed: false }, Float(Format::DOUBLE)) => Cast::UnsignedToDouble,
        (Integer { bits: 64, signed: true }, Float(Format::SINGLE)) if near => Cast::LongToSingle,
        (Integer { bits: 64, signed: true }, Float(Format::DOUBLE)) if near => Cast::LongToDouble,
        (Integer { bits: 64, signed: false }, Float(Format::SINGLE)) if near => Cast::UnsignedLongToSingle,
        (Integer { bits: 64, signed: false }, Float(Format::DOUBLE)) if near => Cast::UnsignedLongToDouble,
        (Float(Format::SINGLE), Integer { bits: 32, signed: true }) if zero => Cast::SingleToSigned,
        (Float(Format::SINGLE), Integer { bits: 32, signed: false }) if zero => Cast::SingleToUnsigned,
        (Float(Format::DOUBLE), Integer { bits: 32, signed: true }) if zero => Cast::DoubleToSigned,
        (Float(Format::SINGLE), Float(Format::DOUBLE)) if !integral => Cast::SingleToDouble,
        (Float(Format::DOUBLE), Float(Format::SINGLE)) if near && !integral => Cast::DoubleToSingle,
        (Float(Format::HALF), Float(Format::SINGLE)) if !integral => Cast::HalfToSingle,
        (Float(Format::SINGLE), Float(Format::HALF)) if near && !integral => Cast::SingleToHalf,
        (Float(Format::BRAIN), Float(Format::SINGLE)) if !integral => Cast::BrainToSingle,
        (Float(Format::SINGLE), Float(Format::BRAIN)) if near && !integral => Cast::SingleToBrain,
        _ => return None,
    })
}
