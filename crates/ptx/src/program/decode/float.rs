//! Single and double precision.

use super::super::compute::{Compute, Function};
use super::super::operation::Operation;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, half, types};
use crate::arith::compare::Property;
use crate::arith::extreme::Choice;
use crate::arith::float::Mode;
use crate::arith::round::Rounding;
use crate::syntax::{Instruction, ScalarType};

pub(super) fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F32 | ScalarType::F64)
}

fn mode(modifiers: &mut Modifiers) -> Mode {
    Mode {
        rounding: modifiers.rounding().unwrap_or(Rounding::Nearest),
        flush: modifiers.flag("ftz"),
        saturate: modifiers.flag("sat"),
    }
}

/// An instruction without a default rounding has to name one.
fn stated(modifiers: &Modifiers) -> Decoded {
    let known = |word: &str| matches!(word, "rn" | "rz" | "rm" | "rp");
    if modifiers.any(known) { Ok(()) } else { Err(Why::Missing("a rounding such as `.rn`")) }
}

fn rounding(modifiers: &mut Modifiers) -> Rounding {
    modifiers.rounding().unwrap_or(Rounding::Nearest)
}

/// The modifiers of `min` and `max`; those that a type does not have are left for the modifiers to refuse.
pub(super) fn choice(modifiers: &mut Modifiers, greater: bool, scalar: ScalarType) -> Choice {
    if scalar == ScalarType::F64 {
        return Choice { greater, strict: false, flush: false, signs: false };
    }
    let signs = modifiers.flag("xorsign") && modifiers.flag("abs");
    Choice { greater, strict: modifiers.flag("NaN"), flush: half::flush(modifiers, scalar), signs }
}

pub(super) fn add<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    scalar: ScalarType,
    subtract: bool,
) -> Decoded {
    let what = match (scalar, subtract) {
        (ScalarType::F32, false) => Compute::AddSingle(mode(modifiers)),
        (ScalarType::F32, true) => Compute::SubtractSingle(mode(modifiers)),
        (_, false) => Compute::AddDouble(rounding(modifiers)),
        (_, true) => Compute::SubtractDouble(rounding(modifiers)),
    };
    decoder.binary(instruction, scalar, what)
}

pub(super) fn multiply<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    scalar: ScalarType,
) -> Decoded {
    let single = scalar == ScalarType::F32;
    let what =
        if single { Compute::MultiplySingle(mode(modifiers)) } else { Compute::MultiplyDouble(rounding(modifiers)) };
    decoder.binary(instruction, scalar, what)
}

pub(super) fn multiply_add<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    scalar: ScalarType,
) -> Decoded {
    stated(modifiers)?;
    let single = scalar == ScalarType::F32;
    let what = if single { Compute::FusedSingle(mode(modifiers)) } else { Compute::FusedDouble(rounding(modifiers)) };
    decoder.ternary(instruction, scalar, what)
}

pub(super) fn divide<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    scalar: ScalarType,
) -> Decoded {
    let what = if scalar == ScalarType::F64 {
        stated(modifiers)?;
        Compute::DivideDouble(rounding(modifiers))
    } else if modifiers.flag("approx") {
        Compute::QuotientApproximate(modifiers.flag("ftz"))
    } else if modifiers.flag("full") {
        Compute::QuotientFull(modifiers.flag("ftz"))
    } else {
        stated(modifiers)?;
        let (rounding, flush) = (rounding(modifiers), modifiers.flag("ftz"));
        Compute::DivideSingle(Mode { rounding, flush, saturate: false })
    };
    decoder.binary(instruction, scalar, what)
}

/// Functions of one operand.
pub(super) fn function<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let function = match instruction.opcode {
        "rcp" => Function::Reciprocal,
        "sqrt" => Function::Root,
        "rsqrt" => Function::ReciprocalRoot,
        "sin" => Function::Sine,
        "cos" => Function::Cosine,
        "lg2" => Function::Logarithm,
        "ex2" => Function::Exponential,
        _ => Function::Tangent,
    };
    let approximate = modifiers.flag("approx");
    if !approximate {
        stated(modifiers)?;
    }
    let scalar = modifiers.scalar()?;
    let what = match (scalar, function) {
        (ScalarType::F32, Function::Tangent) => Compute::Approximate(function, false),
        (ScalarType::F32, _) if approximate => Compute::Approximate(function, modifiers.flag("ftz")),
        (ScalarType::F32, Function::Reciprocal) => Compute::ReciprocalSingle(mode(modifiers)),
        (ScalarType::F32, Function::Root) => Compute::RootSingle(mode(modifiers)),
        (ScalarType::F64, Function::Reciprocal) if approximate => {
            if !modifiers.flag("ftz") {
                return Err(Why::Missing("`.ftz`"));
            }
            Compute::ReciprocalHalfway
        }
        (ScalarType::F64, Function::ReciprocalRoot) if approximate && modifiers.flag("ftz") => {
            Compute::ReciprocalRootHalfway
        }
        (ScalarType::F64, Function::ReciprocalRoot) if approximate => Compute::ReciprocalRootDouble,
        (ScalarType::F64, Function::Reciprocal) => Compute::ReciprocalDouble(rounding(modifiers)),
        (ScalarType::F64, Function::Root) if !approximate => Compute::RootDouble(rounding(modifiers)),
        (_, Function::Exponential | Function::Tangent) => {
            let half = half::half(scalar).ok_or(Why::Other("it is not for this type"))?;
            // Powers of bf16 are always flushed, and say so; nothing else is.
            let flush = types::BRAINS.hold(scalar) && function == Function::Exponential;
            if flush && !modifiers.flag("ftz") {
                return Err(Why::Missing("`.ftz`"));
            }
            Compute::ApproximateHalf(half, function, flush)
        }
        _ => return Err(Why::Other("it is not for this type")),
    };
    decoder.unary(instruction, scalar, what)
}

pub(super) fn copy_sign<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.scalar()?;
    let what = match scalar {
        ScalarType::F32 => Compute::CopySign,
        ScalarType::F64 => Compute::CopySignDouble,
        _ => return Err(Why::Other("it is not for this type")),
    };
    decoder.binary(instruction, scalar, what)
}

pub(super) fn test<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let property = modifiers.pick(Property::of).ok_or(Why::Missing("a property such as `.finite`"))?;
    let scalar = modifiers.one_of(types::FLOATS)?;
    let [p, a] = decoder.operands(instruction, "2")?;
    let slots = [decoder.result(p, File::Predicates)?, decoder.value(a, scalar)?];
    decoder.emit(Operation::Compute(Compute::Test { long: scalar == ScalarType::F64, property }), &slots);
    Ok(())
}
