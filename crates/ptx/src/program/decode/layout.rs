//! Layout of shared variables.
//!
//! Variables that functions name come first and lie at the same place for every kernel; behind them come
//! those that only the kernel itself names, so that kernels do not pay for each other's. Dynamic shared
//! memory comes last.

use std::collections::HashSet;

use super::names::{NameHash, Table};
use super::scope::Symbol;
use super::{Refusal, Why, refusal};
use crate::syntax::{Base, Block, Function, Kind, Module, Operand, Space, Statement, Variable};

/// The most shared memory that variables may take.
const MAX_SHARED: u64 = 1 << 24;

/// The size of a variable, or nothing where the text does not say it.
pub(super) fn size_of(variable: &Variable<'_>) -> Option<u64> {
    let element = u64::from(variable.scalar.size()) * u64::from(variable.lanes);
    variable.dimensions.iter().try_fold(element, |size, count| size.checked_mul((*count)?))
}

pub(super) fn alignment_of(variable: &Variable<'_>) -> u32 {
    variable.alignment.unwrap_or_else(|| variable.scalar.size() * u32::from(variable.lanes)).max(1)
}

/// Offsets of all shared variables.
#[derive(Debug, Default)]
pub(super) struct Shared<'t> {
    /// Of those that functions name, or declare.
    common: Table<&'t str, Symbol<'t>>,
    /// Of those that a kernel names, or declares, by the kernel's name.
    own: Table<&'t str, Table<&'t str, Symbol<'t>>>,
    bytes: Table<&'t str, u32>,
}

impl<'t> Shared<'t> {
    pub(super) fn of(module: &Module<'t>) -> Result<Shared<'t>, Refusal> {
        let mut shared = Shared::default();
        let outside: Table<&'t str, &Variable<'t>> = module
            .variables
            .iter()
            .filter(|variable| variable.space == Space::Shared)
            .map(|variable| (variable.name, variable))
            .collect();
        let bodies = || module.functions.iter().filter_map(|function| Some((function, function.body.as_ref()?)));
        let mut end = 0;
        for (_, body) in bodies().filter(|(function, _)| function.kind == Kind::Function) {
            let seen = Seen::of(body, &outside);
            for variable in seen.variables {
                if !shared.common.contains_key(variable.name) {
                    let symbol = place(variable, &mut end)?;
                    shared.common.insert(variable.name, symbol);
                }
            }
        }
        for (function, body) in bodies().filter(|(function, _)| function.kind == Kind::Entry) {
            shared.kernel(function, body, &outside, end)?;
        }
        Ok(shared)
    }

    fn kernel(
        &mut self,
        function: &Function<'t>,
        body: &Block<'t>,
        outside: &Table<&'t str, &Variable<'t>>,
        common: u64,
    ) -> Result<(), Refusal> {
        let seen = Seen::of(body, outside);
        let meets = seen.calls || seen.variables.iter().any(|variable| self.common.contains_key(variable.name));
        let mut end = if meets { common } else { 0 };
        let mut own = Table::default();
        for variable in seen.variables {
            if !self.common.contains_key(variable.name) {
                own.insert(variable.name, place(variable, &mut end)?);
            }
        }
        self.own.insert(function.name, own);
        self.bytes.insert(function.name, end as u32);
        Ok(())
    }

    /// The meaning of a name in a function.
    pub(super) fn find(&self, function: &str, name: &str) -> Option<Symbol<'t>> {
        let own = self.own.get(function).and_then(|own| own.get(name));
        own.or_else(|| self.common.get(name)).copied()
    }

    /// Bytes that a kernel needs without the launch's own.
    pub(super) fn bytes(&self, kernel: &str) -> u32 {
        self.bytes.get(kernel).copied().unwrap_or(0)
    }
}

fn place<'t>(variable: &Variable<'t>, end: &mut u64) -> Result<Symbol<'t>, Refusal> {
    let Some(size) = size_of(variable).filter(|size| *size > 0) else { return Ok(Symbol::DynamicShared) };
    let offset = end.next_multiple_of(alignment_of(variable).into());
    *end = offset.saturating_add(size);
    if *end > MAX_SHARED {
        return Err(refusal(variable.place, Why::Other("shared variables of more than 16 MiB")));
    }
    Ok(Symbol::Shared(offset as u32))
}

/// The shared variables that a body names.
#[derive(Default)]
struct Seen<'m, 't> {
    variables: Vec<&'m Variable<'t>>,
    names: HashSet<&'t str, NameHash>,
    calls: bool,
}

impl<'m, 't> Seen<'m, 't> {
    fn of(body: &'m Block<'t>, outside: &Table<&'t str, &'m Variable<'t>>) -> Self {
        let mut seen = Seen::default();
        seen.block(body, outside);
        seen
    }

    fn block(&mut self, block: &'m Block<'t>, outside: &Table<&'t str, &'m Variable<'t>>) {
        for statement in &block.statements {
            match statement {
                Statement::Variable(variable) if variable.space == Space::Shared => self.variables.push(variable),
                Statement::Block(inner) => self.block(inner, outside),
                Statement::Instruction(instruction) => {
                    self.calls |= instruction.opcode == "call";
                    if !outside.is_empty() {
                        for operand in &instruction.operands {
                            self.operand(operand, outside);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn operand(&mut self, operand: &Operand<'t>, outside: &Table<&'t str, &'m Variable<'t>>) {
        let mut name = |name: &'t str| {
            if !name.starts_with('%')
                && let Some(variable) = outside.get(name)
                && self.names.insert(name)
            {
                self.variables.push(variable);
            }
        };
        match operand {
            Operand::Name(found) | Operand::Sum { name: found, .. } => name(found),
            Operand::Address(address) => {
                if let Base::Name(found) = address.base {
                    name(found);
                }
            }
            Operand::Subscript { name: found, .. } => name(found),
            Operand::Vector(inner) | Operand::Bracketed(inner) | Operand::Parenthesized(inner) => {
                for operand in inner {
                    self.operand(operand, outside);
                }
            }
            _ => {}
        }
    }
}
