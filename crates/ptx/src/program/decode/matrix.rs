//! Products of matrices, and their transfers.

use super::super::matrix::{Element, Ending, Product, Tiles, Transfer};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::file;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::exec::arith::round::Rounding;
use crate::syntax::{Address, Base, Instruction, Operand, ScalarType};

fn element(word: &str) -> Option<Element> {
    Some(match word {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "f64" => Element::F64,
        "s8" => Element::S8,
        "u8" => Element::U8,
        "s4" => Element::S4,
        "u4" => Element::U4,
        "b1" => Element::Differing,
        _ => return None,
    })
}

/// Takes what is counted in bits.
pub(super) fn counted(modifiers: &mut Modifiers) -> Option<Element> {
    let counted = modifiers.pick(|word| match word {
        "xor" => Some(Element::Differing),
        "and" => Some(Element::Common),
        _ => None,
    });
    counted.filter(|_| modifiers.flag("popc"))
}

/// The slots of a vector's elements, which must be as many as `count`.
pub(super) fn vector<'t>(
    decoder: &mut Decoder<'_, 't>,
    operand: &Operand<'t>,
    scalar: ScalarType,
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
    parts
        .iter()
        .map(|part| if index == 0 { decoder.result(part, file(scalar)) } else { decoder.value(part, scalar) })
        .collect()
}

/// What the sums are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    F16,
    F32,
    F64,
    S32,
}

fn sum(word: &str) -> Option<Sum> {
    Some(match word {
        "f16" => Sum::F16,
        "f32" => Sum::F32,
        "f64" => Sum::F64,
        "s32" => Sum::S32,
        _ => return None,
    })
}

pub(super) fn multiply<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let plain = modifiers.flag("sync") && modifiers.flag("aligned");
    let shape = modifiers.pick(|word| {
        let (tiles, k) = match word.strip_prefix("m16n8k") {
            Some(k) => (Tiles::Tall, k),
            None => (Tiles::Small, word.strip_prefix("m8n8k")?),
        };
        Some((tiles, k.parse::<u16>().ok()?))
    });
    let layout = modifiers.flag("row") && modifiers.flag("col");
    let (Some((tiles, k)), true, true) = (shape, plain, layout) else {
        return Err(Why::Other("only m16n8 and m8n8, row by column, are simulated"));
    };
    let ending = match modifiers.rounding() {
        Some(rounding) => Ending::Rounded(rounding),
        None if modifiers.flag("satfinite") => Ending::Saturated,
        None => Ending::Plain,
    };
    let counted = counted(modifiers);
    let into = modifiers.pick(sum).ok_or(Why::Missing("the type of the result"))?;
    let mut first = modifiers.pick(element).ok_or(Why::Missing("the type of the first factor"))?;
    let second = modifiers.pick(element).ok_or(Why::Missing("the type of the second factor"))?;
    if modifiers.pick(sum) != Some(into) {
        return Err(Why::Other("result and summand have to be of one type"));
    }
    if first == Element::Differing {
        first = counted.ok_or(Why::Missing("`.xor.popc` or `.and.popc`"))?;
    } else if counted.is_some() {
        return Err(Why::Other("only bits are counted"));
    }
    let nothing = Why::Other("factors of these types and this shape are not simulated");
    let architecture = simulated(tiles, k, into, first, second).ok_or(nothing)?;
    let fits = match ending {
        Ending::Plain => true,
        Ending::Saturated => first.is_integer(),
        Ending::Rounded(rounding) => first == Element::F64 && rounding != Rounding::NearestAway,
    };
    if !fits {
        return Err(Why::Other("there is no such ending for these types"));
    }
    decoder.requires(architecture)?;
    let product = Product { tiles, k, factors: [first, second], halves: [into == Sum::F16; 2], ending };
    let scalar = if into == Sum::F64 { ScalarType::F64 } else { ScalarType::B32 };
    let operands: [_; 4] = decoder.operands(instruction, "4")?;
    let start = decoder.code.lists.len() as u32;
    for (index, (operand, count)) in operands.into_iter().zip(product.registers()).enumerate() {
        let slots = vector(decoder, operand, scalar, count, index)?;
        decoder.code.lists.extend(slots);
    }
    decoder.emit(Operation::Multiply(product), &[Slot::raw(start)]);
    Ok(())
}

/// Which products there are, and since which architecture.
fn simulated(tiles: Tiles, k: u16, sum: Sum, a: Element, b: Element) -> Option<u32> {
    let tall = tiles == Tiles::Tall;
    Some(match (sum, a, b) {
        (Sum::F16 | Sum::F32, Element::F16, Element::F16) if tall && k == 8 => 75,
        (Sum::F16 | Sum::F32, Element::F16, Element::F16) if tall && k == 16 => 80,
        (Sum::F32, Element::Bf16, Element::Bf16) if tall && matches!(k, 8 | 16) => 80,
        (Sum::F32, Element::Tf32, Element::Tf32) if tall && matches!(k, 4 | 8) => 80,
        (Sum::F16 | Sum::F32, Element::E4m3 | Element::E5m2, Element::E4m3 | Element::E5m2)
            if tall && matches!(k, 16 | 32) =>
        {
            89
        }
        (Sum::F64, Element::F64, Element::F64) if !tall && k == 4 => 80,
        (Sum::F64, Element::F64, Element::F64) if tall && matches!(k, 4 | 8 | 16) => 90,
        (Sum::S32, Element::S8 | Element::U8, Element::S8 | Element::U8) if !tall && k == 16 => 75,
        (Sum::S32, Element::S8 | Element::U8, Element::S8 | Element::U8) if tall && matches!(k, 16 | 32) => 80,
        (Sum::S32, Element::S4 | Element::U4, Element::S4 | Element::U4) if !tall && k == 32 => 75,
        (Sum::S32, Element::S4 | Element::U4, Element::S4 | Element::U4) if tall && matches!(k, 32 | 64) => 80,
        (Sum::S32, Element::Differing, Element::Differing) if !tall && k == 128 => 75,
        (Sum::S32, Element::Common, Element::Differing) if !tall && k == 128 => 80,
        (Sum::S32, Element::Differing | Element::Common, Element::Differing) if tall && matches!(k, 128 | 256) => 80,
        _ => return None,
    })
}

/// `movmatrix`: a matrix of the warp's, rows for columns.
pub(super) fn transpose<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    for word in ["sync", "aligned", "m8n8", "trans", "b16"] {
        if !modifiers.flag(word) {
            return Err(Why::Other("it is `movmatrix.sync.aligned.m8n8.trans.b16`"));
        }
    }
    let [d, a] = decoder.operands(instruction, "2")?;
    let slots = [decoder.result(d, File::Words)?, decoder.value(a, ScalarType::B32)?];
    decoder.emit(Operation::Transpose, &slots);
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
    let slots = vector(decoder, registers, ScalarType::B32, usize::from(count), usize::from(store))?;
    let start = decoder.code.lists.len() as u32;
    decoder.code.lists.extend(slots);
    let transfer = Transfer { count, transposed, store, wide: found == File::Longs, generic };
    let slots = [Slot::raw(start), slot, Slot::raw(offset.cast_unsigned())];
    decoder.emit(Operation::Matrix(transfer), &slots);
    Ok(())
}
