//! Functions: parameters, variables, and the statements of each body.

use super::super::function::Passed;
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::layout::{self, alignment_of, size_of};
use super::pragma::PragmaScope;
use super::scope::{File, Symbol};
use super::{Decoder, Fixup, Into, Refusal, Why, declared, refusal};
use crate::error::{Position, Problem};
use crate::syntax::{Block, Function, Registers, ScalarType, Space, Statement, Variable};

/// The most bytes that a thread's variables and a kernel's arguments may have.
const MAX_FRAME: u64 = 1 << 19;

/// The most registers of a function; a row of one is 128 or 256 bytes.
const MAX_REGISTERS: u32 = 1 << 20;

fn file_of(scalar: ScalarType) -> File {
    match scalar {
        ScalarType::Predicate => File::Predicates,
        ScalarType::B128 => File::Pairs,
        _ if scalar.size() > 4 => File::Longs,
        _ => File::Words,
    }
}

impl<'t> Decoder<'_, 't> {
    /// Names of the module: functions and variables.
    pub(super) fn declare(&mut self) -> Result<(), Refusal> {
        for function in &self.module.functions {
            if !self.functions.contains_key(function.name) {
                let index = self.code.functions.len() as u32;
                self.functions.insert(function.name, index);
                self.symbols.insert(function.name, Symbol::Function(index));
                self.code.functions.push(declared(function));
            }
        }
        for alias in &self.module.aliases {
            if let Some(&index) = self.functions.get(alias.function) {
                self.functions.insert(alias.name, index);
                self.symbols.insert(alias.name, Symbol::Function(index));
            }
        }
        self.declare_variables()?;
        self.layout = layout::Shared::of(self.module)?;
        Ok(())
    }

    /// One function with a body.
    pub(super) fn function(&mut self, _index: usize, function: &Function<'t>) -> Result<(), Refusal> {
        let Some(body) = &function.body else { return Ok(()) };
        self.current = self.functions[function.name];
        self.entry = self.code.functions[self.current as usize].entry;
        self.scopes.restart();
        (self.frame, self.variables) = (0, 0);
        self.fixups.clear();
        self.mentions.restart();
        self.used_bytes = None;
        for pragma in &function.bounds.pragmas {
            self.pragma(pragma, PragmaScope::Head)?;
        }
        let start = self.pc();
        self.parameters(function)?;
        self.block(body)?;
        self.place = body.end;
        self.guard = super::Guard::NONE;
        self.emit(Operation::Return, &[]);
        let end = self.pc();
        self.resolve()?;
        let counts = self.scopes.supply.counts();
        if counts.words.max(counts.longs).max(counts.predicates) > MAX_REGISTERS {
            return Err(refusal(function.place, Why::Other("it names more than 1048576 registers of one width")));
        }
        let code = &self.code.instructions[start as usize..];
        let cleared = self.mentions.cleared(counts, code, start, &self.code.lists);
        let shared = self.layout.bytes(function.name);
        let frame = self.frame.next_multiple_of(16);
        let into = &mut self.code.functions[self.current as usize];
        (into.start, into.end, into.counts, into.frame, into.shared) = (start, end, counts, frame, shared);
        into.variables = self.variables.next_multiple_of(8);
        into.cleared = cleared;
        into.touches = self.mentions.touches();
        into.builtin = None;
        (into.max_threads, into.required_threads) = (function.bounds.max_threads, function.bounds.required_threads);
        (into.required_cluster, into.max_cluster_blocks) =
            (function.bounds.required_cluster, function.bounds.max_cluster_blocks);
        (into.explicit_cluster, into.blocks_are_clusters) =
            (function.bounds.explicit_cluster, function.bounds.blocks_are_clusters);
        (into.max_registers, into.min_blocks) = (function.bounds.max_registers, function.bounds.min_blocks);
        Ok(())
    }

    fn parameters(&mut self, function: &Function<'t>) -> Result<(), Refusal> {
        if self.entry {
            let mut offset = 0u64;
            let mut arguments = Vec::new();
            for parameter in &function.parameters {
                let (size, alignment) = (size_of(parameter).unwrap_or(0), alignment_of(parameter));
                offset = offset.next_multiple_of(alignment.into());
                if offset + size > MAX_FRAME {
                    return Err(refusal(parameter.place, Why::Other("arguments of more than 524288 bytes")));
                }
                self.scopes.add(parameter.name, Symbol::Argument(offset as u32, size as u32));
                arguments.push((offset as u32, size as u32, alignment));
                offset += size;
            }
            let into = &mut self.code.functions[self.current as usize];
            (into.arguments, into.argument_bytes) = (arguments, offset as u32);
            return Ok(());
        }
        let passed = |decoder: &mut Self, variables: &[Variable<'t>]| -> Result<Vec<Passed>, Refusal> {
            variables.iter().map(|variable| decoder.passed(variable)).collect()
        };
        let results = passed(self, &function.results)?;
        let parameters = passed(self, &function.parameters)?;
        let into = &mut self.code.functions[self.current as usize];
        (into.results, into.parameters) = (results, parameters);
        Ok(())
    }

    /// A parameter or result of a function, as a variable or a register of its own.
    fn passed(&mut self, variable: &Variable<'t>) -> Result<Passed, Refusal> {
        if variable.space != Space::Register {
            let (offset, size) = self.local(variable)?;
            return Ok(Passed::Frame { offset, size });
        }
        let (file, slot) = self.register(variable);
        Ok(match file {
            File::Words => Passed::Word(slot),
            File::Longs => Passed::Long(slot),
            File::Pairs => Passed::Pair(slot),
            File::Predicates => Passed::Predicate(slot),
        })
    }

    fn register(&mut self, variable: &Variable<'t>) -> (File, Slot) {
        let file = file_of(variable.scalar);
        let slot = self.scopes.supply.take_declared(file, variable.scalar.size());
        self.scopes.add(variable.name, Symbol::Register(file, slot));
        (file, slot)
    }

    /// Room in the function's part of the thread's memory.
    fn local(&mut self, variable: &Variable<'t>) -> Result<(u32, u32), Refusal> {
        let size = size_of(variable).ok_or_else(|| refusal(variable.place, Why::Other("it has no size")))?;
        // Whole words, so that arguments can be copied by words.
        let offset = u64::from(self.frame).next_multiple_of(u64::from(alignment_of(variable).max(4)));
        let end = offset.saturating_add(size.next_multiple_of(4));
        if end > MAX_FRAME {
            return Err(refusal(variable.place, Why::Other("variables of a thread of more than 524288 bytes")));
        }
        self.frame = end as u32;
        self.scopes.add(variable.name, Symbol::Frame(offset as u32, size as u32));
        Ok((offset as u32, size as u32))
    }

    fn block(&mut self, block: &Block<'t>) -> Result<(), Refusal> {
        for statement in &block.statements {
            match statement {
                Statement::Label(label) => {
                    let pc = self.pc();
                    self.scopes.add_label(label.name, pc);
                }
                Statement::Instruction(instruction) => {
                    let (first, used) = (self.pc(), self.used_bytes.take());
                    self.instruction(instruction)?;
                    self.note_used_bytes(first, used);
                }
                Statement::Registers(registers) => self.registers(registers)?,
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Block(inner) => {
                    self.scopes.open();
                    self.block(inner)?;
                    self.scopes.close();
                }
                Statement::BranchTargets(targets) => {
                    let first = self.code.lists.len();
                    for label in &targets.labels {
                        let into = Into::List(self.code.lists.len());
                        self.code.lists.push(Slot::raw(0));
                        self.fix(label, targets.place, into);
                    }
                    let symbol = Symbol::Targets(first as u32, targets.labels.len() as u32);
                    self.scopes.add(targets.name, symbol);
                }
                Statement::CallTargets(targets) => self.scopes.add(targets.name, Symbol::Prototype(targets.name)),
                Statement::Prototype(prototype) => self.scopes.add(prototype.name, Symbol::Prototype(prototype.name)),
                Statement::Location(location) => {
                    let pc = self.pc();
                    let [file, line, _] = location.source;
                    self.code.sources.push((pc, [file, line]));
                }
                Statement::Pragma(pragma) => self.pragma(pragma, PragmaScope::Body)?,
            }
        }
        Ok(())
    }

    fn registers(&mut self, registers: &Registers<'t>) -> Result<(), Refusal> {
        for name in &registers.names {
            let file = file_of(registers.scalar);
            match (name.count, registers.lanes) {
                (Some(count), 1) => self.scopes.add_family(name.name, (file, registers.scalar.size()), count),
                (None, 1) => {
                    let slot = self.scopes.supply.take_declared(file, registers.scalar.size());
                    self.scopes.add(name.name, Symbol::Register(file, slot));
                }
                (_, _) if file == File::Pairs => {
                    return Err(refusal(name.place, Why::Other("a vector has at most 128 bits")));
                }
                (None, lanes) => {
                    let slot = self.scopes.supply.take(file);
                    for _ in 1..lanes {
                        self.scopes.supply.take(file);
                    }
                    self.scopes.add(name.name, Symbol::Vector(file, slot, lanes));
                }
                (Some(_), _) => return Err(refusal(name.place, Why::Other("families of vectors are not simulated"))),
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable<'t>) -> Result<(), Refusal> {
        match variable.space {
            Space::Local | Space::Parameter => {
                if let Some(count) = variable.count {
                    let why = Why::Other("families of variables are not simulated");
                    return if count == 0 { Ok(()) } else { Err(refusal(variable.place, why)) };
                }
                let (_, size) = self.local(variable)?;
                if variable.space == Space::Local {
                    self.variables += size;
                }
                Ok(())
            }
            Space::Register => {
                self.register(variable);
                Ok(())
            }
            Space::Shared => {
                let function = self.code.functions[self.current as usize].name.clone();
                let symbol = self.layout.find(&function, variable.name).unwrap_or(Symbol::DynamicShared);
                self.scopes.add(variable.name, symbol);
                Ok(())
            }
            Space::Global | Space::Constant => {
                let index = self.declare_variable(variable)?;
                self.scopes.add(variable.name, Symbol::Variable(index));
                Ok(())
            }
            Space::Texture => Err(refusal(variable.place, Why::Other("textures are not simulated"))),
        }
    }

    /// Records a use of a label, to be replaced by the number of its instruction.
    pub(super) fn fix(&mut self, label: &'t str, place: Position, into: Into) {
        let (scope, name) = (self.scopes.current(), self.spelled);
        self.fixups.push(Fixup { label, scope, place, name, into });
    }

    fn resolve(&mut self) -> Result<(), Refusal> {
        for fixup in std::mem::take(&mut self.fixups) {
            let Some(pc) = self.scopes.label(fixup.label, fixup.scope) else {
                let instruction = self.code.names.get(fixup.name as usize).cloned().unwrap_or_default();
                let why = Why::Target(fixup.label.to_owned()).to_string();
                return Err(Refusal::new(fixup.place, 1, Problem::Instruction { instruction, why }));
            };
            match fixup.into {
                Into::Instruction(index) => self.code.instructions[index].slots[0] = Slot::raw(pc),
                Into::List(index) => self.code.lists[index] = Slot::raw(pc),
            }
        }
        Ok(())
    }
}
