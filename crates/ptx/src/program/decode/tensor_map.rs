//! `tensormap.replace`: fields of a tensor map, a block of 128 bytes in memory.
//!
//! The layout is that of an H200, which was asked for each field:
//!
//! | bits | field |
//! |---|---|
//! | 0–63 | global address |
//! | 68–70 | rank less one |
//! | 71–74, 80 | element type; the last for those of 32 bits that flush subnormals |
//! | 75–76 | interleave layout |
//! | 77–78, 86 | swizzle mode |
//! | 79 | fill mode |
//! | 96 + 32 i | global stride i, without its lowest four bits |
//! | 224 + 4 i | the four bits above those; of the last stride, bits 224–255 are the lower ones |
//! | 256 + 32 i | global dimension i, less one |
//! | 416 + 3 i | element stride i, less one |
//! | 440 + 8 i | box dimension i, less one |

use super::super::compute::{Cast, Compute, Int};
use super::super::operation::{AccessForm, Operation};
use super::super::slot::Slot;
use super::super::space::Space;
use super::address::Position;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Features, Instruction, Operand, ScalarType};

/// Dimensions of a tensor.
const DIMENSIONS: u64 = 5;

/// The fields, by how their values are written.
#[derive(Clone, Copy)]
enum Field {
    /// The whole first long.
    Address,
    /// A register or a number.
    Rank,
    /// An ordinal, then a register or a number.
    Box,
    Dimension,
    Stride,
    ElementStride,
    /// A number that is written out, up to a limit.
    ElementType,
    Interleave,
    Swizzle,
    Fill,
}

fn field(word: &str) -> Option<Field> {
    Some(match word {
        "global_address" => Field::Address,
        "rank" => Field::Rank,
        "box_dim" => Field::Box,
        "global_dim" => Field::Dimension,
        "global_stride" => Field::Stride,
        "element_stride" => Field::ElementStride,
        "elemtype" => Field::ElementType,
        "interleave_layout" => Field::Interleave,
        "swizzle_mode" => Field::Swizzle,
        "fill_mode" => Field::Fill,
        _ => return None,
    })
}

/// `tensormap.replace.tile.box_dim.global.b1024.b32 [address], 1, value`
pub(super) fn replace<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    decoder.requires(90)?;
    if decoder.code.header.target.features == Features::Portable {
        return Err(Why::Other("it needs `.target sm_90a`"));
    }
    if !modifiers.flag("replace") || !modifiers.flag("tile") {
        return Err(Why::Missing("`.replace.tile`"));
    }
    let field = modifiers.pick(field).ok_or(Why::Missing("a field such as `.rank`"))?;
    let space = modifiers.pick(|word| match word {
        "global" => Some(Space::Global),
        "shared::cta" => Some(Space::Shared),
        _ => None,
    });
    if !modifiers.flag("b1024") {
        return Err(Why::Missing("`.b1024`"));
    }
    let scalar = modifiers.scalar()?;
    let is_long = matches!(field, Field::Address | Field::Stride);
    if scalar != if is_long { ScalarType::B64 } else { ScalarType::B32 } {
        return Err(Why::Other("addresses and global strides are `.b64`, other fields `.b32`"));
    }
    let (address, ordinal, value) = match (field, instruction.operands.as_slice()) {
        (Field::Box | Field::Dimension | Field::Stride | Field::ElementStride, [address, ordinal, value]) => {
            let ordinal = Decoder::number(ordinal, 1)?;
            if ordinal >= DIMENSIONS {
                return Err(Why::Operand { index: 1, expected: "a dimension from 0 to 4" });
            }
            (address, ordinal as u32, value)
        }
        (Field::Box | Field::Dimension | Field::Stride | Field::ElementStride, all) => {
            return Err(Why::Count { found: all.len(), expected: "3" });
        }
        (_, [address, value]) => (address, 0, value),
        (_, all) => return Err(Why::Count { found: all.len(), expected: "2" }),
    };
    let map = Map { place: decoder.location(address, space.unwrap_or(Space::Generic), 0)? };
    match field {
        Field::Address => {
            let value = decoder.value(value, scalar)?;
            map.store(decoder, 0, value, 8);
        }
        Field::Stride => {
            let value = decoder.value(value, scalar)?;
            map.stride(decoder, ordinal, value);
        }
        Field::Dimension => {
            let value = less_one(decoder, value)?;
            map.store(decoder, 32 + 4 * ordinal, value, 4);
        }
        Field::Box => {
            let value = less_one(decoder, value)?;
            map.store(decoder, 55 + ordinal, value, 1);
        }
        Field::ElementStride => {
            let value = less_one(decoder, value)?;
            map.insert(decoder, 52, value, 3 * ordinal, 3);
        }
        Field::Rank => {
            let value = decoder.value(value, scalar)?;
            map.insert(decoder, 8, value, 4, 3);
        }
        Field::ElementType => {
            let number = limited(value, 12)?;
            // The last two are f32 and tf32 with a bit of their own.
            let (code, flushes) = if number > 10 { (number - 4, true) } else { (number, false) };
            let (code, one) = (decoder.word(code), decoder.word(1));
            map.insert(decoder, 8, code, 7, 4);
            if flushes {
                map.insert(decoder, 8, one, 16, 1);
            }
        }
        Field::Interleave => {
            let number = limited(value, 2)?;
            let value = decoder.word(number);
            map.insert(decoder, 8, value, 11, 2);
        }
        Field::Swizzle => {
            let number = limited(value, 3)?;
            let (value, none) = (decoder.word(number), decoder.word(0));
            map.insert(decoder, 8, value, 13, 2);
            map.insert(decoder, 8, none, 22, 1);
        }
        Field::Fill => {
            let number = limited(value, 1)?;
            let value = decoder.word(number);
            map.insert(decoder, 8, value, 15, 1);
        }
    }
    Ok(())
}

/// A number that is written out, and at most so much.
fn limited(value: &Operand<'_>, most: u64) -> Decoded<u32> {
    let number = Decoder::number(value, 1)?;
    if number > most {
        return Err(Why::Operand { index: 1, expected: "a number that the field has" });
    }
    Ok(number as u32)
}

fn less_one<'t>(decoder: &mut Decoder<'_, 't>, value: &Operand<'t>) -> Decoded<Slot> {
    let (value, one) = (decoder.value(value, ScalarType::B32)?, decoder.word(1));
    let less = decoder.new_word();
    decoder.prepare(Operation::Compute(Compute::Subtract(Int::U32)), &[less, value, one]);
    Ok(less)
}

/// A tensor map in memory.
struct Map {
    place: Position,
}

impl Map {
    fn form(&self, bytes: u8) -> AccessForm {
        let Position { space, wide, .. } = self.place;
        AccessForm { space, bytes, signed: false, long: bytes > 4, count: 1, wide, strong: false, constant: false }
    }

    fn slots(&self, value: Slot, at: u32) -> [Slot; 6] {
        let offset = Slot::raw(self.place.offset.value().wrapping_add(at));
        [value, Slot::SINK, Slot::SINK, Slot::SINK, self.place.slot, offset]
    }

    /// Writes whole bytes.
    fn store(&self, decoder: &mut Decoder<'_, '_>, at: u32, value: Slot, bytes: u8) {
        decoder.emit(Operation::Store(self.form(bytes)), &self.slots(value, at));
    }

    /// Writes bits of the word at an offset.
    fn insert(&self, decoder: &mut Decoder<'_, '_>, at: u32, value: Slot, start: u32, length: u32) {
        let word = decoder.new_word();
        let (start, length) = (decoder.word(start), decoder.word(length));
        decoder.emit(Operation::Load(self.form(4)), &self.slots(word, at));
        decoder.emit(Operation::Compute(Compute::Insert { long: false }), &[word, value, word, start, length]);
        self.store(decoder, at, word, 4);
    }

    fn stride(&self, decoder: &mut Decoder<'_, '_>, ordinal: u32, value: Slot) {
        let cut = Operation::Compute(Compute::Cast(Cast::Cut { bits: 32, signed: false }));
        let shift = Operation::Compute(Compute::ShiftRight(Int::U64));
        let (shifted, low, high) = (decoder.new_long(), decoder.new_word(), decoder.new_word());
        let (few, many) = (decoder.word(4), decoder.word(36));
        decoder.prepare(shift, &[shifted, value, few]);
        decoder.prepare(cut, &[low, shifted]);
        decoder.prepare(shift, &[shifted, value, many]);
        decoder.prepare(cut, &[high, shifted]);
        self.store(decoder, 12 + 4 * ordinal, low, 4);
        if u64::from(ordinal) < DIMENSIONS - 1 {
            self.insert(decoder, 28, high, 4 * ordinal, 4);
        }
    }
}
