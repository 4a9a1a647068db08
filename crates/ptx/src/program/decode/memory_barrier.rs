//! `mbarrier`: barriers in shared memory.

use super::super::operation::{MemoryBarrier, Operation};
use super::super::slot::Slot;
use super::super::space::Space;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Instruction, Operand, ScalarType};

/// The operation on a barrier, and the operands around its address.
pub(super) fn decode<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let what = instruction.modifiers.first().copied().unwrap_or_default();
    modifiers.flag(what);
    check(what, instruction)?;
    for word in
        ["release", "acquire", "relaxed", "cta", "cluster", "shared", "shared::cta", "shared::cluster", "noComplete"]
    {
        modifiers.flag(word);
    }
    // The layout and the phases that barriers have always had.
    if what == "init" {
        modifiers.flag("layout::v0");
    } else if matches!(what, "test_wait" | "try_wait") {
        modifiers.flag("phase_type::primary");
    }
    let (parity, expects) = (modifiers.flag("parity"), modifiers.flag("expect_tx"));
    if modifiers.scalar()? != ScalarType::B64 {
        return Err(Why::Other("a barrier has 64 bits"));
    }
    let operands = instruction.operands.as_slice();
    match (what, operands) {
        ("init", [address, count]) => {
            put(decoder, MemoryBarrier::Initialize, None, address, &[(count, ScalarType::U32)])
        }
        ("inval", [_]) => {
            decoder.emit(Operation::Nothing, &[]);
            Ok(())
        }
        ("expect_tx", [address, bytes]) => {
            put(decoder, MemoryBarrier::Expect, None, address, &[(bytes, ScalarType::U32)])
        }
        ("complete_tx", [address, bytes]) => {
            put(decoder, MemoryBarrier::Complete, None, address, &[(bytes, ScalarType::U32)])
        }
        ("arrive" | "arrive_drop", [d, address, rest @ ..]) if !matches!(d, Operand::Address(_)) => {
            arrive(decoder, what == "arrive_drop", expects, Some(d), address, rest)
        }
        ("arrive" | "arrive_drop", [address, rest @ ..]) => {
            arrive(decoder, what == "arrive_drop", expects, None, address, rest)
        }
        ("test_wait" | "try_wait", [p, address, state, ..]) => {
            let p = decoder.result(p, File::Predicates)?;
            let (kind, scalar) = if parity {
                (MemoryBarrier::TestParity, ScalarType::U32)
            } else {
                (MemoryBarrier::Test, ScalarType::B64)
            };
            put(decoder, kind, Some(p), address, &[(state, scalar)])
        }
        ("pending_count", [d, state]) => {
            let (d, state) = (decoder.result(d, File::Words)?, decoder.value(state, ScalarType::B64)?);
            let slots = [d, Slot::SINK, Slot::raw(0), state];
            decoder.emit(Operation::MemoryBarrier(MemoryBarrier::Pending, true), &slots);
            Ok(())
        }
        _ => Err(Why::Other("this use of a barrier is not simulated")),
    }
}

fn arrive<'t>(
    decoder: &mut Decoder<'_, 't>,
    drops: bool,
    expects: bool,
    d: Option<&Operand<'t>>,
    address: &Operand<'t>,
    rest: &[Operand<'t>],
) -> Decoded {
    let d = d.map_or(Ok(Slot::SINK), |d| decoder.result(d, File::Longs))?;
    let given = match rest.first() {
        Some(operand) => decoder.value(operand, ScalarType::U32)?,
        None => decoder.word(1),
    };
    let place = decoder.location(address, Space::Generic, 1)?;
    let kind = MemoryBarrier::Arrive { expects, drops };
    decoder.emit(Operation::MemoryBarrier(kind, place.wide), &[d, place.slot, place.offset, given]);
    Ok(())
}

fn put<'t>(
    decoder: &mut Decoder<'_, 't>,
    kind: MemoryBarrier,
    d: Option<Slot>,
    address: &Operand<'t>,
    rest: &[(&Operand<'t>, ScalarType)],
) -> Decoded {
    let place = decoder.location(address, Space::Generic, 1)?;
    let mut slots = vec![d.unwrap_or(Slot::SINK), place.slot, place.offset];
    for (operand, scalar) in rest {
        slots.push(decoder.value(operand, *scalar)?);
    }
    decoder.emit(Operation::MemoryBarrier(kind, place.wide), &slots);
    Ok(())
}

/// `cp.async.mbarrier.arrive`: copies are done when they are asked for, so the arrival follows at once;
/// unless it is to be counted as expected, too, which is an arrival without a thread.
pub(super) fn arrive_after_copies<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let counted = modifiers.flag("noinc");
    for word in ["arrive", "shared", "shared::cta", "b64"] {
        modifiers.flag(word);
    }
    let [address] = decoder.operands(instruction, "1")?;
    let count = decoder.word(u32::from(counted));
    let place = decoder.location(address, Space::Generic, 0)?;
    let kind = MemoryBarrier::Arrive { expects: false, drops: false };
    decoder.emit(Operation::MemoryBarrier(kind, place.wide), &[Slot::SINK, place.slot, place.offset, count]);
    Ok(())
}

/// `true` for the operands of an arrival: a result, an address, and maybe a count.
fn is_arrival(instruction: &Instruction<'_>, expects: bool) -> bool {
    let counts = 2 + usize::from(expects)..=3;
    let has_result = !matches!(instruction.operands.first(), Some(Operand::Address(_)));
    has_result && counts.contains(&instruction.operands.len())
}

/// Checks order, scope and space, of which each operation has its own.
fn check(what: &str, instruction: &Instruction<'_>) -> Decoded {
    let words = &instruction.modifiers[1..];
    let has = |word: &str| words.contains(&word);
    let order = words.iter().copied().find(|word| matches!(*word, "release" | "acquire" | "relaxed"));
    let is_scoped = has("cta") || has("cluster");
    let in_cluster = has("shared::cluster");
    let arrives = matches!(what, "arrive" | "arrive_drop");
    let is_sink = matches!(instruction.operands.first(), Some(Operand::Sink));
    let orders: &[&str] = match what {
        "expect_tx" | "complete_tx" => &["relaxed"],
        "arrive" | "arrive_drop" => &["release", "relaxed"],
        "test_wait" | "try_wait" => &["acquire", "relaxed"],
        _ => &[],
    };
    let reason = if order.is_some() != is_scoped || order.is_some_and(|order| !orders.contains(&order)) {
        "it has another order, and a scope with it"
    } else if in_cluster && !(arrives && is_sink || matches!(what, "expect_tx" | "complete_tx")) {
        "it is for the block's own barriers"
    } else if has("noComplete")
        && (!arrives || has("expect_tx") || in_cluster || order == Some("relaxed") || has("cluster"))
    {
        "`.noComplete` is for arrivals at barriers of the block"
    } else if has("noComplete") && instruction.operands.len() != 3 {
        "`.noComplete` needs a count"
    } else if arrives && !is_arrival(instruction, has("expect_tx")) {
        "an arrival has a result or `_`, an address, and a count where bytes are expected"
    } else if what == "test_wait" && (is_sink || instruction.operands.len() != 3) || what == "try_wait" && is_sink {
        "a test has a predicate, an address and a state; `.try_wait` alone has a time, too"
    } else if what == "pending_count" && words.len() > 1 {
        "a count is of a state, not of memory"
    } else if has("parity") && !matches!(what, "test_wait" | "try_wait") || has("expect_tx") && !arrives {
        "there is no such operation on a barrier"
    } else {
        return Ok(());
    };
    Err(Why::Other(reason))
}
