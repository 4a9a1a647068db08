//! Video instructions: `vadd`, `vadd2`, `vadd4` and their like.

use super::super::compute::Compute;
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::arith::video::{First, Lanes, Part, Product, Scalar, Second, Video};
use crate::syntax::{Instruction, Operand, ScalarType};

const WORD: ScalarType = ScalarType::B32;

fn first(opcode: &str) -> Option<First> {
    Some(match opcode {
        "vadd" => First::Add,
        "vsub" => First::Subtract,
        "vabsdiff" => First::Distance,
        "vmin" => First::Minimum,
        "vmax" => First::Maximum,
        "vavrg" => First::Average,
        "vshl" => First::ShiftLeft,
        "vshr" => First::ShiftRight,
        _ => return None,
    })
}

fn comparison(word: &str) -> Option<First> {
    Some(match word {
        "eq" => First::Equal,
        "ne" => First::NotEqual,
        "lt" => First::Less,
        "le" => First::LessEqual,
        "gt" => First::Greater,
        "ge" => First::GreaterEqual,
        _ => return None,
    })
}

/// Takes a type: true for `.s32`, false for `.u32`.
fn signed(modifiers: &mut Modifiers) -> Decoded<bool> {
    let found = modifiers.pick(|word| match word {
        "s32" => Some(true),
        "u32" => Some(false),
        _ => None,
    });
    found.ok_or(Why::Missing("`.u32` or `.s32` for each operand"))
}

/// Takes the types of the result, `a` and `b`; the result of a comparison has the type of `a`.
fn types(modifiers: &mut Modifiers, is_comparison: bool) -> Decoded<[bool; 3]> {
    let first = signed(modifiers)?;
    let a = if is_comparison { first } else { signed(modifiers)? };
    Ok([first, a, signed(modifiers)?])
}

/// An operand, without the part that it names behind a dot.
fn parted<'i, 't>(operand: &'i Operand<'t>) -> (Operand<'t>, Option<&'t str>)
where
    't: 'i,
{
    match operand {
        Operand::Element { name, element } => (Operand::Name(name), Some(element)),
        other => (other.clone(), None),
    }
}

/// A part of a word, all of it where none is named.
fn part(name: Option<&str>, index: usize) -> Decoded<Part> {
    let named =
        name.map(|name| Part::named(name).ok_or(Why::Operand { index, expected: "a part such as `.b0` or `.h1`" }));
    Ok(named.transpose()?.unwrap_or(Part::WORD))
}

fn emit(decoder: &mut Decoder<'_, '_>, video: Video, slots: [Slot; 4]) {
    let [d, a, b, c] = slots;
    let [kinds, rest] = video.packed().map(Slot::raw);
    decoder.emit(Operation::Compute(Compute::Video), &[d, a, b, c, kinds, rest]);
}

/// `vadd.s32.u32.s32.sat d.b0, a.h1, b, c`
pub(super) fn scalar<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let compares = instruction.opcode == "vset";
    let shifts = matches!(instruction.opcode, "vshl" | "vshr");
    let signed = types(modifiers, compares)?;
    let first = if compares { modifiers.pick(comparison) } else { first(instruction.opcode) };
    let first = first.ok_or(Why::Missing("a comparison such as `.eq`"))?;
    let saturate = !compares && modifiers.flag("sat");
    let wrap = shifts && modifiers.flag("wrap");
    if shifts && !wrap && !modifiers.flag("clamp") {
        return Err(Why::Missing("`.clamp` or `.wrap`"));
    }
    if shifts && signed[2] {
        return Err(Why::Other("a shift has a count of `.u32`"));
    }
    let second = modifiers.pick(|word| match word {
        "add" => Some(Second::Add),
        "min" => Some(Second::Minimum),
        "max" => Some(Second::Maximum),
        _ => None,
    });
    let second = second.unwrap_or(Second::None);
    let (d, a, b, c) = match instruction.operands.as_slice() {
        [d, a, b] if second == Second::None => (d, a, b, None),
        [d, a, b, c] => (d, a, b, Some(c)),
        all => return Err(Why::Count { found: all.len(), expected: "3 or 4" }),
    };
    let ((d, into), (a, from_a), (b, from_b)) = (parted(d), parted(a), parted(b));
    if into.is_some() && (c.is_none() || second != Second::None) {
        return Err(Why::Other("a part of the result needs a third operand, and no second operation"));
    }
    let from = [part(from_a, 1)?, part(from_b, 2)?];
    let what = Scalar { first, signed, saturate, wrap, second, from, into: part(into, 0)? };
    let third = match c {
        Some(c) => decoder.value(c, WORD)?,
        None => decoder.word(0),
    };
    let slots = [decoder.result(&d, File::Words)?, decoder.value(&a, WORD)?, decoder.value(&b, WORD)?, third];
    emit(decoder, Video::Scalar(what), slots);
    Ok(())
}

/// An operand without its minus, and true if there was one.
fn positive<'i, 't>(operand: &'i Operand<'t>) -> (&'i Operand<'t>, bool) {
    match operand {
        Operand::Negated(operand) => (operand, true),
        operand => (operand, false),
    }
}

/// `vmad.s32.s32.u32.sat.shr7 d, -a.h0, b, c`: the product is negated if one of its factors is.
pub(super) fn product<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let signed = types(modifiers, false)?;
    let (plus_one, saturate) = (modifiers.flag("po"), modifiers.flag("sat"));
    let shift = modifiers.pick(|word| match word {
        "shr7" => Some(7),
        "shr15" => Some(15),
        _ => None,
    });
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let ((a, minus_a), (b, minus_b), (c, minus_c)) = (positive(a), positive(b), positive(c));
    let negated = [minus_a != minus_b, minus_c];
    if negated == [true; 2] {
        return Err(Why::Other("either the product or the third operand is negated"));
    }
    if plus_one && negated != [false; 2] {
        return Err(Why::Other("`.po` goes with operands that are not negated"));
    }
    let ((a, from_a), (b, from_b)) = (parted(a), parted(b));
    let from = [part(from_a, 1)?, part(from_b, 2)?];
    let what = Product { signed, from, negated, plus_one, saturate, shift: shift.unwrap_or(0) };
    let slots =
        [decoder.result(d, File::Words)?, decoder.value(&a, WORD)?, decoder.value(&b, WORD)?, decoder.value(c, WORD)?];
    emit(decoder, Video::Product(what), slots);
    Ok(())
}

/// `vadd4.u32.u32.u32.sat d.b10, a.b3210, b.b7654, c`
pub(super) fn lanes<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (opcode, count) = match instruction.opcode.strip_suffix('2') {
        Some(opcode) => (opcode, 2),
        None => (instruction.opcode.trim_end_matches('4'), 4),
    };
    let compares = opcode == "vset";
    let signed = types(modifiers, compares)?;
    let first = if compares { modifiers.pick(comparison) } else { first(opcode) };
    let first = first.ok_or(Why::Missing("a comparison such as `.eq`"))?;
    let sum = modifiers.flag("add");
    let saturate = !compares && !sum && modifiers.flag("sat");
    let [d, a, b, c] = decoder.operands(instruction, "4")?;
    let ((d, mask), (a, from_a), (b, from_b)) = (parted(d), parted(a), parted(b));
    for (operand, index) in [(&a, 1), (&b, 2), (c, 3)] {
        if matches!(operand, Operand::Immediate(_)) {
            return Err(Why::Operand { index, expected: "a register" });
        }
    }
    let mask = match mask {
        Some(mask) => chosen(mask, count).ok_or(Why::Operand { index: 0, expected: "lanes such as `.h10`" })?,
        None => (1 << count) - 1,
    };
    let from = |name: Option<&str>, first: u8, index| match name {
        Some(name) => selected(name, count).ok_or(Why::Operand { index, expected: "a lane for each, such as `.h10`" }),
        None => Ok([0, 1, 2, 3].map(|lane| if lane < count { lane + first } else { 0 })),
    };
    let from = [from(from_a, 0, 1)?, from(from_b, count, 2)?];
    let what = Lanes { first, signed, saturate, sum, count, from, mask };
    let slots =
        [decoder.result(&d, File::Words)?, decoder.value(&a, WORD)?, decoder.value(&b, WORD)?, decoder.value(c, WORD)?];
    emit(decoder, Video::Lanes(what), slots);
    Ok(())
}

/// The lanes of a text such as `b3210`, the highest first.
fn digits(name: &str, count: u8) -> Option<Vec<u8>> {
    let digits = name.strip_prefix(if count == 2 { 'h' } else { 'b' })?;
    digits.bytes().rev().map(|digit| digit.checked_sub(b'0').filter(|lane| *lane < 2 * count)).collect()
}

/// Lanes of the result: `.h1`, `.b310`.
fn chosen(name: &str, count: u8) -> Option<u8> {
    let lanes = digits(name, count)?;
    let is_ordered = lanes.is_sorted_by(|a, b| a < b) && lanes.iter().all(|lane| *lane < count);
    is_ordered.then(|| lanes.iter().fold(0, |mask, lane| mask | 1 << lane))
}

/// The lane that each reads: `.h32`, `.b7351`.
fn selected(name: &str, count: u8) -> Option<[u8; 4]> {
    let lanes = digits(name, count).filter(|lanes| lanes.len() == usize::from(count))?;
    let mut all = [0; 4];
    all[..lanes.len()].copy_from_slice(&lanes);
    Some(all)
}
