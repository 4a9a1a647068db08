//! Operands: names and numbers as slots.

use super::super::compute::Compute;
use super::super::operation::{Operation, Special};
use super::super::slot::Slot;
use super::scope::{File, Symbol};
use super::variable::number_bits;
use super::{Decoded, Decoder, Why};
use crate::syntax::{Immediate, Instruction, Integer, Operand, ScalarType};

impl<'t> Decoder<'_, 't> {
    /// The meaning of a name; a register is read.
    pub(super) fn symbol(&self, name: &str) -> Decoded<Symbol<'t>> {
        let symbol = self.meant(name)?;
        if let Symbol::Register(file, slot) = symbol {
            self.mentions.read(file, slot, self.pc());
        }
        Ok(symbol)
    }

    /// The meaning of a name.
    fn meant(&self, name: &str) -> Decoded<Symbol<'t>> {
        if let Some(symbol) = self.scopes.find(name) {
            return Ok(symbol);
        }
        let function = &self.code.functions[self.current as usize].name;
        let shared = || self.layout.find(function, name);
        let symbol = self.symbols.get(name).copied().or_else(shared);
        symbol.ok_or_else(|| Why::Undeclared(name.to_owned()))
    }

    /// The operands of an instruction, which must be as many as `count`.
    pub(super) fn operands<'i, const N: usize>(
        &self,
        instruction: &'i Instruction<'t>,
        count: &'static str,
    ) -> Decoded<[&'i Operand<'t>; N]> {
        let found = instruction.operands.len();
        let operands: Vec<&Operand<'t>> = instruction.operands.iter().collect();
        operands.try_into().map_err(|_| Why::Count { found, expected: count })
    }

    fn element(&self, name: &str, element: &str) -> Decoded<(File, Slot)> {
        let Symbol::Vector(file, first, lanes) = self.symbol(name)? else {
            return Err(Why::Undeclared(format!("{name}.{element}")));
        };
        let index = match element {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return Err(Why::Undeclared(format!("{name}.{element}"))),
        };
        if index >= lanes {
            return Err(Why::Undeclared(format!("{name}.{element}")));
        }
        Ok((file, Slot::register(first.value() + u32::from(index))))
    }

    /// The register of an operand, of any file.
    pub(super) fn any_register(&self, operand: &Operand<'t>, index: usize) -> Decoded<(File, Slot)> {
        match operand {
            Operand::Name(name) => match self.symbol(name)? {
                Symbol::Register(file, slot) => Ok((file, slot)),
                other => Err(kind(name, other, "a register")),
            },
            Operand::Element { name, element } => self.element(name, element),
            _ => Err(Why::Operand { index, expected: "a register" }),
        }
    }

    /// `true` for a register that is declared with so many bytes, fewer than 4.
    pub(super) fn is_narrow(&self, operand: &Operand<'t>, bytes: u32) -> bool {
        let Operand::Name(name) = operand else { return false };
        matches!(self.meant(name), Ok(Symbol::Register(File::Words, slot)) if self.scopes.supply.is_narrow(slot, bytes))
    }

    /// The register that an operand is written to, of any file.
    pub(super) fn any_result(&self, operand: &Operand<'t>) -> Decoded<(File, Slot)> {
        let Operand::Name(name) = operand else { return self.any_register(operand, 0) };
        match self.meant(name)? {
            Symbol::Register(file, slot) => {
                self.mentions.write(file, slot, self.pc());
                Ok((file, slot))
            }
            other => Err(kind(name, other, "a register")),
        }
    }

    /// The destination slot of a result in a file.
    pub(super) fn result(&self, operand: &Operand<'t>, file: File) -> Decoded<Slot> {
        if matches!(operand, Operand::Sink) {
            return Ok(Slot::SINK);
        }
        let (found, slot) = self.any_result(operand)?;
        self.expect(operand, found, file)?;
        Ok(slot)
    }

    fn expect(&self, operand: &Operand<'t>, found: File, file: File) -> Decoded {
        if found == file {
            return Ok(());
        }
        let name = match operand {
            Operand::Name(name) => (*name).to_owned(),
            Operand::Element { name, element } => format!("{name}.{element}"),
            _ => String::new(),
        };
        let found = Symbol::Register(found, Slot::SINK).kind();
        Err(Why::Kind { name, found, expected: Symbol::Register(file, Slot::SINK).kind() })
    }

    /// A predicate by its name.
    pub(super) fn predicate_register(&self, name: &str) -> Decoded<Slot> {
        match self.symbol(name)? {
            Symbol::Register(File::Predicates, slot) => Ok(slot),
            other => Err(kind(name, other, "a predicate")),
        }
    }

    /// A predicate that is read, negated or not, or a number that is 0 or not.
    pub(super) fn predicate(&mut self, operand: &Operand<'t>) -> Decoded<Slot> {
        match operand {
            Operand::Name(name) => self.predicate_register(name),
            Operand::Not(name) => {
                let from = self.predicate_register(name)?;
                let slot = self.new_predicate();
                self.prepare(Operation::Compute(Compute::PredicateNot), &[slot, from]);
                Ok(slot)
            }
            Operand::Immediate(Immediate::Integer(Integer { bits, .. })) => {
                let slot = self.new_predicate();
                let value = if *bits == 0 { 0 } else { u32::MAX };
                self.prepare(Operation::Compute(Compute::PredicateConstant), &[slot, Slot::raw(value)]);
                Ok(slot)
            }
            _ => Err(Why::Operand { index: 0, expected: "a predicate" }),
        }
    }

    /// A value that is read as a type: a register, a number, an address, or a special register.
    pub(super) fn value(&mut self, operand: &Operand<'t>, scalar: ScalarType) -> Decoded<Slot> {
        let file = if scalar.size() > 4 { File::Longs } else { File::Words };
        match operand {
            Operand::Immediate(number) => {
                let bits = number_bits(*number, scalar);
                Ok(if file == File::Longs { self.long(bits) } else { self.word(bits as u32) })
            }
            Operand::Element { name, element } if name.starts_with('%') && self.scopes.find(name).is_none() => {
                let special = Special::named(name, Some(element));
                self.special(special.ok_or_else(|| Why::Undeclared(format!("{name}.{element}")))?, file)
            }
            Operand::Name(name) => match self.symbol(name) {
                Ok(Symbol::Register(found, slot)) => {
                    self.expect(operand, found, file)?;
                    Ok(slot)
                }
                Ok(symbol) => self.address_value(name, symbol, 0, file),
                Err(why) => self.special(Special::named(name, None).ok_or(why)?, file),
            },
            Operand::Sum { name, offset } => {
                let symbol = self.symbol(name)?;
                self.address_value(name, symbol, *offset, file)
            }
            _ => {
                let (found, slot) = self.any_register(operand, 1)?;
                self.expect(operand, found, file)?;
                Ok(slot)
            }
        }
    }

    /// The address of a variable or function, in its own space.
    fn address_value(&mut self, name: &str, symbol: Symbol<'t>, offset: i64, file: File) -> Decoded<Slot> {
        let offset32 = u32::try_from(offset & 0xffff_ffff).unwrap_or(0);
        match symbol {
            Symbol::Variable(_) | Symbol::Function(_) if file == File::Words => {
                Err(Why::Other("an address of 64 bits does not fit 32"))
            }
            Symbol::Shared(start) => {
                let next = self.code.instructions.len() as u32;
                self.code.shared_addresses.push(next);
                Ok(self.either(file, start.wrapping_add(offset32)))
            }
            Symbol::Argument(start, _) => Ok(self.either(file, start.wrapping_add(offset32))),
            Symbol::DynamicShared => {
                let base = self.dynamic_base(file, offset32)?;
                Ok(base)
            }
            Symbol::Frame(start, _) => {
                let slot = if file == File::Longs { self.new_long() } else { self.new_word() };
                let wide = Slot::raw(u32::from(file == File::Longs));
                self.prepare(Operation::FrameAddress, &[slot, Slot::raw(start.wrapping_add(offset32)), wide]);
                Ok(slot)
            }
            _ => {
                let target = symbol.target().ok_or_else(|| kind(name, symbol, "a value"))?;
                Ok(self.address(target, offset))
            }
        }
    }

    fn either(&mut self, file: File, value: u32) -> Slot {
        if file == File::Longs { self.long(value.into()) } else { self.word(value) }
    }

    /// The start of dynamic shared memory: known at decoding in a kernel, and at run time in a function.
    fn dynamic_base(&mut self, file: File, offset: u32) -> Decoded<Slot> {
        if self.entry {
            let name = &self.code.functions[self.current as usize].name;
            let base = self.layout.bytes(name).next_multiple_of(16);
            return Ok(self.either(file, base.wrapping_add(offset)));
        }
        let base = self.special(Special::DynamicBase, file)?;
        if offset == 0 {
            return Ok(base);
        }
        use super::super::compute::Int;
        let (slot, int) = if file == File::Longs { (self.new_long(), Int::U64) } else { (self.new_word(), Int::U32) };
        let offset = self.either(file, offset);
        self.prepare(Operation::Compute(Compute::Add(int)), &[slot, base, offset]);
        Ok(slot)
    }

    /// `mov` of a special register of the same width needs no register between.
    pub(super) fn move_special(&mut self, d: &Operand<'t>, a: &Operand<'t>, scalar: ScalarType) -> Decoded<bool> {
        let special = match a {
            Operand::Element { name, element } if self.scopes.find(name).is_none() => {
                Special::named(name, Some(element))
            }
            Operand::Name(name) if self.symbol(name).is_err() => Special::named(name, None),
            _ => None,
        };
        let long = scalar.size() > 4;
        let Some(special) = special.filter(|special| special.is_long() == long) else { return Ok(false) };
        let d = self.result(d, if long { File::Longs } else { File::Words })?;
        self.emit(Operation::Special(special), &[d]);
        Ok(true)
    }

    /// A special register in a register of its own.
    fn special(&mut self, special: Special, file: File) -> Decoded<Slot> {
        let word = special.is_long().then_some(()).is_none().then(|| self.new_word());
        match (word, file) {
            (Some(slot), File::Words) => {
                self.prepare(Operation::Special(special), &[slot]);
                Ok(slot)
            }
            (Some(slot), _) => {
                use super::super::compute::Cast;
                self.prepare(Operation::Special(special), &[slot]);
                let wide = self.new_long();
                let extend = Cast::ExtendLong { bits: 32, signed: false };
                self.prepare(Operation::Compute(Compute::Cast(extend)), &[wide, slot]);
                Ok(wide)
            }
            (None, File::Longs) => {
                let slot = self.new_long();
                self.prepare(Operation::Special(special), &[slot]);
                Ok(slot)
            }
            (None, _) => {
                use super::super::compute::Cast;
                let (slot, cut) = (self.new_long(), self.new_word());
                self.prepare(Operation::Special(special), &[slot]);
                let how = Cast::Cut { bits: 32, signed: false };
                self.prepare(Operation::Compute(Compute::Cast(how)), &[cut, slot]);
                Ok(cut)
            }
        }
    }

    /// A number that has to be written out.
    pub(super) fn number(operand: &Operand<'t>, index: usize) -> Decoded<u64> {
        match operand {
            Operand::Immediate(Immediate::Integer(integer)) => Ok(integer.bits),
            _ => Err(Why::Operand { index, expected: "a number" }),
        }
    }

    /// Two predicates that a comparison fills, or one and the sink.
    pub(super) fn predicate_pair(&self, operand: &Operand<'t>) -> Decoded<[Slot; 2]> {
        let one = |name: &Option<&str>| name.map_or(Ok(Slot::SINK), |name| self.predicate_register(name));
        match operand {
            Operand::Pair(first, second) => Ok([one(first)?, one(second)?]),
            _ => Ok([self.result(operand, File::Predicates)?, Slot::SINK]),
        }
    }

    /// A register that is filled, and a predicate beside it where the text has one: `%r1|%p2`.
    pub(super) fn result_and_predicate(&self, operand: &Operand<'t>, file: File) -> Decoded<[Slot; 2]> {
        let Operand::Pair(first, second) = operand else { return Ok([self.result(operand, file)?, Slot::SINK]) };
        let first = match first {
            Some(name) => self.result(&Operand::Name(name), file)?,
            None => Slot::SINK,
        };
        Ok([first, second.map_or(Ok(Slot::SINK), |name| self.predicate_register(name))?])
    }
}

pub(super) fn kind(name: &str, found: Symbol<'_>, expected: &'static str) -> Why {
    Why::Kind { name: name.to_owned(), found: found.kind(), expected }
}
