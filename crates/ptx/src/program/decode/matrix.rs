//! Products of matrices, and their transfers.

use super::super::matrix::{Element, Product, Transfer};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::file;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Address, Base, Instruction, Operand, ScalarType};

fn element(word: &str) -> Option<Element> {
    Some(match word {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "s8" => Element::S8,
        "u8" => Element::U8,
        _ => return None,
    })
}

/// The slots of a vector's elements, which must be as many as `count`.
fn fragment<'t>(
    decoder: &mut Decoder<'_, 't>,
    operand: &Operand<'t>,
    count: usize,
    index: usize,
) -> Decoded<Vec<Slot>> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    if parts.len() != count {
        return Err(Why::Operand { index, expected: "a vector of that size" });
    }
    let scalar = ScalarType::B32;
    parts
        .iter()
        .map(|part| if index == 0 { decoder.result(part, file(scalar)) } else { decoder.value(part, scalar) })
        .collect()
}

pub(super) fn multiply<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let plain = modifiers.flag("sync") && modifiers.flag("aligned");
    let k = modifiers.pick(|word| word.strip_prefix("m16n8k")?.parse::<u8>().ok());
    let layout = modifiers.flag("row") && modifiers.flag("col");
    let saturate = modifiers.flag("satfinite");
    if plain && layout && modifiers.flag("m8n8k4") {
        return multiply_doubles(decoder, instruction, modifiers);
    }
    let (Some(k), true, true) = (k, plain, layout) else {
        return Err(Why::Other("only m16n8 with k of 4 to 32, row by column, is simulated"));
    };
    let single = |word: &str| match word {
        "f32" => Some(false),
        "f16" => Some(true),
        "s32" => Some(false),
        _ => None,
    };
    let half = modifiers.pick(single).ok_or(Why::Missing("the type of the result"))?;
    let a = modifiers.pick(element).ok_or(Why::Missing("the type of the first factor"))?;
    let b = modifiers.pick(element).ok_or(Why::Missing("the type of the second factor"))?;
    if modifiers.pick(single) != Some(half) {
        return Err(Why::Other("result and summand have to be of one type"));
    }
    let bytes = match (a, b) {
        (Element::F16, Element::F16) => 2,
        (Element::Bf16, Element::Bf16) if !half => 2,
        (Element::Tf32, Element::Tf32) if !half => 4,
        (Element::S8 | Element::U8, Element::S8 | Element::U8) if !half => 1,
        _ => return Err(Why::Other("factors of these types are not simulated")),
    };
    if !matches!((bytes, k), (2, 8 | 16) | (4, 4 | 8) | (1, 16 | 32)) {
        return Err(Why::Other("factors of this shape are not simulated"));
    }
    // Sixteen rows of `k` elements in 32 lanes, four bytes a register; and half of that for eight columns.
    let (first, second) = (16 * usize::from(k) * bytes / 128, 8 * usize::from(k) * bytes / 128);
    let sums = if half { 2 } else { 4 };
    let [d, x, y, c] = decoder.operands(instruction, "4")?;
    let mut slots = fragment(decoder, d, sums, 0)?;
    slots.extend(fragment(decoder, x, first, 1)?);
    slots.extend(fragment(decoder, y, second, 2)?);
    slots.extend(fragment(decoder, c, sums, 3)?);
    let start = decoder.code.lists.len() as u32;
    decoder.code.lists.extend(slots);
    decoder.emit(Operation::Multiply(Product { k, factors: [a, b], half, saturate }), &[Slot::raw(start)]);
    Ok(())
}

fn multiply_doubles<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    for _ in 0..4 {
        if modifiers.scalar()? != ScalarType::F64 {
            return Err(Why::Other("m8n8k4 is for doubles only"));
        }
    }
    let start = decoder.code.lists.len() as u32;
    let operands: [_; 4] = decoder.operands(instruction, "4")?;
    for (index, (operand, count)) in operands.into_iter().zip([2, 1, 1, 2]).enumerate() {
        let Operand::Vector(parts) = operand else { return Err(Why::Operand { index, expected: "a vector" }) };
        if parts.len() != count {
            return Err(Why::Operand { index, expected: "a vector of that size" });
        }
        for part in parts {
            let scalar = ScalarType::F64;
            let slot = if index == 0 { decoder.result(part, file(scalar))? } else { decoder.value(part, scalar)? };
            decoder.code.lists.push(slot);
        }
    }
    let product = Product { k: 4, factors: [Element::F64; 2], half: false, saturate: false };
    decoder.emit(Operation::Multiply(product), &[Slot::raw(start)]);
    Ok(())
}

pub(super) fn transfer<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let store = instruction.opcode == "stmatrix";
    for word in ["sync", "aligned", "m8n8"] {
        if !modifiers.flag(word) {
            return Err(Why::Other("only aligned matrices of 8 rows and columns are simulated"));
        }
    }
    let count = modifiers.pick(|word| match word {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    });
    let count = count.ok_or(Why::Missing("`.x1`, `.x2` or `.x4`"))?;
    let transposed = modifiers.flag("trans");
    let generic = !modifiers.flag("shared") && !modifiers.flag("shared::cta");
    if modifiers.scalar()? != ScalarType::B16 {
        return Err(Why::Other("only elements of 16 bits are simulated"));
    }
    let [first, second] = decoder.operands(instruction, "2")?;
    let (registers, address) = if store { (second, first) } else { (first, second) };
    let Operand::Address(Address { base: Base::Name(name), offset, .. }) = address else {
        return Err(Why::Operand { index: usize::from(!store), expected: "an address in a register" });
    };
    let offset = i32::try_from(*offset).map_err(|_| Why::Other("the offset does not fit 32 bits"))?;
    let (found, slot) = decoder.any_register(&Operand::Name(name), 1)?;
    let slots = fragment(decoder, registers, usize::from(count), usize::from(store))?;
    let start = decoder.code.lists.len() as u32;
    decoder.code.lists.extend(slots);
    let transfer = Transfer { count, transposed, store, wide: found == File::Longs, generic };
    let slots = [Slot::raw(start), slot, Slot::raw(offset.cast_unsigned())];
    decoder.emit(Operation::Matrix(transfer), &slots);
    Ok(())
}
