//! `wmma`: products of fragments, loads and stores.

use super::super::matrix::{Element, Ending, Fragment, Product, Tiles};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::super::space::Space;
use super::matrix::{counted, is_row, vector};
use super::{Decoded, Decoder, Modifiers, Why};
use crate::arith::round::Rounding;
use crate::syntax::{Instruction, Operand, ScalarType};

/// The role of a matrix in a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    First,
    Second,
    Sum,
}

/// Rows, columns, and the inner dimension.
struct Shape {
    m: u8,
    n: u8,
    k: u8,
    tiles: Tiles,
}

fn shape(word: &str) -> Option<Shape> {
    let (m, n, k, tiles) = match word {
        "m16n16k16" => (16, 16, 16, Tiles::Beside),
        "m16n16k8" => (16, 16, 8, Tiles::Beside),
        "m32n8k16" => (32, 8, 16, Tiles::Below),
        "m8n32k16" => (8, 32, 16, Tiles::Turned),
        "m8n8k4" => (8, 8, 4, Tiles::Small),
        "m8n8k32" => (8, 8, 32, Tiles::Small),
        "m8n8k128" => (8, 8, 128, Tiles::Small),
        _ => return None,
    };
    Some(Shape { m, n, k, tiles })
}

/// The first words come first; the others may be in any order.
pub(super) fn fragment<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let role = match &*instruction.modifiers {
        ["load", "a", ..] => Some(Role::First),
        ["load", "b", ..] => Some(Role::Second),
        ["load", "c", ..] | ["store", "d", ..] => Some(Role::Sum),
        ["mma", ..] => None,
        _ => return Err(Why::Other("it is `wmma.load.a`, `.b` or `.c`, `wmma.store.d` or `wmma.mma`")),
    };
    let store = modifiers.flag("store");
    for word in ["load", "mma"] {
        modifiers.flag(word);
    }
    if role.is_some() {
        modifiers.pick(|word| matches!(word, "a" | "b" | "c" | "d").then_some(()));
    }
    if !modifiers.flag("sync") || !modifiers.flag("aligned") {
        return Err(Why::Missing("`.sync.aligned`"));
    }
    let shape = modifiers.pick(shape).ok_or(Why::Other("there are no fragments of this shape"))?;
    match role {
        Some(role) => transfer(decoder, instruction, modifiers, role, &shape, store),
        None => multiply(decoder, instruction, modifiers, &shape),
    }
}

/// The names of element types.
const NAMES: [&str; 11] = ["f16", "f32", "bf16", "tf32", "f64", "s32", "s8", "u8", "s4", "u4", "b1"];

/// Bits of an element, and which architecture has such a fragment.
fn stored(role: Role, shape: &Shape, kind: &str) -> Option<(u8, u32)> {
    let sixteen = shape.k == 16;
    Some(match (role, kind, shape.k) {
        (Role::Sum, "f16", 16) => (16, 70),
        (Role::Sum, "f32" | "s32", 16 | 32 | 128) => (32, 70),
        (Role::Sum, "f32", 8) => (32, 80),
        (_, "f64", 4) => (64, 80),
        (Role::Sum, ..) => return None,
        (_, "f16", _) if sixteen => (16, 70),
        (_, "bf16", _) if sixteen => (16, 80),
        (_, "s8" | "u8", _) if sixteen => (8, 72),
        (_, "tf32", 8) => (32, 80),
        (_, "s4" | "u4", 32) => (4, 75),
        (_, "b1", 128) => (1, 75),
        _ => return None,
    })
}

fn space(word: &str) -> Option<Space> {
    match word {
        "global" => Some(Space::Global),
        "shared" | "shared::cta" => Some(Space::Shared),
        _ => None,
    }
}

fn transfer<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    role: Role,
    shape: &Shape,
    store: bool,
) -> Decoded {
    let row = is_row(modifiers)?;
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let stored = modifiers.pick(|word| stored(role, shape, word));
    let (bits, architecture) = stored.ok_or(Why::Other("there is no fragment of this shape and type"))?;
    decoder.requires(architecture)?;
    if bits < 8 && row != (role == Role::First) {
        return Err(Why::Other("elements of less than a byte are `.row` in `.a` and `.col` in `.b`"));
    }
    let turned = shape.tiles == Tiles::Turned;
    let (lines, length, along) = match role {
        Role::First => (shape.m, shape.k, row),
        Role::Second => (shape.n, shape.k, !row),
        Role::Sum if turned => (shape.n, shape.m, !row),
        Role::Sum => (shape.m, shape.n, row),
    };
    let tall = lines == 32 || lines == 16 && role != Role::Second;
    let long = bits == 64;
    // Factors of halves fill eight registers, with copies where they have fewer.
    let registers = if role != Role::Sum && bits == 16 && !modifiers.any(|word| word == "bf16") {
        8
    } else {
        usize::from(lines) * usize::from(length) * usize::from(bits) / 32 / if long { 64 } else { 32 }
    };
    let (first, second, stride) = match instruction.operands.as_slice() {
        [first, second] => (first, second, None),
        [first, second, stride] => (first, second, Some(stride)),
        all => return Err(Why::Count { found: all.len(), expected: "2 or 3" }),
    };
    let (list, address) = if store { (second, first) } else { (first, second) };
    let place = decoder.location(address, space, usize::from(!store))?;
    if !matches!(place.space, Space::Generic | Space::Global | Space::Shared)
        || space != Space::Generic && place.space != space
    {
        return Err(Why::Operand { index: usize::from(!store), expected: "an address in the space that is named" });
    }
    let stride = match stride {
        Some(stride) => decoder.value(stride, ScalarType::U32)?,
        None => decoder.word(if along { length } else { lines }.into()),
    };
    let scalar = if long { ScalarType::F64 } else { ScalarType::B32 };
    let slots = vector(decoder, list, scalar, registers, usize::from(store))?;
    let start = decoder.code.lists.len() as u32;
    decoder.code.lists.extend(slots);
    let fragment = Fragment {
        lines,
        length,
        bits,
        sum: role == Role::Sum,
        tall,
        along,
        store,
        registers: registers as u8,
        space: place.space,
        wide: place.wide,
    };
    decoder.emit(Operation::Fragment(fragment), &[Slot::raw(start), place.slot, place.offset, stride]);
    Ok(())
}

/// The factors for types, in their order, and the first architecture that has them.
fn factor(types: &[&str], k: u8, counted: Option<Element>) -> Option<(Element, [bool; 2], u32)> {
    let singles = [false; 2];
    Some(match (types, k) {
        ([d @ ("f16" | "f32"), c @ ("f16" | "f32")], 16) => (Element::F16, [*d == "f16", *c == "f16"], 70),
        (["f32", "bf16", "bf16", "f32"], 16) => (Element::Bf16, singles, 80),
        (["f32", "tf32", "tf32", "f32"], 8) => (Element::Tf32, singles, 80),
        (["f64", "f64", "f64", "f64"], 4) => (Element::F64, singles, 80),
        (["s32", "s8", "s8", "s32"], 16) => (Element::S8, singles, 72),
        (["s32", "u8", "u8", "s32"], 16) => (Element::U8, singles, 72),
        (["s32", "s4", "s4", "s32"], 32) => (Element::S4, singles, 75),
        (["s32", "u4", "u4", "s32"], 32) => (Element::U4, singles, 75),
        (["s32", "b1", "b1", "s32"], 128) => {
            let counted = counted?;
            (counted, singles, if counted == Element::Common { 80 } else { 75 })
        }
        _ => return None,
    })
}

fn multiply<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
    shape: &Shape,
) -> Decoded {
    let rows = [is_row(modifiers)?, is_row(modifiers)?];
    let rounded = modifiers.rounding();
    let saturated = modifiers.flag("satfinite");
    let counted = counted(modifiers);
    let mut types = Vec::new();
    while let Some(name) = modifiers.pick(|word| NAMES.into_iter().find(|name| *name == word)) {
        types.push(name);
    }
    let found = factor(&types, shape.k, counted);
    let (factor, halves, architecture) =
        found.ok_or(Why::Other("there is no product of fragments of these types and this shape"))?;
    let fits = counted.is_some() == factor.is_bit()
        && (!saturated || factor.is_integer())
        && (rounded.is_none() || factor == Element::F64)
        && rounded != Some(Rounding::NearestAway)
        && (factor.bits() >= 8 || rows == [true, false]);
    if !fits {
        return Err(Why::Other("there is no product of fragments with these modifiers"));
    }
    decoder.requires(architecture)?;
    let ending = match rounded {
        Some(rounding) => Ending::Rounded(rounding),
        None if saturated => Ending::Saturated,
        None => Ending::Plain,
    };
    let product =
        Product { tiles: shape.tiles, k: shape.k.into(), factors: [factor; 2], halves, ending, chosen_by: None };
    let counts = product.registers();
    let given = match factor {
        Element::F16 => [counts[0], 8, 8, counts[3]],
        _ => counts,
    };
    let scalar = if factor == Element::F64 { ScalarType::F64 } else { ScalarType::B32 };
    let operands: [&Operand<'t>; 4] = decoder.operands(instruction, "4")?;
    let mut slots = Vec::new();
    for index in 0..4 {
        // Behind those that count are their copies.
        slots.extend(vector(decoder, operands[index], scalar, given[index], index)?.into_iter().take(counts[index]));
    }
    let start = decoder.code.lists.len() as u32;
    decoder.code.lists.extend(slots);
    decoder.emit(Operation::Multiply(product), &[Slot::raw(start)]);
    Ok(())
}
