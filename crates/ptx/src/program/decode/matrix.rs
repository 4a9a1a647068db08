//! `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::super::matrix::{Element, Ending, Product, Quads, Tiles, Transfer};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::arithmetic::file;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::arith::round::Rounding;
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

/// Takes a layout: true for row-major.
pub(super) fn is_row(modifiers: &mut Modifiers) -> Decoded<bool> {
    let row = modifiers.pick(|word| match word {
        "row" => Some(true),
        "col" => Some(false),
        _ => None,
    });
    row.ok_or(Why::Missing("`.row` or `.col`"))
}

/// Takes the operation on bits.
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

/// The type of the sums.
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
    let sparse = modifiers.flag("sp") || modifiers.flag("sp::ordered_metadata");
    let plain = modifiers.flag("sync") && modifiers.flag("aligned");
    let shape = modifiers.pick(|word| {
        let (tiles, k) = match word.strip_prefix("m16n8k") {
            Some(k) => (Tiles::Tall, k),
            None => (Tiles::Small, word.strip_prefix("m8n8k")?),
        };
        Some((tiles, k.parse::<u16>().ok()?))
    });
    let (Some((tiles, k)), true) = (shape, plain) else {
        return Err(Why::Other("products are `.sync.aligned`, and of shape m16n8 or m8n8"));
    };
    let rows = [is_row(modifiers)?, is_row(modifiers)?];
    let ending = match modifiers.rounding() {
        Some(rounding) => Ending::Rounded(rounding),
        None if modifiers.flag("satfinite") => Ending::Saturated,
        None => Ending::Plain,
    };
    let counted = counted(modifiers);
    let into = modifiers.pick(sum).ok_or(Why::Missing("the type of the result"))?;
    let mut first = modifiers.pick(element).ok_or(Why::Missing("the type of the first factor"))?;
    let second = modifiers.pick(element).ok_or(Why::Missing("the type of the second factor"))?;
    let from = modifiers.pick(sum).ok_or(Why::Missing("the type of the summand"))?;
    if first == Element::Differing {
        first = counted.ok_or(Why::Missing("`.xor.popc` or `.and.popc`"))?;
    } else if counted.is_some() {
        return Err(Why::Other("only bits are counted"));
    }
    let nothing = Why::Other("there is no product of these types and this shape");
    if (tiles, k, first, second) == (Tiles::Small, 4, Element::F16, Element::F16) && ending == Ending::Plain && !sparse
    {
        let halves = match (into, from) {
            (Sum::F16, Sum::F16) => [true, true],
            (Sum::F32, Sum::F16) => [false, true],
            (Sum::F32, Sum::F32) => [false, false],
            _ => return Err(nothing),
        };
        let quads = Quads { rows, halves };
        let start = listed(decoder, instruction.operands.as_slice(), ScalarType::B32, quads.registers())?;
        decoder.emit(Operation::MultiplyQuads(quads), &[Slot::raw(start)]);
        return Ok(());
    }
    if rows != [true, false] || from != into {
        return Err(Why::Other("row by column, and result and summand of one type: others there are only of m8n8k4"));
    }
    let fits = match ending {
        Ending::Plain => true,
        Ending::Saturated => first.is_integer(),
        Ending::Rounded(rounding) => first == Element::F64 && rounding != Rounding::NearestAway,
    };
    if !fits {
        return Err(Why::Other("there is no such ending for these types"));
    }
    let mut operands = instruction.operands.as_slice();
    let mut choices = None;
    if sparse {
        let [values @ .., word, lanes] = operands else {
            return Err(Why::Count { found: operands.len(), expected: "6" });
        };
        let (architecture, selectors) = sparse_products(tiles, k, into, first, second).ok_or(nothing)?;
        decoder.requires(architecture)?;
        let lanes = u8::try_from(Decoder::number(lanes, 5)?).ok().filter(|lanes| *lanes < selectors);
        let lanes = lanes.ok_or(Why::Operand { index: 5, expected: "one of the few numbers that this shape has" })?;
        choices = Some((decoder.value(word, ScalarType::B32)?, lanes));
        operands = values;
    } else {
        decoder.requires(simulated(tiles, k, into, first, second).ok_or(nothing)?)?;
    }
    let chosen_by = choices.map(|(_, lanes)| lanes);
    let halves = [into == Sum::F16; 2];
    let product = Product { tiles, k, factors: [first, second], halves, ending, chosen_by };
    let scalar = if into == Sum::F64 { ScalarType::F64 } else { ScalarType::B32 };
    let start = listed(decoder, operands, scalar, product.registers())?;
    decoder.code.lists.extend(choices.map(|(word, _)| word));
    decoder.emit(Operation::Multiply(product), &[Slot::raw(start)]);
    Ok(())
}

/// Lists the registers of `d`, `a`, `b` and `c`; returns where.
fn listed<'t>(
    decoder: &mut Decoder<'_, 't>,
    operands: &[Operand<'t>],
    scalar: ScalarType,
    counts: [usize; 4],
) -> Decoded<u32> {
    if operands.len() != 4 {
        return Err(Why::Count { found: operands.len(), expected: "4" });
    }
    let start = decoder.code.lists.len() as u32;
    for (index, (operand, count)) in operands.iter().zip(counts).enumerate() {
        let slots = vector(decoder, operand, scalar, count, index)?;
        decoder.code.lists.extend(slots);
    }
    Ok(start)
}

/// The first architecture with a product of a sparse factor, and the number of sparsity selectors.
fn sparse_products(tiles: Tiles, k: u16, sum: Sum, a: Element, b: Element) -> Option<(u32, u8)> {
    if tiles != Tiles::Tall {
        return None;
    }
    Some(match (sum, a, b, k) {
        (Sum::F16 | Sum::F32, Element::F16, Element::F16, 16) | (Sum::F32, Element::Bf16, Element::Bf16, 16) => (80, 4),
        (Sum::F16 | Sum::F32, Element::F16, Element::F16, 32) | (Sum::F32, Element::Bf16, Element::Bf16, 32) => (80, 2),
        (Sum::F32, Element::Tf32, Element::Tf32, 8) => (80, 4),
        (Sum::F32, Element::Tf32, Element::Tf32, 16) => (80, 2),
        (Sum::S32, Element::S8 | Element::U8, Element::S8 | Element::U8, 32) => (80, 2),
        (Sum::S32, Element::S8 | Element::U8, Element::S8 | Element::U8, 64) => (80, 1),
        (Sum::S32, Element::S4 | Element::U4, Element::S4 | Element::U4, 64) => (80, 2),
        (Sum::S32, Element::S4 | Element::U4, Element::S4 | Element::U4, 128) => (80, 1),
        (Sum::F32, Element::E4m3 | Element::E5m2, Element::E4m3 | Element::E5m2, 64) => (89, 1),
        _ => return None,
    })
}

/// The first architecture with a product, if it is simulated.
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
