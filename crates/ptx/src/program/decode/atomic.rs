//! Atomic operations, of one value and of several.

use super::super::atomic::{Atom, Change};
use super::super::operation::{Atomic, Operation};
use super::super::slot::Slot;
use super::super::space::Space;
use super::arithmetic::file;
use super::memory::{memory_order, space};
use super::reduction::change;
use super::{Decoded, Decoder, Modifiers, Why, pair};
use crate::syntax::{Instruction, Operand, ScalarType};

pub(super) fn decode<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if instruction.opcode == "red" && instruction.modifiers.first() == Some(&"async") {
        return super::bulk_copy::store(decoder, instruction, modifiers);
    }
    if instruction.opcode == "red" && modifiers.any(|word| matches!(word, "acquire" | "acq_rel")) {
        return Err(Why::Other("without a result there is nothing to acquire"));
    }
    let is_hinted = instruction.modifiers.contains(&"L2::cache_hint");
    memory_order(modifiers);
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let unflushed = modifiers.flag("noftz");
    let change = modifiers.pick(change).ok_or(Why::Missing("what it does, such as `.add`"))?;
    if instruction.opcode == "red" && matches!(change, Change::Exchange | Change::CompareAndSwap) {
        return Err(Why::Other("without a result it only adds, compares or combines; use `atom`"));
    }
    let count = modifiers.pick(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let scalar = modifiers.scalar()?;
    if scalar == ScalarType::B128 && count.is_none() && !unflushed {
        return pair::atomic(decoder, instruction, space, (change, is_hinted));
    }
    let floating = matches!(change, Change::Add | Change::Minimum | Change::Maximum);
    let atom = match scalar {
        ScalarType::B16 | ScalarType::U16 => Atom::U16,
        ScalarType::U32 | ScalarType::B32 => Atom::U32,
        ScalarType::S32 => Atom::S32,
        ScalarType::U64 | ScalarType::B64 => Atom::U64,
        ScalarType::S64 => Atom::S64,
        ScalarType::F16 if floating => Atom::F16,
        ScalarType::F16x2 if floating => Atom::F16x2,
        ScalarType::Bf16 if floating => Atom::Bf16,
        ScalarType::Bf16x2 if floating => Atom::Bf16x2,
        ScalarType::F32 if change == Change::Add && unflushed => Atom::WholeF32,
        ScalarType::F32 if change == Change::Add => Atom::F32,
        ScalarType::F64 if change == Change::Add => Atom::F64,
        _ => return Err(Why::Other("it is not for this type")),
    };
    let halves = matches!(atom, Atom::F16 | Atom::F16x2 | Atom::Bf16 | Atom::Bf16x2);
    if unflushed != (halves || atom == Atom::WholeF32) {
        return Err(Why::Other("`.noftz` goes with f16 and bf16, and with sums of f32"));
    }
    let bits = matches!(scalar, ScalarType::B16 | ScalarType::B32 | ScalarType::B64);
    let suits = match change {
        Change::Add => !bits && !matches!(atom, Atom::U16 | Atom::S64),
        Change::Minimum | Change::Maximum => !bits && atom != Atom::U16,
        Change::Increment | Change::Decrement => scalar == ScalarType::U32,
        Change::And | Change::Or | Change::Xor | Change::Exchange => bits && atom != Atom::U16,
        Change::CompareAndSwap => bits,
    };
    if !suits {
        return Err(Why::Other("it is not for this type"));
    }
    let operands = instruction.operands.as_slice();
    if let Some(count) = count {
        return atomic_vector(decoder, instruction, space, (change, atom, scalar), (count, is_hinted));
    }
    if halves && change != Change::Add {
        return Err(Why::Missing("a vector such as `.v2`"));
    }
    let (d, rest) = match (instruction.opcode, operands) {
        ("red", rest) => (Slot::SINK, rest),
        (_, [d, rest @ ..]) => (decoder.result(d, file(scalar))?, rest),
        _ => return Err(Why::Count { found: 0, expected: "3" }),
    };
    let [address, b, rest @ ..] = rest else {
        return Err(Why::Count { found: operands.len(), expected: "an address and a value more" });
    };
    let place = decoder.location(address, space, 1)?;
    if matches!(place.space, Space::Frame | Space::Argument | Space::Parameter | Space::Local) {
        return Err(Why::Other("it is for global and shared memory"));
    }
    let b = decoder.value(b, scalar)?;
    let c = match (change, rest) {
        (Change::CompareAndSwap, [c, ..]) => decoder.value(c, scalar)?,
        (Change::CompareAndSwap, []) => return Err(Why::Count { found: 3, expected: "4" }),
        _ => b,
    };
    let atomic = Atomic { space: place.space, change, scalar: atom, wide: place.wide };
    decoder.emit(Operation::Atomic(atomic), &[d, place.slot, place.offset, b, c]);
    Ok(())
}

/// Elements of a vector are changed one by one, which is all that is promised.
fn atomic_vector<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    space: Space,
    (change, atom, scalar): (Change, Atom, ScalarType),
    (count, is_hinted): (usize, bool),
) -> Decoded {
    if count == 8 && atom.bytes() > 2 {
        return Err(Why::Other("eight elements have 16 bits each"));
    }
    // A policy comes last.
    let operands = match (is_hinted, instruction.operands.as_slice()) {
        (true, [operands @ .., _]) => operands,
        (_, operands) => operands,
    };
    let floating =
        matches!(atom, Atom::F16 | Atom::F16x2 | Atom::Bf16 | Atom::Bf16x2 | Atom::F32) || atom == Atom::WholeF32;
    if !matches!(space, Space::Global | Space::Generic) || !floating {
        return Err(Why::Other("vectors are for floating point in global memory"));
    }
    let (into, address, values) = match (instruction.opcode, operands) {
        ("red", [address, Operand::Vector(values)]) => (None, address, values),
        ("atom", [Operand::Vector(into), address, Operand::Vector(values)]) => (Some(into), address, values),
        (_, operands) => return Err(Why::Count { found: operands.len(), expected: "vectors and an address" }),
    };
    if values.len() != count || into.is_some_and(|into| into.len() != count) {
        return Err(Why::Other("its vectors have another size"));
    }
    let place = decoder.location(address, space, 1)?;
    for (index, value) in values.iter().enumerate() {
        let d = match into {
            Some(into) => decoder.result(&into[index], file(scalar))?,
            None => Slot::SINK,
        };
        let b = decoder.value(value, scalar)?;
        let offset = place.offset.value().wrapping_add(index as u32 * u32::from(atom.bytes()));
        let atomic = Atomic { space: place.space, change, scalar: atom, wide: place.wide };
        decoder.emit(Operation::Atomic(atomic), &[d, place.slot, Slot::raw(offset), b, b]);
    }
    Ok(())
}
