//! Registers of 128 bits: pairs of longs that follow each other.
//!
//! `mov.b128`, loads and stores of `.b128`, `atom.exch.b128` and `atom.cas.b128`.

use super::super::atomic::Change;
use super::super::compute::{Compute, Int};
use super::super::operation::{AccessForm, Operation, PairAtomic};
use super::super::slot::Slot;
use super::super::space::Space;
use super::address::Position;
use super::operand::kind;
use super::scope::{File, Symbol};
use super::{Decoded, Decoder, Why};
use crate::syntax::{Immediate, Instruction, Operand, ScalarType};

const LONG: ScalarType = ScalarType::B64;

impl<'t> Decoder<'_, 't> {
    /// Both longs of a value: a register, or a number or an address of 64 bits, with zeros above.
    fn pair(&mut self, operand: &Operand<'t>) -> Decoded<[Slot; 2]> {
        match operand {
            Operand::Name(name) => match self.symbol(name)? {
                Symbol::Register(File::Pairs, slot) => Ok([slot, slot.next()]),
                register @ Symbol::Register(..) => Err(kind(name, register, "a register of 128 bits")),
                _ => Ok([self.value(operand, LONG)?, self.long(0)]),
            },
            Operand::Immediate(Immediate::Integer(number)) => Ok([self.long(number.bits), self.long(0)]),
            _ => Err(Why::Operand { index: 1, expected: "a register of 128 bits, or an integer" }),
        }
    }

    /// The same, in registers that follow each other.
    fn pair_register(&mut self, operand: &Operand<'t>) -> Decoded<Slot> {
        let [low, high] = self.pair(operand)?;
        if !low.is_constant() {
            return Ok(low);
        }
        let slot = self.scopes.supply.take(File::Pairs);
        self.prepare(Operation::Compute(Compute::MoveLong), &[slot, low]);
        self.prepare(Operation::Compute(Compute::MoveLong), &[slot.next(), high]);
        Ok(slot)
    }

    /// Fills the upper long of a register that a narrower value was loaded into. Hardware has the sign of an
    /// `.s64` there, and zeros above shorter values, although their signs fill the lower long.
    pub(super) fn extend_pair(&mut self, slot: Slot, scalar: ScalarType) {
        if scalar == ScalarType::S64 {
            let sign = self.word(63);
            self.emit(Operation::Compute(Compute::ShiftRight(Int::S64)), &[slot.next(), slot, sign]);
        } else {
            let zero = self.long(0);
            self.emit(Operation::Compute(Compute::MoveLong), &[slot.next(), zero]);
        }
    }
}

/// `mov.b128`, also of two longs or four words.
pub(super) fn mov<'t>(decoder: &mut Decoder<'_, 't>, d: &Operand<'t>, a: &Operand<'t>) -> Decoded {
    match (d, a) {
        (Operand::Vector(parts), _) => unpack(decoder, parts, a),
        (_, Operand::Vector(parts)) => pack(decoder, d, parts),
        _ => {
            let [low, high] = decoder.pair(a)?;
            let d = decoder.result(d, File::Pairs)?;
            move_longs(decoder, [d, d.next()], [low, high]);
            Ok(())
        }
    }
}

fn move_longs(decoder: &mut Decoder<'_, '_>, into: [Slot; 2], from: [Slot; 2]) {
    for (into, from) in into.into_iter().zip(from) {
        decoder.emit(Operation::Compute(Compute::MoveLong), &[into, from]);
    }
}

fn pack<'t>(decoder: &mut Decoder<'_, 't>, d: &Operand<'t>, parts: &[Operand<'t>]) -> Decoded {
    if parts.iter().any(|part| decoder.is_narrow(part, 1) || decoder.is_narrow(part, 2)) {
        return Err(Why::Other("128 bits are packed of two registers of 64, or of four of 32"));
    }
    match parts {
        [low, high] => {
            let from = [decoder.value(low, LONG)?, decoder.value(high, LONG)?];
            let d = decoder.result(d, File::Pairs)?;
            move_longs(decoder, [d, d.next()], from);
        }
        [_, _, _, _] => {
            let words: Vec<Slot> =
                parts.iter().map(|part| decoder.value(part, ScalarType::B32)).collect::<Decoded<_>>()?;
            let d = decoder.result(d, File::Pairs)?;
            for (d, words) in [d, d.next()].into_iter().zip(words.chunks(2)) {
                decoder.emit(Operation::Compute(Compute::PackLong), &[d, words[0], words[1]]);
            }
        }
        _ => return Err(Why::Other("128 bits are packed of two registers of 64, or of four of 32")),
    }
    Ok(())
}

fn unpack<'t>(decoder: &mut Decoder<'_, 't>, parts: &[Operand<'t>], a: &Operand<'t>) -> Decoded {
    let from = decoder.pair(a)?;
    if parts.iter().all(|part| matches!(part, Operand::Sink)) {
        return Err(Why::Other("one of its results must be a register"));
    }
    match parts {
        [low, high] => {
            let into = [decoder.result(low, File::Longs)?, decoder.result(high, File::Longs)?];
            move_longs(decoder, into, from);
        }
        [_, _, _, _] => {
            let words: Vec<Slot> =
                parts.iter().map(|part| decoder.result(part, File::Words)).collect::<Decoded<_>>()?;
            for (from, words) in from.into_iter().zip(words.chunks(2)) {
                decoder.emit(Operation::Compute(Compute::UnpackLong), &[words[0], words[1], from]);
            }
        }
        _ => return Err(Why::Other("128 bits are unpacked to two registers of 64, or to four of 32")),
    }
    Ok(())
}

/// Two longs side by side, which have the alignment of 16 bytes. Strong accesses are to both at once.
fn form(place: &Position, count: u8, strong: bool, constant: bool) -> Decoded<AccessForm> {
    if count != 1 {
        return Err(Why::Other("a vector has at most 128 bits"));
    }
    Ok(AccessForm {
        space: place.space,
        bytes: 8,
        signed: false,
        long: true,
        count: 2,
        wide: place.wide,
        strong,
        constant,
    })
}

pub(super) fn load<'t>(
    decoder: &mut Decoder<'_, 't>,
    d: &Operand<'t>,
    place: &Position,
    (count, strong, constant): (u8, bool, bool),
) -> Decoded {
    let form = form(place, count, strong, constant)?;
    if matches!(d, Operand::Sink) {
        return Err(Why::Operand { index: 0, expected: "a register" });
    }
    let d = decoder.result(d, File::Pairs)?;
    let operation = if strong { Operation::LoadWhole(form) } else { Operation::Load(form) };
    decoder.emit(operation, &[d, d.next(), Slot::SINK, Slot::SINK, place.slot, place.offset]);
    Ok(())
}

pub(super) fn store<'t>(
    decoder: &mut Decoder<'_, 't>,
    value: &Operand<'t>,
    place: &Position,
    (count, strong, constant): (u8, bool, bool),
) -> Decoded {
    let form = form(place, count, strong, constant)?;
    let [low, high] = decoder.pair(value)?;
    let operation = if strong { Operation::StoreWhole(form) } else { Operation::Store(form) };
    decoder.emit(operation, &[low, high, Slot::SINK, Slot::SINK, place.slot, place.offset]);
    Ok(())
}

/// `atom.exch.b128 d, [a], b` and `atom.cas.b128 d, [a], b, c`
pub(super) fn atomic<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    space: Space,
    (change, is_hinted): (Change, bool),
) -> Decoded {
    decoder.requires(90)?;
    let is_swap = match (instruction.opcode, change) {
        ("atom", Change::Exchange) => false,
        ("atom", Change::CompareAndSwap) => true,
        _ => return Err(Why::Other("it is not for this type")),
    };
    let (d, address, b, c) = match instruction.operands.as_slice() {
        [d, address, b, c] if is_swap => (d, address, b, c),
        [d, address, b] if !is_swap => (d, address, b, b),
        [d, address, b, policy] if !is_swap && is_hinted => {
            decoder.value(policy, LONG)?;
            (d, address, b, b)
        }
        all => return Err(Why::Count { found: all.len(), expected: if is_swap { "4" } else { "3" } }),
    };
    let d = decoder.result(d, File::Pairs)?;
    let place = decoder.location(address, space, 1)?;
    if matches!(place.space, Space::Frame | Space::Argument | Space::Parameter | Space::Local) {
        return Err(Why::Other("it is for global and shared memory"));
    }
    let b = decoder.pair_register(b)?;
    let c = if is_swap { decoder.pair_register(c)? } else { b };
    let atomic = PairAtomic { space: place.space, is_swap, wide: place.wide };
    decoder.emit(Operation::AtomicPair(atomic), &[d, place.slot, place.offset, b, c]);
    Ok(())
}
