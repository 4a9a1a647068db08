//! Instructions for clusters: addresses in other blocks, and the cluster's barrier.

use super::super::operation::{Barrier, Operation, Special};
use super::super::slot::Slot;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why};
use crate::syntax::{Instruction, Operand, ScalarType};

fn is_long(modifiers: &mut Modifiers) -> Decoded<(ScalarType, bool)> {
    modifiers.flag("shared::cluster");
    let scalar = modifiers.scalar()?;
    match scalar.size() {
        4 | 8 => Ok((scalar, scalar.size() == 8)),
        _ => Err(Why::Other("addresses have 32 or 64 bits")),
    }
}

/// `mapa`: the address that another block has for the same place in its shared memory.
pub(super) fn map<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (scalar, long) = is_long(modifiers)?;
    let [d, a, rank] = decoder.operands(instruction, "3")?;
    let file = if long { File::Longs } else { File::Words };
    let slots = [decoder.result(d, file)?, decoder.value(a, scalar)?, decoder.value(rank, ScalarType::U32)?];
    decoder.emit(Operation::MapShared { long }, &slots);
    Ok(())
}

/// `getctarank`: the block that an address belongs to.
pub(super) fn rank<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let (scalar, long) = is_long(modifiers)?;
    let [d, a] = decoder.operands(instruction, "2")?;
    let slots = [decoder.result(d, File::Words)?, decoder.value(a, scalar)?];
    decoder.emit(Operation::SharedRank { long }, &slots);
    Ok(())
}

/// `barrier.cluster`: arriving does not wait, and waiting is for all threads that have not ended.
pub(super) fn barrier(decoder: &mut Decoder<'_, '_>, modifiers: &mut Modifiers) -> Decoded {
    let waits = modifiers.flag("wait");
    if !modifiers.flag("arrive") && !waits {
        return Err(Why::Missing("`.arrive` or `.wait`"));
    }
    modifiers.flag("aligned");
    let orders: &[&str] = if waits { &["acquire"] } else { &["release", "relaxed"] };
    modifiers.pick(|word| orders.contains(&word).then_some(()));
    let kind = if waits { Barrier::ClusterWait } else { Barrier::ClusterArrive };
    let slots = [Slot::SINK, decoder.word(0), decoder.word(0), Slot::SINK];
    decoder.emit(Operation::Barrier(kind), &slots);
    Ok(())
}

/// `mov.pred` of the one special register that is a predicate; `false` for anything else.
pub(super) fn move_explicit<'t>(decoder: &mut Decoder<'_, 't>, d: &Operand<'t>, a: &Operand<'t>) -> Decoded<bool> {
    if !matches!(a, Operand::Name("%is_explicit_cluster")) {
        return Ok(false);
    }
    let d = decoder.result(d, File::Predicates)?;
    decoder.emit(Operation::Special(Special::ExplicitCluster), &[d]);
    Ok(true)
}
