//! The decoder: names become slots, modifiers become fields, unknown instructions are refused.

use std::sync::Arc;

use super::function::Function;
use super::operation::{Instruction, Operation};
use super::slot::{Guard, Slot};
use super::variable::{Relocation, Target};
use super::{Code, Program, stack};
use crate::arith::convert::Conversion;
use crate::error::{Error, Position, Problem};
use crate::lanes::Row;
use crate::program::constants::Constants;
use crate::syntax::{self, Module};

mod address;
mod architecture;
mod arithmetic;
mod assigned;
mod atomic;
mod bits;
mod body;
mod bulk_copy;
mod cluster;
mod compare;
mod conversion;
mod convert;
mod extreme;
mod float;
mod flow;
mod fragment;
mod half;
mod layout;
mod matrix;
mod memory;
mod memory_barrier;
mod modifiers;
mod names;
mod operand;
mod pair;
mod paths;
mod pragma;
mod reduction;
mod scope;
mod stack_memory;
mod synchronize;
mod table;
mod tensor_map;
mod types;
mod variable;
mod video;

use assigned::Mentions;
use modifiers::Modifiers;
use names::Table;
use pragma::PragmaScope;
use scope::{File, Scopes, Symbol};

/// The reason for which a text is not decoded, and its position.
#[derive(Debug)]
pub(super) struct Refusal {
    place: Position,
    length: usize,
    problem: Problem,
}

impl Refusal {
    fn new(place: Position, length: usize, problem: Problem) -> Refusal {
        Refusal { place, length, problem }
    }

    /// The error that shows the line.
    pub(super) fn in_text(self, text: &str) -> Error {
        let lines = self.place.line.saturating_sub(1) as usize;
        let line: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
        let column = self.place.column.saturating_sub(1) as usize;
        let start = line + text[line..].chars().take(column).map(char::len_utf8).sum::<usize>();
        Error::new(text, start, self.length, self.place, self.problem)
    }
}

/// The refusal of a declaration.
fn refusal(place: Position, why: Why) -> Refusal {
    Refusal::new(place, 1, Problem::Declaration { why: why.to_string() })
}

/// The reason for which an instruction is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Why {
    #[error("unknown instruction")]
    Opcode,
    #[error("unknown modifier `.{0}`")]
    Modifier(String),
    #[error("unsupported type `.{0}`")]
    Type(String),
    #[error("missing {0}")]
    Missing(&'static str),
    #[error("`{0}` is not declared")]
    Undeclared(String),
    #[error("`{name}` is {found}, not {expected}")]
    Kind { name: String, found: &'static str, expected: &'static str },
    #[error("operand {index} must be {expected}")]
    Operand { index: usize, expected: &'static str },
    #[error("it has {found} operands instead of {expected}")]
    Count { found: usize, expected: &'static str },
    #[error("unknown branch target `{0}`")]
    Target(String),
    #[error("the function `{0}` has no body")]
    Body(String),
    #[error("it needs at least `.target sm_{0}`")]
    Architecture(u32),
    #[error("{0}")]
    Other(&'static str),
}

type Decoded<T = ()> = Result<T, Why>;

/// Decodes a module.
pub(super) fn decode(module: &Module<'_>) -> Result<Program, Refusal> {
    run(Decoder::new(module))
}

/// Decodes a module that others will be added to: functions without a body may be called.
pub(super) fn check(module: &Module<'_>) -> Result<(), Refusal> {
    let mut decoder = Decoder::new(module);
    decoder.is_part = true;
    run(decoder).map(drop)
}

fn run(mut decoder: Decoder<'_, '_>) -> Result<Program, Refusal> {
    let module = decoder.module;
    for pragma in &module.pragmas {
        decoder.pragma(pragma, PragmaScope::Module)?;
    }
    decoder.declare()?;
    for (index, function) in module.functions.iter().enumerate() {
        if function.body.is_some() {
            decoder.function(index, function)?;
        }
    }
    Ok(decoder.finish())
}

/// A module that is being decoded.
pub(super) struct Decoder<'m, 't> {
    module: &'m Module<'t>,
    code: Code,
    constants: Constants,
    words: Table<u32, u32>,
    longs: Table<u64, u32>,
    addresses: Table<(Target, i64), u32>,
    /// Numbers of names, by how instructions begin.
    names: Table<&'t str, u32>,
    conversions: Vec<Conversion>,
    /// Names outside of functions.
    symbols: Table<&'t str, Symbol<'t>>,
    /// Functions, by name: their indices in the module.
    functions: Table<&'t str, u32>,
    layout: layout::Shared<'t>,
    /// The function that is being decoded.
    scopes: Scopes<'t>,
    frame: u32,
    variables: u32,
    entry: bool,
    current: u32,
    place: Position,
    spelled: u32,
    guard: Guard,
    fixups: Vec<Fixup<'t>>,
    mentions: Mentions,
    /// Called functions may be defined in another text.
    is_part: bool,
    /// The bytes that the next instruction uses, if it is a load.
    used_bytes: Option<u32>,
}

/// A branch whose label was not there yet.
struct Fixup<'t> {
    label: &'t str,
    scope: usize,
    place: Position,
    name: u32,
    /// The destination of the instruction's number: a slot of an instruction, or a row of the lists.
    into: Into,
}

#[derive(Clone, Copy)]
enum Into {
    Instruction(usize),
    List(usize),
}

impl<'m, 't> Decoder<'m, 't> {
    fn new(module: &'m Module<'t>) -> Self {
        let code = Code {
            header: module.header.clone(),
            instructions: Vec::new(),
            places: Vec::new(),
            spelled: Vec::new(),
            names: Vec::new(),
            sources: Vec::new(),
            files: module.files.iter().map(|file| (file.number, file.path.to_owned())).collect(),
            functions: Vec::new(),
            calls: Vec::new(),
            conversions: Vec::new(),
            lists: Vec::new(),
            used_bytes: Vec::new(),
            rolled: Vec::new(),
            shared_addresses: Vec::new(),
            warnings: Vec::new(),
            variables: Vec::new(),
            relocations: Vec::new(),
        };
        Decoder {
            module,
            code,
            constants: Constants::default(),
            words: Table::default(),
            longs: Table::default(),
            addresses: Table::default(),
            names: Table::default(),
            conversions: Vec::new(),
            symbols: Table::default(),
            functions: Table::default(),
            layout: layout::Shared::default(),
            scopes: Scopes::default(),
            frame: 0,
            variables: 0,
            entry: false,
            current: 0,
            place: Position { line: 1, column: 1 },
            spelled: 0,
            guard: Guard::NONE,
            fixups: Vec::new(),
            mentions: Mentions::default(),
            is_part: false,
            used_bytes: None,
        }
    }

    fn finish(mut self) -> Program {
        self.code.conversions = self.conversions;
        stack::measure(&mut self.code);
        Program { code: Arc::new(self.code), constants: Arc::new(self.constants) }
    }

    /// Refuses instructions that the target architecture does not have.
    fn requires(&self, architecture: u32) -> Decoded {
        let enough = self.code.header.target.architecture >= architecture;
        if enough { Ok(()) } else { Err(Why::Architecture(architecture)) }
    }

    /// Adds an instruction for the lanes of the current guard.
    fn emit(&mut self, operation: Operation, slots: &[Slot]) {
        let guard = self.guard;
        self.push(operation, slots, guard);
    }

    /// Adds an instruction that all lanes may carry out: it fills a register that only the next one reads.
    fn prepare(&mut self, operation: Operation, slots: &[Slot]) {
        self.push(operation, slots, Guard::NONE);
    }

    fn push(&mut self, operation: Operation, slots: &[Slot], guard: Guard) {
        let mut six = [Slot::SINK; 6];
        six[..slots.len()].copy_from_slice(slots);
        self.code.instructions.push(Instruction { operation, guard, slots: six });
        self.code.places.push(self.place);
        self.code.spelled.push(self.spelled);
    }

    fn pc(&self) -> u32 {
        self.code.instructions.len() as u32
    }

    fn word(&mut self, value: u32) -> Slot {
        let rows = &mut self.constants.words;
        let index = self.words.entry(value).or_insert_with(|| {
            rows.push(Row::of(value));
            rows.len() as u32 - 1
        });
        Slot::constant(*index)
    }

    fn long(&mut self, value: u64) -> Slot {
        let rows = &mut self.constants.longs;
        let index = self.longs.entry(value).or_insert_with(|| {
            rows.push(Row::of(value));
            rows.len() as u32 - 1
        });
        Slot::constant(*index)
    }

    /// An address that is known when the variables are placed; a function's is known now.
    fn address(&mut self, target: Target, offset: i64) -> Slot {
        let (rows, relocations) = (&mut self.constants.longs, &mut self.code.relocations);
        let index = self.addresses.entry((target, offset)).or_insert_with(|| {
            let constant = rows.len() as u32;
            let relocation = Relocation { constant, target, offset };
            rows.push(Row::default());
            relocations.push(relocation);
            constant
        });
        if let Target::Function(function) = target {
            let address = super::window::function_address(function).wrapping_add_signed(offset);
            self.constants.longs[*index as usize] = Row::of(address);
        }
        Slot::constant(*index)
    }

    fn new_word(&mut self) -> Slot {
        self.scopes.supply.take(File::Words)
    }

    fn new_long(&mut self) -> Slot {
        self.scopes.supply.take(File::Longs)
    }

    fn new_predicate(&mut self) -> Slot {
        self.scopes.supply.take(File::Predicates)
    }

    fn conversion(&mut self, conversion: Conversion) -> Slot {
        let known = self.conversions.iter().position(|known| *known == conversion);
        let index = known.unwrap_or_else(|| {
            self.conversions.push(conversion);
            self.conversions.len() - 1
        });
        Slot::raw(index as u32)
    }

    /// One instruction; its errors carry its name and position.
    fn instruction(&mut self, instruction: &syntax::Instruction<'t>) -> Result<(), Refusal> {
        self.place = instruction.place;
        self.spelled = self.spell(instruction);
        let refuse = |why: Why| {
            let name = spelling(instruction);
            let problem = Problem::Instruction { instruction: name, why: why.to_string() };
            Refusal::new(instruction.place, instruction.text.len(), problem)
        };
        self.guard = Guard::NONE;
        if let Some(guard) = &instruction.guard {
            let predicate = self.predicate_register(guard.register).map_err(refuse)?;
            self.guard = Guard::new(predicate, guard.negated);
        }
        let decode = table::decoder_of(instruction.opcode).ok_or_else(|| refuse(missing(instruction.opcode)))?;
        let mut modifiers = Modifiers::new(&instruction.modifiers);
        self.check_architecture(instruction).map_err(refuse)?;
        let (first, mark) = (self.code.instructions.len(), self.mentions.mark());
        decode(self, instruction, &mut modifiers).and_then(|()| modifiers.finish()).map_err(refuse)?;
        let last = self.pc().wrapping_sub(1);
        self.mentions.end(mark, &self.code.instructions[first..], last, self.guard != Guard::NONE);
        Ok(())
    }

    /// The index of an instruction's name.
    fn spell(&mut self, instruction: &syntax::Instruction<'t>) -> u32 {
        // As it stands in the text, behind the guard: nothing is put together, because texts are long.
        let text = instruction.text;
        let guard =
            instruction.guard.as_ref().and_then(|guard| Some(text.find(guard.register)? + guard.register.len()));
        let behind = text[guard.unwrap_or(0)..].trim_start();
        let length =
            instruction.modifiers.iter().fold(instruction.opcode.len(), |length, word| length + 1 + word.len());
        let word = behind.split_ascii_whitespace().next().unwrap_or(text);
        // Written with gaps, it is known by all of it.
        let word = if word.trim_end_matches(';').len() == length { word } else { text };
        let names = &mut self.code.names;
        *self.names.entry(word).or_insert_with(|| {
            names.push(spelling(instruction));
            names.len() as u32 - 1
        })
    }
}

/// The reason why there is no such instruction, and the remedy.
fn missing(opcode: &str) -> Why {
    Why::Other(match opcode {
        "tex" | "tld4" | "txq" | "istypep" => "textures are not simulated; read the data from global memory",
        "suld" | "sust" | "sured" | "suq" => "surfaces are not simulated; keep the data in global memory",
        "multimem" => "memory of several devices at one address is not simulated; access each device's memory",
        "wgmma" | "tcgen05" => {
            "products of several warps are not simulated; compile for compute_80, where `mma` is used"
        }
        _ => return Why::Opcode,
    })
}

fn spelling(instruction: &syntax::Instruction<'_>) -> String {
    let mut name = instruction.opcode.to_owned();
    for modifier in &instruction.modifiers {
        name.push('.');
        name.push_str(modifier);
    }
    name
}

/// A function as the interpreter will know it, before its body is decoded.
fn declared(function: &syntax::Function<'_>) -> Function {
    Function {
        name: function.name.to_owned(),
        entry: function.kind == syntax::Kind::Entry,
        max_threads: function.bounds.max_threads,
        required_threads: function.bounds.required_threads,
        required_cluster: function.bounds.required_cluster,
        max_cluster_blocks: function.bounds.max_cluster_blocks,
        explicit_cluster: function.bounds.explicit_cluster,
        blocks_are_clusters: function.bounds.blocks_are_clusters,
        builtin: super::function::Builtin::named(function.name),
        ..Function::default()
    }
}
