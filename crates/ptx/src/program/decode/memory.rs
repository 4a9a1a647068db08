//! Loads, stores, and copies.

use super::super::compute::{Compute, Int};
use super::super::operation::{AccessForm, Operation};
use super::super::slot::Slot;
use super::super::space::Space;
use super::super::window::Window;
use super::scope::File;
use super::{Decoded, Decoder, Modifiers, Why, pair, types};
use crate::syntax::{Instruction, Operand, ScalarType};

pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "global" | "const" => Space::Global,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Parameter,
        _ => return None,
    })
}

/// Takes the modifiers for memory order, scope and caching; true for a strong access.
pub(super) fn memory_order(modifiers: &mut Modifiers) -> bool {
    let mut strong = false;
    for word in ["volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"] {
        strong |= modifiers.flag(word);
    }
    for word in ["weak", "cta", "cluster", "gpu", "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"] {
        modifiers.flag(word);
    }
    while modifiers.pick(|word| (word.starts_with("L1::") || word.starts_with("L2::")).then_some(())).is_some() {}
    strong
}

/// Checks how a load or a store is ordered and cached, for the space that it names; the assembler takes no
/// others.
fn check_order(words: &[&str]) -> Decoded {
    let has = |word: &str| words.contains(&word);
    let count = |all: &[&str]| words.iter().filter(|word| all.contains(*word)).count();
    let space = words.iter().find(|word| space(word).is_some()).copied().unwrap_or("global");
    let scopes = count(&["cta", "cluster", "gpu", "sys"]);
    let caches = count(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    let [in_first, in_second] = ["L1::", "L2::"].map(|level| words.iter().any(|word| word.starts_with(level)));
    let is_prefetch = |word: &&str| matches!(*word, "L2::64B" | "L2::128B" | "L2::256B");
    let is_global = space == "global";
    let is_shared = space.starts_with("shared");
    let orders = count(&["weak", "volatile", "relaxed", "acquire", "release"]);
    let is_scoped = has("relaxed") || has("acquire") || has("release");
    let reason = if orders > 1 || scopes > 1 || caches > 1 {
        "it says two things at once about order, scope or cache"
    } else if is_scoped != (scopes == 1) {
        "a scope goes with `.relaxed`, `.acquire` and `.release`, and they with a scope"
    } else if has("mmio") && !(has("relaxed") && has("sys") && is_global && !in_first && !in_second) {
        "`.mmio` goes with `.relaxed.sys` and global memory"
    } else if is_scoped && !(is_global || is_shared) {
        "only global and shared memory are shared with other threads"
    } else if has("volatile") && !(is_global || is_shared || space == "local") {
        "volatile accesses are to global, shared or local memory"
    } else if (is_scoped || has("volatile")) && caches > 0 {
        "an access that is ordered has no cache operator"
    } else if has("volatile") && (in_first || words.iter().any(|word| word.starts_with("L2::") && !is_prefetch(word))) {
        "a volatile access has no eviction priority"
    } else if (in_first || in_second) && !is_global {
        "eviction priorities are for global memory"
    } else if has("nc") && orders > 0 {
        "`.nc` is for weak loads"
    } else {
        return Ok(());
    };
    Err(Why::Other(reason))
}

/// `v2`, `v4`
fn count(modifiers: &mut Modifiers) -> u8 {
    let count = modifiers.pick(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        _ => None,
    });
    count.unwrap_or(1)
}

fn signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

fn elements<'i, 't>(operand: &'i Operand<'t>, count: u8, index: usize) -> Decoded<&'i [Operand<'t>]> {
    let elements = match operand {
        Operand::Vector(elements) => elements.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    if elements.len() == usize::from(count) {
        Ok(elements)
    } else {
        Err(Why::Operand { index, expected: "a vector of that size" })
    }
}

pub(super) fn load<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    check_order(&instruction.modifiers)?;
    if modifiers.any(|word| matches!(word, "release" | "wb" | "wt")) {
        return Err(Why::Other("a load is not released, and has other cache operators"));
    }
    let strong = memory_order(modifiers);
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let count = count(modifiers);
    let is_constant = instruction.modifiers.contains(&"const");
    if instruction.modifiers.contains(&"nc") && (space != Space::Global || is_constant) {
        return Err(Why::Other("`.nc` is for global memory, and says so"));
    }
    let scalar = modifiers.one_of(types::STORED)?;
    let bytes = scalar.size() as u8;
    let [d, address] = hinted(instruction)?;
    let place = decoder.location(address, space, 1)?;
    if scalar == ScalarType::B128 {
        return pair::load(decoder, d, &place, (count, strong, is_constant));
    }
    let mut slots = [Slot::SINK; 6];
    let mut long = None;
    let mut pairs = Vec::new();
    for (index, element) in elements(d, count, 0)?.iter().enumerate() {
        if matches!(element, Operand::Sink) {
            continue;
        }
        let (found, slot) = decoder.any_result(element)?;
        let this = match found {
            File::Words if bytes <= 4 => false,
            File::Longs => true,
            File::Pairs => {
                pairs.push(slot);
                true
            }
            _ => return Err(Why::Operand { index: 0, expected: "a register that is wide enough" }),
        };
        if *long.get_or_insert(this) != this {
            return Err(Why::Operand { index: 0, expected: "a vector of registers of one width" });
        }
        slots[index] = slot;
    }
    (slots[4], slots[5]) = (place.slot, place.offset);
    let long = long.unwrap_or(bytes > 4);
    let form = AccessForm {
        space: place.space,
        bytes,
        signed: signed(scalar),
        long,
        count,
        wide: place.wide,
        strong,
        constant: is_constant,
    };
    decoder.emit(Operation::Load(form), &slots);
    pairs.into_iter().for_each(|pair| decoder.extend_pair(pair, scalar));
    Ok(())
}

/// The operands without a cache policy behind them.
fn hinted<'i, 't>(instruction: &'i Instruction<'t>) -> Decoded<[&'i Operand<'t>; 2]> {
    match instruction.operands.as_slice() {
        [first, second] | [first, second, _] => Ok([first, second]),
        all => Err(Why::Count { found: all.len(), expected: "2" }),
    }
}

pub(super) fn store<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if instruction.modifiers.first() == Some(&"async") {
        return super::bulk_copy::store(decoder, instruction, modifiers);
    }
    check_order(&instruction.modifiers)?;
    if modifiers.any(|word| matches!(word, "acquire" | "ca" | "lu" | "cv" | "nc")) {
        return Err(Why::Other("a store does not acquire, and has other cache operators"));
    }
    if modifiers.any(|word| matches!(word, "L2::64B" | "L2::128B" | "L2::256B")) {
        return Err(Why::Other("a store does not prefetch"));
    }
    let strong = memory_order(modifiers);
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let count = count(modifiers);
    if instruction.modifiers.contains(&"const") {
        return Err(Why::Other("constants cannot be written"));
    }
    let scalar = modifiers.one_of(types::STORED)?;
    let bytes = scalar.size() as u8;
    let [address, value] = hinted(instruction)?;
    let place = decoder.location(address, space, 0)?;
    if place.space == Space::Argument {
        return Err(Why::Other("arguments of a kernel cannot be written"));
    }
    if scalar == ScalarType::B128 {
        return pair::store(decoder, value, &place, (count, strong, false));
    }
    let mut slots = [Slot::SINK; 6];
    let mut long = None;
    let values = elements(value, count, 1)?;
    for element in values {
        if let Ok((found, _)) = decoder.any_register(element, 1) {
            let this = matches!(found, File::Longs | File::Pairs);
            if found == File::Predicates || *long.get_or_insert(this) != this {
                return Err(Why::Operand { index: 1, expected: "registers of one width" });
            }
        }
    }
    let long = long.unwrap_or(bytes > 4);
    if bytes > 4 && !long {
        return Err(Why::Operand { index: 1, expected: "a register that is wide enough" });
    }
    // A narrow value may come from a wider register; a number is of the register's width.
    let as_type = match (long, scalar) {
        (true, ScalarType::F64) | (false, ScalarType::F32) => scalar,
        (true, _) => ScalarType::B64,
        (false, _) => ScalarType::B32,
    };
    for (index, element) in values.iter().enumerate() {
        // Of a register of 128 bits, the lower long has all that is stored.
        slots[index] = match decoder.any_register(element, 1) {
            Ok((File::Pairs, low)) => low,
            _ => decoder.value(element, as_type)?,
        };
    }
    (slots[4], slots[5]) = (place.slot, place.offset);
    let form =
        AccessForm { space: place.space, bytes, signed: false, long, count, wide: place.wide, strong, constant: false };
    decoder.emit(Operation::Store(form), &slots);
    Ok(())
}

/// Hints for caches, which have no effect here.
pub(super) fn hint<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let allowed = matches!(
        (instruction.opcode, &instruction.modifiers[..]),
        ("prefetch", ["L1" | "L2" | "L2::evict_last" | "L2::evict_normal" | "tensormap"])
            | ("prefetch", ["global", "L1" | "L2" | "L2::evict_last" | "L2::evict_normal"])
            | ("prefetch", ["local", "L1" | "L2"] | ["param" | "const", "tensormap"])
            | ("prefetch", ["L1::32B", "valid_addr"] | ["global", "L1::32B", "valid_addr"])
            | ("prefetchu", ["L1"])
            | ("applypriority", ["global", "L2::evict_normal"] | ["L2::evict_normal"])
            | ("discard", ["global", "L2"] | ["L2"])
    );
    if !allowed {
        return Err(Why::Other("there is no such hint"));
    }
    while modifiers.pick(|_| Some(())).is_some() {}
    decoder.emit(Operation::Nothing, &[]);
    Ok(())
}

/// `createpolicy`: a value that instructions take as a hint for caches, and that has no other effect.
pub(super) fn policy<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let is_priority = |word: &str| word.starts_with("L2::evict_");
    let (first, is_conversion) = match &instruction.modifiers[..] {
        ["fractional", first, "b64"] | ["fractional", first, "L2::evict_unchanged", "b64"] => (*first, false),
        ["range", "global", first, "b64"] | ["range", "global", first, "L2::evict_unchanged", "b64"] => (*first, false),
        ["range", first, "b64"] | ["range", first, "L2::evict_unchanged", "b64"] => (*first, false),
        ["cvt", "L2", "b64"] => ("", true),
        _ => return Err(Why::Other("there is no such policy")),
    };
    if !is_conversion && !is_priority(first) {
        return Err(Why::Missing("a priority such as `.L2::evict_last`"));
    }
    let is_range = instruction.modifiers[0] == "range";
    while modifiers.pick(|_| Some(())).is_some() {}
    let value = match (is_conversion, instruction.operands.as_slice()) {
        (true, [_, from @ Operand::Name(_)]) => decoder.value(from, ScalarType::B64)?,
        (false, [_]) if !is_range => decoder.long(whole_policy(first)),
        (false, [_, fraction]) if !is_range => {
            decoder.value(fraction, ScalarType::F32)?;
            decoder.long(whole_policy(first))
        }
        (false, [_, address, primary, total]) if is_range => {
            decoder.location(address, Space::Generic, 1)?;
            decoder.value(primary, ScalarType::U32)?;
            decoder.value(total, ScalarType::U32)?;
            decoder.long(whole_policy(first))
        }
        (_, all) => return Err(Why::Count { found: all.len(), expected: "those of a policy" }),
    };
    let d = decoder.result(&instruction.operands[0], File::Longs)?;
    decoder.emit(Operation::Compute(Compute::MoveLong), &[d, value]);
    Ok(())
}

/// The policy that NVIDIA's libraries write for all accesses.
fn whole_policy(priority: &str) -> u64 {
    match priority {
        "L2::evict_first" => 0x12f0_0000_0000_0000,
        "L2::evict_last" => 0x14f0_0000_0000_0000,
        _ => 0x10f0_0000_0000_0000,
    }
}

fn window(space: Space) -> Decoded<Window> {
    match space {
        Space::Global => Ok(Window::Global),
        Space::Shared => Ok(Window::Shared),
        Space::Local => Ok(Window::Local),
        Space::Parameter => Ok(Window::Parameter),
        _ => Err(Why::Missing("a space such as `.shared`")),
    }
}

pub(super) fn cvta<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let to = modifiers.flag("to");
    let space = modifiers.pick(space).ok_or(Why::Missing("a space such as `.shared`"))?;
    let scalar = modifiers.scalar()?;
    if scalar != ScalarType::U64 {
        return Err(Why::Other("addresses have 64 bits here"));
    }
    let [d, a] = decoder.operands(instruction, "2")?;
    let (d, a) = (decoder.result(d, File::Longs)?, decoder.value(a, scalar)?);
    // Parameters of a function lie in local memory.
    let space = if space == Space::Parameter && !decoder.entry { Space::Local } else { space };
    let start = window(space)?.start();
    if start == 0 {
        decoder.emit(Operation::Compute(Compute::MoveLong), &[d, a]);
        return Ok(());
    }
    let start = decoder.long(start);
    let what = if to { Compute::Subtract(Int::U64) } else { Compute::Add(Int::U64) };
    decoder.emit(Operation::Compute(what), &[d, a, start]);
    Ok(())
}

pub(super) fn is_space<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let constant = modifiers.flag("const");
    if modifiers.flag("shared") || modifiers.flag("shared::cta") {
        let [p, a] = decoder.operands(instruction, "2")?;
        let slots = [decoder.result(p, File::Predicates)?, decoder.value(a, ScalarType::U64)?];
        decoder.emit(Operation::OwnShared, &slots);
        return Ok(());
    }
    let window = if constant {
        Window::Constant
    } else {
        window(modifiers.pick(space).ok_or(Why::Missing("a space such as `.shared`"))?)?
    };
    let [p, a] = decoder.operands(instruction, "2")?;
    let slots = [decoder.result(p, File::Predicates)?, decoder.value(a, ScalarType::U64)?];
    decoder.emit(Operation::Compute(Compute::InWindow(window)), &slots);
    Ok(())
}

/// `cp.async`: the copy is done when it is asked for, which is one of the moments it may be done at.
pub(super) fn copy<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if matches!(&instruction.modifiers[..], ["async", "bulk", ..] | ["reduce", ..]) {
        return super::bulk_copy::decode(decoder, instruction, modifiers);
    }
    if !modifiers.flag("async") {
        return Err(Why::Missing("`.async`"));
    }
    if modifiers.flag("mbarrier") {
        return super::memory_barrier::arrive_after_copies(decoder, instruction, modifiers);
    }
    if modifiers.flag("commit_group") {
        decoder.emit(Operation::CommitCopies, &[]);
        return Ok(());
    }
    if modifiers.flag("wait_all") {
        decoder.emit(Operation::AwaitCopies { all: true }, &[Slot::raw(0)]);
        return Ok(());
    }
    if modifiers.flag("wait_group") {
        let [groups] = decoder.operands(instruction, "1")?;
        let groups = u32::try_from(Decoder::number(groups, 0)?).unwrap_or(u32::MAX);
        decoder.emit(Operation::AwaitCopies { all: false }, &[Slot::raw(groups)]);
        return Ok(());
    }
    let caches = modifiers.flag("ca") || modifiers.flag("cg");
    if !caches || !modifiers.flag("shared") && !modifiers.flag("shared::cta") || !modifiers.flag("global") {
        return Err(Why::Other(
            "it copies from global to shared memory: `cp.async.ca.shared.global` or `cp.async.cg.shared.global`",
        ));
    }
    let is_hinted = instruction.modifiers.contains(&"L2::cache_hint");
    let is_through = instruction.modifiers.contains(&"cg");
    memory_order(modifiers);
    let [into, from, bytes, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "3 or 4" });
    };
    // A policy comes last.
    let rest = match (is_hinted, rest) {
        (true, [rest @ .., policy]) if rest.len() < 2 => {
            decoder.value(policy, ScalarType::B64)?;
            rest
        }
        (false, rest) if rest.len() < 2 => rest,
        _ => {
            return Err(Why::Count { found: instruction.operands.len(), expected: "3 or 4, and the policy of a hint" });
        }
    };
    let into = decoder.location(into, Space::Shared, 0)?;
    let from = decoder.location(from, Space::Global, 1)?;
    let bytes = Decoder::number(bytes, 2)?;
    if !matches!(bytes, 4 | 8 | 16) {
        return Err(Why::Operand { index: 2, expected: "4, 8 or 16" });
    }
    if is_through && bytes != 16 {
        return Err(Why::Other("`.cg` copies 16 bytes"));
    }
    let limit = match rest.first() {
        Some(Operand::Name(name)) if decoder.predicate_register(name).is_ok() => {
            // Nothing is read where the predicate holds.
            let (ignored, limit) = (decoder.predicate_register(name)?, decoder.new_word());
            let (none, all) = (decoder.word(0), decoder.word(bytes as u32));
            decoder.prepare(Operation::Compute(Compute::Select), &[limit, none, all, ignored]);
            limit
        }
        Some(limit) => decoder.value(limit, ScalarType::U32)?,
        None => decoder.word(bytes as u32),
    };
    let copy = Operation::CopyAsync { bytes: bytes as u8, long: [into.wide, from.wide] };
    decoder.emit(copy, &[into.slot, into.offset, from.slot, from.offset, limit]);
    Ok(())
}
