//! `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async` and `red.async`.

use super::super::atomic::{Atom, Change};
use super::super::bulk_copy::{AsyncStore, BulkCopy, Reduction, Route};
use super::super::compute::{Cast, Compute, Int};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::super::space::Space;
use super::reduction::change;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Instruction, Operand, ScalarType};

/// The architecture that has bulk copies.
const ARCHITECTURE: u32 = 90;
const COUNTED: &str = "mbarrier::complete_tx::bytes";

/// `cp.async.bulk` and `cp.reduce.async.bulk`, and the instructions for groups of them.
pub(super) fn decode<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    decoder.requires(ARCHITECTURE)?;
    let words = &instruction.modifiers[..];
    match words {
        ["async", "bulk", "commit_group"] => {
            decoder.operands::<0>(instruction, "none")?;
            take_all(modifiers);
            decoder.emit(Operation::CommitBulk, &[]);
            return Ok(());
        }
        ["async", "bulk", "wait_group", rest @ ..] if matches!(rest, [] | ["read"]) => {
            let [groups] = decoder.operands(instruction, "1")?;
            let groups = u32::try_from(Decoder::number(groups, 0)?).unwrap_or(u32::MAX);
            take_all(modifiers);
            decoder.emit(Operation::AwaitBulk { reads: !rest.is_empty() }, &[Slot::raw(groups)]);
            return Ok(());
        }
        ["async", "bulk", "prefetch", "L2", "global"]
        | ["async", "bulk", "prefetch", "L2", "global", "L2::cache_hint"] => {
            let [address, bytes] = without_policy(decoder, instruction)?;
            decoder.location(address, Space::Global, 0)?;
            decoder.value(bytes, ScalarType::U32)?;
            take_all(modifiers);
            decoder.emit(Operation::Nothing, &[]);
            return Ok(());
        }
        _ => {}
    }
    if modifiers.any(|word| word == "tensor") {
        return Err(Why::Other("copies of tensors are not simulated; copy rows with `cp.async.bulk`"));
    }
    let reduces = modifiers.flag("reduce");
    let (route, rest) = route(words, usize::from(reduces))?;
    take_all(modifiers);
    let (reduction, is_multicast) = if reduces {
        (Some(reduction(route, rest)?), false)
    } else {
        match rest {
            [] | ["L2::cache_hint"] => (None, false),
            ["multicast::cluster"] | ["multicast::cluster", "L2::cache_hint"] if route == Route::GlobalToShared => {
                if !words.contains(&"shared::cluster") {
                    return Err(Why::Other("`.multicast::cluster` writes to `.shared::cluster`"));
                }
                (None, true)
            }
            [word, ..] => return Err(Why::Modifier((*word).to_owned())),
        }
    };
    if route == Route::SharedToShared && words.contains(&"L2::cache_hint") {
        return Err(Why::Other("a copy inside of the cluster has no cache policy"));
    }
    let form = BulkCopy { route, reduction, is_multicast };
    if route == Route::SharedToGlobal {
        let [into, from, bytes] = without_policy(decoder, instruction)?;
        let (into, from) = (decoder.location(into, Space::Global, 0)?, decoder.location(from, Space::Shared, 1)?);
        let slots = [decoder.whole(&into), decoder.whole(&from), decoder.value(bytes, ScalarType::U32)?];
        decoder.emit(Operation::CopyBulk(form), &slots);
        return Ok(());
    }
    let (into, from, bytes, barrier, mask) = if is_multicast {
        let [into, from, bytes, barrier, mask] = without_policy(decoder, instruction)?;
        (into, from, bytes, barrier, Some(mask))
    } else {
        let [into, from, bytes, barrier] = without_policy(decoder, instruction)?;
        (into, from, bytes, barrier, None)
    };
    let source = if route == Route::GlobalToShared { Space::Global } else { Space::Shared };
    let into = decoder.location(into, Space::Shared, 0)?;
    let from = decoder.location(from, source, 1)?;
    let barrier = decoder.location(barrier, Space::Shared, 3)?;
    let addresses = [&into, &from, &barrier].map(|place| decoder.whole(place));
    let [into, from, barrier] = addresses;
    let bytes = decoder.value(bytes, ScalarType::U32)?;
    let mask = mask.map_or(Ok(Slot::SINK), |mask| decoder.value(mask, ScalarType::U16))?;
    decoder.emit(Operation::CopyBulk(form), &[into, from, bytes, barrier, mask]);
    Ok(())
}

/// The route of a copy, and the modifiers behind it.
fn route<'i, 't>(words: &'i [&'t str], reduces: usize) -> Decoded<(Route, &'i [&'t str])> {
    match words.get(reduces..) {
        Some(["async", "bulk", "shared::cluster" | "shared::cta", "global", counted, rest @ ..])
            if *counted == COUNTED && reduces == 0 =>
        {
            Ok((Route::GlobalToShared, rest))
        }
        Some(["async", "bulk", "shared::cluster", "shared::cta", counted, rest @ ..]) if *counted == COUNTED => {
            Ok((Route::SharedToShared, rest))
        }
        Some(["async", "bulk", "global", "shared::cta", "bulk_group", rest @ ..]) => Ok((Route::SharedToGlobal, rest)),
        _ => Err(Why::Other(
            "a bulk copy is `.shared::cluster.global` or `.shared::cluster.shared::cta` with \
             `.mbarrier::complete_tx::bytes`, or `.global.shared::cta.bulk_group`",
        )),
    }
}

/// The operation and type of a reduction, behind its route.
fn reduction(route: Route, words: &[&str]) -> Decoded<Reduction> {
    let words = match words {
        ["L2::cache_hint", rest @ ..] => rest,
        rest => rest,
    };
    let (word, unflushed, scalar) = match words {
        [word, scalar] => (*word, false, *scalar),
        [word, "noftz", scalar] => (*word, true, *scalar),
        _ => return Err(Why::Missing("an operation and a type, such as `.add.u32`")),
    };
    let change = change(word).ok_or(Why::Missing("an operation such as `.add`"))?;
    let is_inside = route == Route::SharedToShared;
    let kind = ScalarType::named(scalar).and_then(|scalar| element(change, scalar, is_inside));
    let reduction = kind.ok_or(Why::Other("it is not for this type"))?;
    let adds_halves = change == Change::Add && matches!(reduction.scalar, Atom::F16 | Atom::Bf16);
    if unflushed != adds_halves && reduction.scalar != Atom::WholeF32 {
        return Err(Why::Other("`.noftz` goes with sums of f16 and bf16, and may go with those of f32"));
    }
    Ok(reduction)
}

/// A reduction for a type; inside of a cluster there are only those of 32 bits, and sums of 64.
fn element(change: Change, scalar: ScalarType, is_inside: bool) -> Option<Reduction> {
    use Change::{Add, And, Decrement, Increment, Maximum, Minimum, Or, Xor};
    use ScalarType::{B32, B64, Bf16, F16, F32, F64, S32, S64, U32, U64};
    let atom = match (change, scalar) {
        (Add | Minimum | Maximum | Increment | Decrement, U32) | (And | Or | Xor, B32) => Atom::U32,
        (Add | Minimum | Maximum, S32) => Atom::S32,
        (Add, U64) => Atom::U64,
        (Minimum | Maximum, U64) | (And | Or | Xor, B64) if !is_inside => Atom::U64,
        (Minimum | Maximum, S64) if !is_inside => Atom::S64,
        (Add | Minimum | Maximum, F16) if !is_inside => Atom::F16,
        (Add | Minimum | Maximum, Bf16) if !is_inside => Atom::Bf16,
        // Unlike `red`, which takes subnormal singles in global memory for zeros.
        (Add, F32) if !is_inside => Atom::WholeF32,
        (Add, F64) if !is_inside => Atom::F64,
        _ => return None,
    };
    Some(Reduction { change, scalar: atom })
}

/// The operands; a cache policy behind them is a hint.
fn without_policy<'i, 't, const N: usize>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &'i Instruction<'t>,
) -> Decoded<[&'i Operand<'t>; N]> {
    let mut operands: Vec<&Operand<'t>> = instruction.operands.iter().collect();
    if instruction.modifiers.contains(&"L2::cache_hint") {
        let policy = operands.pop().ok_or(Why::Missing("the policy of the hint"))?;
        decoder.value(policy, ScalarType::B64)?;
    }
    let found = operands.len();
    let expected = "an address, an address, a size, and the barrier of counted bytes; last the policy of a hint";
    operands.try_into().map_err(|_| Why::Count { found, expected })
}

fn take_all(modifiers: &mut Modifiers) {
    while modifiers.pick(|_| Some(())).is_some() {}
}

/// `st.async` and `red.async`.
pub(super) fn store<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    decoder.requires(ARCHITECTURE)?;
    modifiers.flag("async");
    if instruction.opcode == "st" {
        modifiers.flag("weak");
    } else if !modifiers.flag("relaxed") || !modifiers.flag("cluster") {
        return Err(Why::Missing("`.relaxed.cluster`"));
    }
    modifiers.flag("shared::cluster");
    if !modifiers.flag(COUNTED) {
        return Err(Why::Missing("`.mbarrier::complete_tx::bytes`"));
    }
    let change = if instruction.opcode == "red" {
        Some(modifiers.pick(change).ok_or(Why::Missing("an operation such as `.add`"))?)
    } else {
        None
    };
    let sizes = [("v2", 2), ("v4", 4)];
    let size = |word: &str| sizes.into_iter().find(|(name, _)| *name == word && change.is_none());
    let count = modifiers.pick(size).map_or(1, |(_, count)| count);
    let scalar = modifiers.scalar()?;
    use ScalarType::{B32, B64, F32, F64, S32, S64, U32, U64};
    if !matches!(scalar, B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64) || count == 4 && scalar.size() == 8 {
        return Err(Why::Other("it stores values of 32 or 64 bits, 16 bytes at most"));
    }
    let reduction = match change {
        // A sum does not tell signed from unsigned.
        Some(Change::Add) if scalar == S64 => element(Change::Add, U64, true),
        Some(change) => element(change, scalar, true),
        None => None,
    };
    if change.is_some() && reduction.is_none() {
        return Err(Why::Other("it is not for this type"));
    }
    let [address, value, barrier] = decoder.operands(instruction, "3")?;
    let values = match value {
        Operand::Vector(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    if values.len() != usize::from(count) {
        return Err(Why::Operand { index: 1, expected: "a vector of that size" });
    }
    let (address, barrier) =
        (decoder.location(address, Space::Shared, 0)?, decoder.location(barrier, Space::Shared, 2)?);
    let mut slots = [Slot::SINK; 6];
    for (slot, value) in slots.iter_mut().zip(values) {
        *slot = decoder.value(value, scalar)?;
    }
    (slots[4], slots[5]) = (decoder.whole(&address), decoder.whole(&barrier));
    let form = AsyncStore { bytes: scalar.size() as u8, count, reduction };
    decoder.emit(Operation::StoreAsync(form), &slots);
    Ok(())
}

impl Decoder<'_, '_> {
    /// A register of 64 bits with the address of a place, its offset included.
    fn whole(&mut self, place: &super::address::Position) -> Slot {
        let mut slot = place.slot;
        if !place.wide {
            if place.offset.value() != 0 {
                let (sum, offset) = (self.new_word(), self.word(place.offset.value()));
                self.prepare(Operation::Compute(Compute::Add(Int::U32)), &[sum, slot, offset]);
                slot = sum;
            }
            let long = self.new_long();
            let extend = Cast::ExtendLong { bits: 32, signed: false };
            self.prepare(Operation::Compute(Compute::Cast(extend)), &[long, slot]);
            return long;
        }
        if place.offset.value() != 0 {
            let sum = self.new_long();
            let offset = self.long(i64::from(place.offset.value().cast_signed()).cast_unsigned());
            self.prepare(Operation::Compute(Compute::Add(Int::U64)), &[sum, slot, offset]);
            slot = sum;
        }
        slot
    }
}
