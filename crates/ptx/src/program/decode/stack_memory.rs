//! Memory on the stack of a thread: `alloca`, `stacksave`, `stackrestore`.

use super::super::operation::Operation;
use super::super::slot::Slot;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Immediate, Instruction, Operand, ScalarType};

/// The alignment of memory that names none.
const ALIGNMENT: u32 = 8;

/// Takes the type of addresses.
fn address(modifiers: &mut Modifiers) -> Decoded<(ScalarType, File)> {
    let found = modifiers.pick(|word| match word {
        "u32" => Some((ScalarType::U32, File::Words)),
        "u64" => Some((ScalarType::U64, File::Longs)),
        _ => None,
    });
    found.ok_or(Why::Missing("`.u32` or `.u64`"))
}

/// `alloca.u64 pointer, bytes, 16`
pub(super) fn allocate<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (scalar, file) = address(modifiers)?;
    let (pointer, bytes, alignment) = match instruction.operands.as_slice() {
        [pointer, bytes] => (pointer, bytes, ALIGNMENT),
        [pointer, bytes, alignment] => (pointer, bytes, power_of_two(alignment)?),
        all => return Err(Why::Count { found: all.len(), expected: "2 or 3" }),
    };
    let slots = [decoder.result(pointer, file)?, decoder.value(bytes, scalar)?, Slot::raw(alignment)];
    decoder.emit(Operation::StackAllocate { long: file == File::Longs }, &slots);
    Ok(())
}

fn power_of_two(operand: &Operand<'_>) -> Decoded<u32> {
    let number = match operand {
        Operand::Immediate(Immediate::Integer(number)) => u32::try_from(number.bits).ok(),
        _ => None,
    };
    let is_valid = |number: &u32| number.is_power_of_two();
    number.filter(is_valid).ok_or(Why::Operand { index: 2, expected: "an alignment, a power of two" })
}

/// `stacksave.u64 end`
pub(super) fn save<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (_, file) = address(modifiers)?;
    let [end] = decoder.operands(instruction, "1")?;
    let end = decoder.result(end, file)?;
    decoder.emit(Operation::StackSave { long: file == File::Longs }, &[end]);
    Ok(())
}

/// `stackrestore.u64 end`
pub(super) fn restore<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (scalar, file) = address(modifiers)?;
    let [end] = decoder.operands(instruction, "1")?;
    if matches!(end, Operand::Immediate(_)) {
        return Err(Why::Operand { index: 0, expected: "a register" });
    }
    let end = decoder.value(end, scalar)?;
    decoder.emit(Operation::StackRestore { long: file == File::Longs }, &[end]);
    Ok(())
}
