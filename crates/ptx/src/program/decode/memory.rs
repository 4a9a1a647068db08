//! Loads, stores, and their addresses.

use super::super::compute::{Compute, Int};
use super::super::operation::{AccessForm, Operation};
use super::super::slot::Slot;
use super::super::space::Space;
use super::super::window::Window;
use super::operand::kind;
use super::scope::{File, Symbol};
use super::{Decoded, Decoder, Modifiers, Why, types};
use crate::syntax::{Address, Base, Instruction, Operand, ScalarType};

/// A decoded address operand: its space, the slot of the address, its width (`wide` for 64 bits), and the
/// offset.
pub(super) struct Position {
    pub(super) space: Space,
    pub(super) slot: Slot,
    pub(super) wide: bool,
    pub(super) offset: Slot,
}

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

impl<'t> Decoder<'_, 't> {
    pub(super) fn location(&mut self, operand: &Operand<'t>, space: Space, index: usize) -> Decoded<Position> {
        let Operand::Address(address) = operand else {
            return Err(Why::Operand { index, expected: "an address such as `[%rd1+4]`" });
        };
        let Address { base, offset, .. } = *address;
        let small = i32::try_from(offset).or_else(|_| u32::try_from(offset).map(u32::cast_signed));
        let small = small.map_err(|_| Why::Other("the offset does not fit 32 bits"))?;
        let offset32 = Slot::raw(small.cast_unsigned());
        let name = match base {
            Base::Zero => {
                let slot = self.long(i64::from(small).cast_unsigned());
                return Ok(Position { space, slot, wide: true, offset: Slot::raw(0) });
            }
            Base::Element(name, element) => {
                let (found, slot) = self.any_register(&Operand::Element { name, element }, index)?;
                return Ok(Position { space, slot, wide: found == File::Longs, offset: offset32 });
            }
            Base::Name(name) => name,
        };
        // Arguments of functions lie in local memory, and so do pointers to them.
        let in_frame = space == Space::Parameter && !self.entry;
        let at = |start: u32| Slot::raw(start.wrapping_add(small.cast_unsigned()));
        Ok(match self.symbol(name)? {
            Symbol::Register(File::Predicates, _) => return Err(kind(name, self.symbol(name)?, "an address")),
            Symbol::Register(found, slot) => {
                let space = if in_frame { Space::Local } else { space };
                Position { space, slot, wide: found == File::Longs, offset: offset32 }
            }
            Symbol::Frame(start, _) => {
                Position { space: Space::Frame, slot: Slot::SINK, wide: true, offset: at(start) }
            }
            Symbol::Argument(start, _) => {
                Position { space: Space::Argument, slot: Slot::SINK, wide: true, offset: at(start) }
            }
            symbol @ (Symbol::Shared(_) | Symbol::DynamicShared) => {
                let _ = symbol;
                let slot = self.value(&Operand::Sum { name, offset }, ScalarType::U64)?;
                Position { space: Space::Shared, slot, wide: true, offset: Slot::raw(0) }
            }
            symbol => {
                let target = symbol.target().ok_or_else(|| kind(name, symbol, "an address"))?;
                let slot = self.address(target, offset);
                Position { space: Space::Global, slot, wide: true, offset: Slot::raw(0) }
            }
        })
    }
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

fn sized(scalar: ScalarType) -> Decoded<u8> {
    match scalar {
        ScalarType::B128 => Err(Why::Other("accesses of 128 bits in one register are not simulated")),
        _ => Ok(scalar.size() as u8),
    }
}

pub(super) fn load<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let strong = memory_order(modifiers);
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let count = count(modifiers);
    if instruction.modifiers.contains(&"nc") && space != Space::Global {
        return Err(Why::Other("`.nc` is for global memory, and says so"));
    }
    let scalar = modifiers.one_of(types::STORED)?;
    let bytes = sized(scalar)?;
    let [d, address] = hinted(instruction)?;
    let place = decoder.location(address, space, 1)?;
    let mut slots = [Slot::SINK; 6];
    let mut long = None;
    for (index, element) in elements(d, count, 0)?.iter().enumerate() {
        if matches!(element, Operand::Sink) {
            continue;
        }
        let (found, slot) = decoder.any_result(element)?;
        let this = match found {
            File::Words if bytes <= 4 => false,
            File::Longs => true,
            _ => return Err(Why::Operand { index: 0, expected: "a register that is wide enough" }),
        };
        if *long.get_or_insert(this) != this {
            return Err(Why::Operand { index: 0, expected: "a vector of registers of one width" });
        }
        slots[index] = slot;
    }
    (slots[4], slots[5]) = (place.slot, place.offset);
    let long = long.unwrap_or(bytes > 4);
    let form = AccessForm { space: place.space, bytes, signed: signed(scalar), long, count, wide: place.wide, strong };
    decoder.emit(Operation::Load(form), &slots);
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
    let strong = memory_order(modifiers);
    let space = modifiers.pick(space).unwrap_or(Space::Generic);
    let count = count(modifiers);
    if instruction.modifiers.contains(&"const") {
        return Err(Why::Other("constants cannot be written"));
    }
    let scalar = modifiers.one_of(types::STORED)?;
    let bytes = sized(scalar)?;
    let [address, value] = hinted(instruction)?;
    let place = decoder.location(address, space, 0)?;
    if place.space == Space::Argument {
        return Err(Why::Other("arguments of a kernel cannot be written"));
    }
    let mut slots = [Slot::SINK; 6];
    let mut long = None;
    let values = elements(value, count, 1)?;
    for element in values {
        if let Ok((found, _)) = decoder.any_register(element, 1) {
            let this = found == File::Longs;
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
        slots[index] = decoder.value(element, as_type)?;
    }
    (slots[4], slots[5]) = (place.slot, place.offset);
    let form = AccessForm { space: place.space, bytes, signed: false, long, count, wide: place.wide, strong };
    decoder.emit(Operation::Store(form), &slots);
    Ok(())
}

pub(super) fn hint<'t>(decoder: &mut Decoder<'_, 't>, _: &Instruction<'t>, modifiers: &mut Modifiers) -> Decoded {
    modifiers.pick(space);
    for word in ["L1", "L2", "tensormap"] {
        modifiers.flag(word);
    }
    memory_order(modifiers);
    decoder.emit(Operation::Nothing, &[]);
    Ok(())
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
            "only copies of 4, 8 or 16 bytes from global to shared memory are simulated, bulk and tensor copies are not; \
                 use `cp.async.ca`, or loads and stores",
        ));
    }
    memory_order(modifiers);
    let [into, from, bytes, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Why::Count { found: instruction.operands.len(), expected: "3 or 4" });
    };
    let into = decoder.location(into, Space::Shared, 0)?;
    let from = decoder.location(from, Space::Global, 1)?;
    let bytes = Decoder::number(bytes, 2)?;
    if !matches!(bytes, 4 | 8 | 16) {
        return Err(Why::Operand { index: 2, expected: "4, 8 or 16" });
    }
    let limit = match rest.first() {
        Some(limit) => decoder.value(limit, ScalarType::U32)?,
        None => decoder.word(bytes as u32),
    };
    let copy = Operation::CopyAsync { bytes: bytes as u8, long: [into.wide, from.wide] };
    decoder.emit(copy, &[into.slot, into.offset, from.slot, from.offset, limit]);
    Ok(())
}
