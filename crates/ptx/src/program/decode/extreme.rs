//! `min` and `max`, of two or three.

use super::super::compute::{Compute, Int};
use super::super::operation::Operation;
use super::arithmetic::{file, int, pair};
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, float, half, types};
use crate::syntax::{Instruction, ScalarType};

pub(super) fn decode<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let greater = instruction.opcode == "max";
    let rectify = modifiers.flag("relu");
    if let Some(signed) = modifiers.pick(pair) {
        let what = Compute::PairExtreme { greater, signed };
        if rectify {
            if !signed {
                return Err(Why::Modifier("relu".to_owned()));
            }
            let floor = Compute::PairExtreme { greater: true, signed };
            return rectified(decoder, instruction, what, floor);
        }
        return decoder.binary(instruction, ScalarType::B32, what);
    }
    let scalar = modifiers.one_of(types::NUMBERS)?;
    if rectify {
        let what = match scalar {
            ScalarType::S32 if greater => Compute::Maximum(Int::S32),
            ScalarType::S32 => Compute::Minimum(Int::S32),
            _ => return Err(Why::Other("`.relu` is for s32 and s16x2 only")),
        };
        return rectified(decoder, instruction, what, Compute::Maximum(Int::S32));
    }
    let what = match scalar {
        ScalarType::F32 => Compute::ExtremeSingle(float::choice(modifiers, greater, scalar)),
        ScalarType::F64 => Compute::ExtremeDouble(float::choice(modifiers, greater, scalar)),
        _ => match half::half(scalar) {
            Some(half) => Compute::ExtremeHalf(half, float::choice(modifiers, greater, scalar)),
            None if greater => Compute::Maximum(int(scalar)?),
            None => Compute::Minimum(int(scalar)?),
        },
    };
    if instruction.operands.len() == 4 {
        // Of three: of the first two, then of that and the third.
        let [d, a, b, c] = decoder.operands(instruction, "3 or 4")?;
        let d = decoder.result(d, file(scalar))?;
        let (a, b, c) = (decoder.value(a, scalar)?, decoder.value(b, scalar)?, decoder.value(c, scalar)?);
        let first = decoder.new_word();
        if scalar.size() > 4 {
            return Err(Why::Other("it is for 32 bits only"));
        }
        decoder.prepare(Operation::Compute(what), &[first, a, b]);
        decoder.emit(Operation::Compute(what), &[d, first, c]);
        return Ok(());
    }
    decoder.binary(instruction, scalar, what)
}

/// `min.relu`, `max.relu`: negative results become zero.
fn rectified<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    what: Compute,
    floor: Compute,
) -> Decoded {
    let [d, a, b] = decoder.operands(instruction, "3")?;
    let d = decoder.result(d, File::Words)?;
    let (a, b) = (decoder.value(a, ScalarType::B32)?, decoder.value(b, ScalarType::B32)?);
    let (chosen, zero) = (decoder.new_word(), decoder.word(0));
    decoder.prepare(Operation::Compute(what), &[chosen, a, b]);
    decoder.emit(Operation::Compute(floor), &[d, chosen, zero]);
    Ok(())
}
