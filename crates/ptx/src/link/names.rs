//! Symbol resolution between the parts, and the conflicts it finds.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Conflict, ConflictKind, Part};
use crate::program::Builtin;
use crate::syntax::{Function, Kind, Lexer, Linkage, Module, Space, Variable, WordKind};

/// A name outside of functions, as one text has it.
#[derive(Clone, Debug)]
struct Symbol {
    part: usize,
    linkage: Linkage,
    is_definition: bool,
    shape: Shape,
}

/// The properties of a symbol that all parts must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Function { is_entry: bool, results: Vec<u64>, parameters: Vec<u64> },
    Variable { space: Space, size: Option<u64>, alignment: u32 },
}

/// All names of all texts.
pub(super) struct Names<'t> {
    parts: &'t [Part],
    /// In the order in which the texts have them.
    symbols: BTreeMap<&'t str, Vec<Symbol>>,
    /// The part whose definition holds.
    chosen: HashMap<&'t str, usize>,
    /// The names that bodies and initialisers of each part use.
    used: Vec<HashSet<&'t str>>,
    /// Of each part: the internal names that other parts have, too, and their new names.
    renamed: Vec<HashMap<&'t str, String>>,
}

/// The size of a variable, or nothing where the text does not say it.
fn size_of(variable: &Variable<'_>) -> Option<u64> {
    let element = u64::from(variable.scalar.size()) * u64::from(variable.lanes);
    variable.dimensions.iter().try_fold(element, |size, count| size.checked_mul((*count)?))
}

fn of_function(part: usize, function: &Function<'_>) -> Symbol {
    let sizes = |variables: &[Variable<'_>]| variables.iter().map(|one| size_of(one).unwrap_or(0)).collect();
    Symbol {
        part,
        linkage: function.linkage,
        is_definition: function.body.is_some(),
        shape: Shape::Function {
            is_entry: function.kind == Kind::Entry,
            results: sizes(&function.results),
            parameters: sizes(&function.parameters),
        },
    }
}

fn of_variable(part: usize, variable: &Variable<'_>) -> Symbol {
    Symbol {
        part,
        linkage: variable.linkage,
        is_definition: variable.linkage != Linkage::Extern,
        shape: Shape::Variable {
            space: variable.space,
            size: size_of(variable),
            alignment: variable.alignment.unwrap_or(1),
        },
    }
}

impl Symbol {
    /// The higher, the sooner it is chosen among several definitions.
    fn rank(&self) -> (u8, u64) {
        match (self.linkage, &self.shape) {
            (Linkage::Visible | Linkage::Internal, _) => (3, 0),
            (Linkage::Weak, _) => (2, 0),
            (Linkage::Common, Shape::Variable { size, .. }) => (1, size.unwrap_or(0)),
            _ => (0, 0),
        }
    }

    /// Memory whose size the launch says, which every text declares and none defines.
    fn is_dynamic_shared(&self) -> bool {
        !self.is_definition && matches!(self.shape, Shape::Variable { space: Space::Shared, .. })
    }
}

impl Shape {
    /// The conflict between a declaration `self` and the definition `other`.
    fn conflict(&self, other: &Shape) -> Option<ConflictKind> {
        match (self, other) {
            (Shape::Function { .. }, Shape::Function { .. }) => (self != other).then_some(ConflictKind::Prototype),
            (Shape::Variable { space, size, .. }, Shape::Variable { space: first, size: defined, .. }) => {
                if space != first {
                    return Some(ConflictKind::Space);
                }
                let differ = size.zip(*defined).is_some_and(|(size, defined)| size != defined);
                differ.then_some(ConflictKind::Size)
            }
            _ => Some(ConflictKind::Multiple),
        }
    }
}

impl<'t> Names<'t> {
    pub(super) fn new(parts: &'t [Part], modules: &[&Module<'t>]) -> Self {
        let mut symbols: BTreeMap<&'t str, Vec<Symbol>> = BTreeMap::new();
        for (part, module) in modules.iter().enumerate() {
            for function in &module.functions {
                symbols.entry(function.name).or_default().push(of_function(part, function));
            }
            for variable in &module.variables {
                symbols.entry(variable.name).or_default().push(of_variable(part, variable));
            }
        }
        let used = parts.iter().zip(modules).map(|(part, module)| uses(part, module)).collect();
        let mut names = Self { parts, symbols, chosen: HashMap::new(), used, renamed: Vec::new() };
        names.choose();
        names.rename();
        names
    }

    /// Finds the definition of every name that more than one text may know.
    fn choose(&mut self) {
        for (name, symbols) in &self.symbols {
            let mut best: Option<&Symbol> = None;
            for symbol in symbols.iter().filter(|one| one.is_definition && one.linkage != Linkage::Internal) {
                if best.is_none_or(|best| symbol.rank() > best.rank()) {
                    best = Some(symbol);
                }
            }
            if let Some(best) = best {
                self.chosen.insert(name, best.part);
            }
        }
    }

    /// Finds new names for internal symbols of the parts.
    fn rename(&mut self) {
        self.renamed = vec![HashMap::new(); self.parts.len()];
        let mut taken: HashSet<String> = self.used.iter().flatten().map(|name| (*name).to_owned()).collect();
        taken.extend(self.symbols.keys().map(|name| (*name).to_owned()));
        for (name, symbols) in &self.symbols {
            let is_everywhere = symbols.iter().any(|symbol| symbol.linkage != Linkage::Internal);
            let internal = symbols.iter().filter(|symbol| symbol.linkage == Linkage::Internal);
            let mut parts: Vec<usize> = internal.map(|symbol| symbol.part).collect();
            parts.dedup();
            // The first may keep it, if no other part has another meaning for it.
            for part in parts.into_iter().skip(usize::from(!is_everywhere)) {
                let mut number = part;
                let mut other = format!("{name}${number}");
                while !taken.insert(other.clone()) {
                    number += self.parts.len();
                    other = format!("{name}${number}");
                }
                self.renamed[part].insert(name, other);
            }
        }
    }

    /// All conflicts: multiple definitions first, undefined references last.
    pub(super) fn conflicts(&self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let conflict = |kind, symbol: &str, part: usize, first: usize| {
            let name = |part: usize| self.parts.get(part).map_or_else(String::new, |part| part.name.clone());
            Conflict { kind, symbol: symbol.to_owned(), part: name(part), first: name(first) }
        };
        for (name, symbols) in &self.symbols {
            let shared: Vec<&Symbol> = symbols.iter().filter(|one| one.linkage != Linkage::Internal).collect();
            let strong = |one: &&&Symbol| one.is_definition && one.linkage == Linkage::Visible;
            let mut definitions = shared.iter().filter(strong);
            if let (Some(first), Some(second)) = (definitions.next(), definitions.next()) {
                // A variable is told from where it was first said, a function from where it was first
                // defined.
                let is_variable = matches!(first.shape, Shape::Variable { .. });
                let first = shared.first().filter(|_| is_variable).map_or(first.part, |one| one.part);
                conflicts.push(conflict(ConflictKind::Multiple, name, second.part, first));
                continue;
            }
            let Some(&chosen) = self.chosen.get(name) else { continue };
            let Some(definition) = shared.iter().find(|one| one.part == chosen && one.is_definition) else { continue };
            let may_differ = |one: &Symbol| one.linkage == Linkage::Common || definition.linkage == Linkage::Common;
            let wrong = shared.iter().find_map(|one| {
                let kind = one.shape.conflict(&definition.shape)?;
                (kind != ConflictKind::Size || !may_differ(one)).then_some((kind, one.part))
            });
            if let Some((kind, part)) = wrong {
                let said = shared.first().map_or(chosen, |one| one.part);
                let first = if kind == ConflictKind::Prototype { chosen } else { said };
                conflicts.push(conflict(kind, name, part.max(chosen), first));
            }
        }
        for (name, symbols) in &self.symbols {
            for symbol in symbols {
                let is_needed = self.used[symbol.part].contains(name) && !self.is_provided(name, symbol);
                if is_needed {
                    conflicts.push(conflict(ConflictKind::Undefined, name, symbol.part, symbol.part));
                    break;
                }
            }
        }
        conflicts
    }

    /// `true` if there is a definition for a name, as the text of a symbol sees it.
    fn is_provided(&self, name: &str, symbol: &Symbol) -> bool {
        let in_part = |one: &Symbol| one.part == symbol.part && one.is_definition;
        self.chosen.contains_key(name)
            || symbol.is_dynamic_shared()
            || Builtin::named(name).is_some()
            || self.symbols.get(name).is_some_and(|symbols| symbols.iter().any(in_part))
    }

    /// The new name of a text's own symbol in the merged text.
    pub(super) fn renamed(&self, part: usize, name: &str) -> Option<&str> {
        self.renamed[part].get(name).map(String::as_str)
    }

    /// `true` if a function goes to the merged text, as this part has it.
    pub(super) fn keeps_function(&self, part: usize, function: &Function<'_>) -> bool {
        match (function.linkage, &function.body) {
            (Linkage::Internal, body) => body.is_some(),
            (_, Some(_)) => self.chosen.get(function.name) == Some(&part),
            // Functions that the device itself has are declared once.
            (_, None) => {
                let first = self.symbols.get(function.name).and_then(|symbols| symbols.first());
                let is_defined = self.chosen.contains_key(function.name);
                !is_defined && Builtin::named(function.name).is_some() && first.is_some_and(|first| first.part == part)
            }
        }
    }

    /// `true` if a variable goes to the merged text, as this part has it.
    pub(super) fn keeps_variable(&self, part: usize, variable: &Variable<'_>) -> bool {
        match variable.linkage {
            Linkage::Internal => true,
            Linkage::Extern if variable.space == Space::Shared => {
                let symbols = self.symbols.get(variable.name).map(Vec::as_slice).unwrap_or_default();
                // The one that wants the most of its address; of several, the first.
                let best = symbols.iter().rev().max_by_key(|symbol| match symbol.shape {
                    Shape::Variable { alignment, .. } => alignment,
                    Shape::Function { .. } => 0,
                });
                best.is_some_and(|best| best.part == part)
            }
            Linkage::Extern => false,
            _ => self.chosen.get(variable.name) == Some(&part),
        }
    }
}

/// The names that a text uses.
fn uses<'t>(part: &'t Part, module: &Module<'t>) -> HashSet<&'t str> {
    let declarations = module.functions.iter().filter(|function| function.body.is_none()).map(|function| function.name);
    let variables = module.variables.iter().map(|variable| variable.name);
    // Each of them names itself once more than it is used.
    let mut counts: HashMap<&str, i64> = HashMap::new();
    declarations.chain(variables).for_each(|name| *counts.entry(name).or_default() -= 1);
    let mut lexer = Lexer::new(&part.text);
    let mut used = HashSet::new();
    while let Ok(word) = lexer.next() {
        match word.kind {
            WordKind::End => break,
            WordKind::Name => {
                let count = counts.entry(word.text).or_default();
                *count += 1;
                if *count > 0 {
                    used.insert(word.text);
                }
            }
            _ => {}
        }
    }
    used
}
