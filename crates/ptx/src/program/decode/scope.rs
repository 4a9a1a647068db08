//! Scopes of a function: registers, variables and labels of nested blocks.

use std::cell::{Cell, RefCell};

use super::super::slot::Slot;
use super::super::variable::Target;
use super::names::{Numbered, Table};
use crate::program::function::Counts;

/// The register file of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Words,
    Longs,
    /// Of 128 bits: a long and the one behind it.
    Pairs,
    Predicates,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Symbol<'t> {
    Register(File, Slot),
    /// Elements follow each other.
    Vector(File, Slot, u8),
    /// In the machine's memory.
    Variable(u32),
    Function(u32),
    /// In shared memory, at an offset.
    Shared(u32),
    /// Behind all other shared memory of the kernel.
    DynamicShared,
    /// In the function's own part of the thread's memory: offset, size.
    Frame(u32, u32),
    /// An argument of the kernel: offset, size.
    Argument(u32, u32),
    /// Rows of the lists: first, count.
    Targets(u32, u32),
    Prototype(&'t str),
}

impl Symbol<'_> {
    /// Its kind, for error texts.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Symbol::Register(File::Words, _) => "a register of at most 32 bits",
            Symbol::Register(File::Longs, _) => "a register of 64 bits",
            Symbol::Register(File::Pairs, _) => "a register of 128 bits",
            Symbol::Register(File::Predicates, _) => "a predicate",
            Symbol::Vector(..) => "a vector register",
            Symbol::Variable(_) | Symbol::Shared(_) | Symbol::DynamicShared => "a variable",
            Symbol::Frame(..) | Symbol::Argument(..) => "a variable",
            Symbol::Function(_) => "a function",
            Symbol::Targets(..) => "a list of targets",
            Symbol::Prototype(_) => "a prototype",
        }
    }

    /// The base of its address, where the device decides that.
    pub(super) fn target(self) -> Option<Target> {
        match self {
            Symbol::Variable(index) => Some(Target::Variable(index)),
            Symbol::Function(index) => Some(Target::Function(index)),
            _ => None,
        }
    }
}

/// Registers of the function so far.
#[derive(Debug, Default)]
pub(super) struct Supply {
    counts: Cell<Counts>,
    /// The words that were declared with fewer than 32 bits, and their bytes.
    narrow: RefCell<Vec<(Slot, u32)>>,
}

impl Supply {
    /// Only the sinks and the carry.
    pub(super) fn restart(&self) {
        self.counts.set(Counts { words: 1, longs: 1, predicates: 2 });
        self.narrow.borrow_mut().clear();
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// `true` if a word was declared with so many bytes, fewer than 4.
    pub(super) fn is_narrow(&self, slot: Slot, bytes: u32) -> bool {
        self.narrow.borrow().contains(&(slot, bytes))
    }

    /// A register that the text declares with so many bytes.
    pub(super) fn take_declared(&self, file: File, bytes: u32) -> Slot {
        let slot = self.take(file);
        if bytes < 4 && file == File::Words {
            self.narrow.borrow_mut().push((slot, bytes));
        }
        slot
    }

    pub(super) fn take(&self, file: File) -> Slot {
        let mut counts = self.counts.get();
        let counter = match file {
            File::Words => &mut counts.words,
            File::Longs | File::Pairs => &mut counts.longs,
            File::Predicates => &mut counts.predicates,
        };
        let slot = Slot::register(*counter);
        *counter += if file == File::Pairs { 2 } else { 1 };
        self.counts.set(counts);
        slot
    }
}

/// The blocks of a function, those that are closed included: branches are resolved at its end.
#[derive(Debug, Default)]
pub(super) struct Scopes<'t> {
    pub(super) supply: Supply,
    all: Vec<Scope<'t>>,
    current: usize,
}

#[derive(Debug, Default)]
struct Scope<'t> {
    parent: Option<usize>,
    symbols: Table<&'t str, Symbol<'t>>,
    families: Table<&'t str, Family>,
    labels: Table<&'t str, u32>,
}

/// `%r<7>`: those that are named get a register when they are named first.
#[derive(Debug)]
struct Family {
    file: File,
    /// Bytes that each was declared with.
    bytes: u32,
    count: u32,
    slots: RefCell<Numbered<Slot>>,
}

impl<'t> Scopes<'t> {
    /// Forgets everything and opens the outermost block.
    pub(super) fn restart(&mut self) {
        self.supply.restart();
        self.all.clear();
        self.all.push(Scope::default());
        self.current = 0;
    }

    pub(super) fn open(&mut self) {
        self.all.push(Scope { parent: Some(self.current), ..Scope::default() });
        self.current = self.all.len() - 1;
    }

    pub(super) fn close(&mut self) {
        self.current = self.all[self.current].parent.unwrap_or(0);
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    pub(super) fn add(&mut self, name: &'t str, symbol: Symbol<'t>) {
        self.all[self.current].symbols.insert(name, symbol);
    }

    /// `count` registers of a file, declared with so many bytes each.
    pub(super) fn add_family(&mut self, name: &'t str, (file, bytes): (File, u32), count: u32) {
        self.all[self.current].families.insert(name, Family { file, bytes, count, slots: RefCell::default() });
    }

    pub(super) fn add_label(&mut self, name: &'t str, pc: u32) {
        self.all[self.current].labels.insert(name, pc);
    }

    fn outwards(&self, from: usize) -> impl Iterator<Item = &Scope<'t>> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let scope = self.all.get(next?)?;
            next = scope.parent;
            Some(scope)
        })
    }

    /// The meaning of a name, innermost scope first.
    pub(super) fn find(&self, name: &str) -> Option<Symbol<'t>> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: Option<u32> = number.parse().ok();
        self.outwards(self.current).find_map(|scope| {
            let member = || {
                let family = scope.families.get(prefix)?;
                let number = number.filter(|number| *number < family.count)?;
                let make = || self.supply.take_declared(family.file, family.bytes);
                let slot = family.slots.borrow_mut().get_or_insert_with(number, make);
                Some(Symbol::Register(family.file, slot))
            };
            member().or_else(|| scope.symbols.get(name).copied())
        })
    }

    /// The instruction that a label stands before, as seen from a block.
    pub(super) fn label(&self, name: &str, from: usize) -> Option<u32> {
        self.outwards(from).find_map(|scope| scope.labels.get(name).copied())
    }
}
