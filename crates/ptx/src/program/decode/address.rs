//! Addresses of memory, as operands.

use super::super::slot::Slot;
use super::super::space::Space;
use super::operand::kind;
use super::scope::{File, Symbol};
use super::{Decoded, Decoder, Why};
use crate::syntax::{Address, Base, Operand, ScalarType};

/// A decoded address operand: its space, the slot of the address, its width (`wide` for 64 bits), and the
/// offset.
pub(super) struct Position {
    pub(super) space: Space,
    pub(super) slot: Slot,
    pub(super) wide: bool,
    pub(super) offset: Slot,
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
            Symbol::Register(File::Predicates | File::Pairs, _) => {
                return Err(kind(name, self.symbol(name)?, "an address"));
            }
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
