//! Barriers, fences, and instructions across a warp.

use super::super::operation::{Barrier, Operation, Reduction, Shuffle, Vote};
use super::super::slot::Slot;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, types};
use crate::syntax::{Instruction, Operand, ScalarType};

const WORD: ScalarType = ScalarType::U32;

pub(super) fn barrier<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let in_block = modifiers.flag("cta");
    if instruction.opcode == "bar" && !in_block && modifiers.flag("warp") {
        let [mask] = decoder.operands(instruction, "1")?;
        if !modifiers.flag("sync") {
            return Err(Why::Missing("`.sync`"));
        }
        let mask = decoder.value(mask, WORD)?;
        decoder.emit(Operation::WarpBarrier, &[mask]);
        return Ok(());
    }
    if modifiers.flag("cluster") {
        return super::cluster::barrier(decoder, modifiers);
    }
    if instruction.opcode == "barrier" {
        modifiers.flag("aligned");
    }
    let operands = instruction.operands.as_slice();
    if modifiers.flag("sync") || modifiers.flag("arrive") {
        let arrive = instruction.modifiers.contains(&"arrive");
        let (id, count) = match operands {
            [id] if !arrive => (id, None),
            [id, count] => (id, Some(count)),
            _ => return Err(Why::Count { found: operands.len(), expected: "1 or 2" }),
        };
        check_number(id, 0)?;
        let slots = [Slot::SINK, decoder.value(id, WORD)?, count_of(decoder, count)?, Slot::SINK];
        decoder.emit(Operation::Barrier(if arrive { Barrier::Arrive } else { Barrier::Sync }), &slots);
        return Ok(());
    }
    if !modifiers.flag("red") {
        return Err(Why::Missing("`.sync`, `.arrive` or `.red`"));
    }
    let (kind, file) = modifiers
        .pick(|word| {
            Some(match word {
                "popc" => (Barrier::Count, File::Words),
                "and" => (Barrier::All, File::Predicates),
                "or" => (Barrier::Any, File::Predicates),
                _ => return None,
            })
        })
        .ok_or(Why::Missing("`.popc`, `.and` or `.or`"))?;
    let scalar = modifiers.scalar()?;
    if scalar != if file == File::Words { ScalarType::U32 } else { ScalarType::Predicate } {
        return Err(Why::Other("`.popc` counts `.u32`, the others give `.pred`"));
    }
    let (d, id, count, predicate) = match operands {
        [d, id, predicate] => (d, id, None, predicate),
        [d, id, count, predicate] => (d, id, Some(count), predicate),
        _ => return Err(Why::Count { found: operands.len(), expected: "3 or 4" }),
    };
    check_number(id, 1)?;
    let d = decoder.result(d, file)?;
    let slots = [d, decoder.value(id, WORD)?, count_of(decoder, count)?, decoder.predicate(predicate)?];
    decoder.emit(Operation::Barrier(kind), &slots);
    Ok(())
}

/// Refuses the number of a barrier that a block does not have.
fn check_number(operand: &Operand<'_>, index: usize) -> Decoded {
    let is_beyond = matches!(operand, Operand::Immediate(_)) && Decoder::number(operand, index)? > 15;
    if is_beyond { Err(Why::Operand { index, expected: "a barrier from 0 to 15" }) } else { Ok(()) }
}

/// Threads that take part; 0 is all of the block.
fn count_of<'t>(decoder: &mut Decoder<'_, 't>, count: Option<&Operand<'t>>) -> Decoded<Slot> {
    match count {
        Some(count) => decoder.value(count, WORD),
        None => Ok(decoder.word(0)),
    }
}

/// Every fence orders all accesses here; its modifiers are checked only.
pub(super) fn fence<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let is_scope = |word: &str| matches!(word, "cta" | "cluster" | "gpu" | "sys");
    // True where it has an address and a size.
    let has_range = match (instruction.opcode, &instruction.modifiers[..]) {
        ("fence", [scope]) | ("fence", ["sc" | "acq_rel" | "acquire" | "release", scope]) if is_scope(scope) => false,
        ("fence" | "membar", ["proxy", "alias" | "async"]) => false,
        ("fence", ["proxy", "async", "global" | "shared::cta" | "shared::cluster"]) => false,
        ("fence", ["proxy", "alias", "acquire" | "release", "sys"]) => false,
        ("fence", ["proxy", "async::generic", "acquire", "sync_restrict::shared::cluster", "cluster"]) => false,
        ("fence", ["proxy", "async::generic", "release", "sync_restrict::shared::cta", "cluster"]) => false,
        (
            "fence",
            ["proxy", "async::generic", "release", "sync_restrict::shared::cluster::read", "cta" | "cluster"],
        ) => false,
        ("fence", ["proxy", "tensormap::generic", "acquire", scope]) if is_scope(scope) => true,
        ("fence", ["proxy", "tensormap::generic", "release", scope]) if is_scope(scope) => false,
        ("fence", ["mbarrier_init", "release", "cluster"]) => false,
        ("fence", ["acquire", "sync_restrict::shared::cluster", "cluster"]) => false,
        ("fence", ["release", "sync_restrict::shared::cta", "cluster"]) => false,
        ("membar", ["cta" | "gl" | "sys"]) => false,
        _ => return Err(Why::Missing("a scope such as `.cta`, or it is no fence")),
    };
    if has_range == instruction.operands.is_empty() {
        return Err(Why::Count { found: instruction.operands.len(), expected: "an address and a size, or none" });
    }
    while modifiers.pick(|_| Some(())).is_some() {}
    decoder.emit(Operation::Fence, &[]);
    Ok(())
}

/// The mask of lanes that take part, which old texts leave out.
fn mask<'t>(decoder: &mut Decoder<'_, 't>, sync: bool, operand: Option<&Operand<'t>>) -> Decoded<Slot> {
    match operand {
        Some(operand) if sync => decoder.value(operand, WORD),
        // Later devices have no such instruction.
        None if !sync && decoder.requires(70).is_err() => Ok(decoder.word(0)),
        _ => Err(Why::Missing("a mask behind `.sync`")),
    }
}

pub(super) fn shuffle<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let sync = modifiers.flag("sync");
    let kind = modifiers
        .pick(|word| {
            Some(match word {
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "bfly" => Shuffle::Butterfly,
                "idx" => Shuffle::Index,
                _ => return None,
            })
        })
        .ok_or(Why::Missing("`.up`, `.down`, `.bfly` or `.idx`"))?;
    modifiers.one_of(types::WORD_BITS)?;
    let [d, a, b, c, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "5" });
    };
    let [d, p] = decoder.result_and_predicate(d, File::Words)?;
    let bits = ScalarType::B32;
    let slots = [d, p, decoder.value(a, bits)?, decoder.value(b, WORD)?, decoder.value(c, WORD)?];
    let mask = mask(decoder, sync, rest.first())?;
    let [d, p, a, b, c] = slots;
    decoder.emit(Operation::Shuffle(kind), &[d, p, a, b, c, mask]);
    Ok(())
}

pub(super) fn vote<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let sync = modifiers.flag("sync");
    let kind = modifiers
        .pick(|word| {
            Some(match word {
                "all" => Vote::All,
                "any" => Vote::Any,
                "uni" => Vote::Uniform,
                "ballot" => Vote::Ballot,
                _ => return None,
            })
        })
        .ok_or(Why::Missing("`.all`, `.any`, `.uni` or `.ballot`"))?;
    modifiers.one_of(if kind == Vote::Ballot { types::WORD_BITS } else { types::PREDICATE })?;
    let [d, a, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "3" });
    };
    let d = decoder.result(d, if kind == Vote::Ballot { File::Words } else { File::Predicates })?;
    let a = decoder.predicate(a)?;
    let mask = mask(decoder, sync, rest.first())?;
    decoder.emit(Operation::Vote(kind), &[d, a, mask]);
    Ok(())
}

pub(super) fn active_mask<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    modifiers.one_of(types::WORD_BITS)?;
    let [d] = decoder.operands(instruction, "1")?;
    let d = decoder.result(d, File::Words)?;
    decoder.emit(Operation::ActiveMask, &[d]);
    Ok(())
}

pub(super) fn matching<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let all = modifiers.flag("all");
    modifiers.flag("any");
    modifiers.flag("sync");
    let scalar = modifiers.one_of(types::WIDE_BITS)?;
    let [d, a, mask] = decoder.operands(instruction, "3")?;
    if !all && matches!(d, Operand::Pair(..)) {
        return Err(Why::Other("`.any` has no predicate"));
    }
    let [d, p] = decoder.result_and_predicate(d, File::Words)?;
    let slots = [d, p, decoder.value(a, scalar)?, decoder.value(mask, WORD)?];
    decoder.emit(Operation::Match { all, long: scalar.size() > 4 }, &slots);
    Ok(())
}

pub(super) fn reduce<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    modifiers.flag("sync");
    let word =
        modifiers.pick(|word| ["add", "min", "max", "and", "or", "xor"].into_iter().find(|known| *known == word));
    let scalar = modifiers.scalar()?;
    let kind = match (word.ok_or(Why::Missing("what it does, such as `.add`"))?, scalar) {
        ("add", ScalarType::U32 | ScalarType::S32) => Reduction::Add,
        ("and", ScalarType::B32) => Reduction::And,
        ("or", ScalarType::B32) => Reduction::Or,
        ("xor", ScalarType::B32) => Reduction::Xor,
        ("min", ScalarType::U32) => Reduction::MinimumUnsigned,
        ("max", ScalarType::U32) => Reduction::MaximumUnsigned,
        ("min", ScalarType::S32) => Reduction::MinimumSigned,
        ("max", ScalarType::S32) => Reduction::MaximumSigned,
        _ => return Err(Why::Other("it is not for this type")),
    };
    let [d, a, mask] = decoder.operands(instruction, "3")?;
    let slots = [decoder.result(d, File::Words)?, decoder.value(a, scalar)?, decoder.value(mask, WORD)?];
    decoder.emit(Operation::Reduce(kind), &slots);
    Ok(())
}

pub(super) fn elect<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let [d, mask] = decoder.operands(instruction, "2")?;
    if !modifiers.flag("sync") || !matches!(d, Operand::Pair(..)) {
        return Err(Why::Other("it is `.sync`, and has a register and a predicate"));
    }
    let [d, p] = decoder.result_and_predicate(d, File::Words)?;
    let mask = decoder.value(mask, WORD)?;
    decoder.emit(Operation::Elect, &[d, p, mask]);
    Ok(())
}
