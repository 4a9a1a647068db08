//! Arrows between modules: uses of one module in another.

use std::path::PathBuf;

use super::source::{Module, ModulePath, Source};

/// One use of a module or crate in another module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: ModulePath,
    pub(crate) to: Target,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    /// The path as written.
    pub(crate) text: String,
}

/// The end of an arrow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A module of the same crate.
    Module(ModulePath),
    /// A crate of this workspace, without the prefix.
    Crate(String),
}

/// The prefix of this workspace's crates in code.
const PREFIX: &str = "warploom_";

/// Re-exports that lead to re-exports; more are a cycle of imports, which the compiler refuses too.
const MOST_REEXPORTS: usize = 16;

/// Every arrow of a crate, in the order of its modules and lines.
pub(crate) fn of(source: &Source) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (from, module) in &source.modules {
        for mention in &module.mentions {
            let Some(to) = target(source, from, module, &mention.path) else { continue };
            arrows.push(Arrow {
                from: from.clone(),
                to,
                file: module.file.clone(),
                line: mention.line,
                text: mention.path.join("::"),
            });
        }
    }
    arrows.sort();
    arrows.dedup();
    arrows
}

/// The target of a path, if it is outside its module's own subtree.
fn target(source: &Source, from: &[String], module: &Module, path: &[String]) -> Option<Target> {
    let walk = Walk { source, origin: from, through_globs: true };
    let target = walk.resolve(from, path, 0)?;
    if let Target::Module(to) = &target
        && (from.starts_with(to) || to.starts_with(from))
    {
        return None;
    }
    // The import of a name is an arrow; so are not the name's uses, unless they lead further than the import
    // itself.
    let first = path.first()?;
    let imported = module.imports.iter().find(|import| import.name.as_ref() == Some(first) && import.path != path);
    if let Some(import) = imported
        && !matches!(first.as_str(), "crate" | "self" | "super")
        && walk.resolve(from, &import.path, 0).is_some_and(|by_import| !is_around(&by_import, from))
    {
        return None;
    }
    Some(target)
}

/// Is `from` in the subtree of this module?
fn is_around(target: &Target, from: &[String]) -> bool {
    matches!(target, Target::Module(to) if from.starts_with(to))
}

/// A search for the module that a path names.
struct Walk<'a> {
    source: &'a Source,
    /// The module in which the path is written. Re-exports of the modules around it are followed, those of
    /// others are not: `crate::check::Known` is an arrow to `check`, `super::Known` one to the sibling that
    /// declares it.
    origin: &'a [String],
    /// Are glob imports searched? Not for the path of a glob itself.
    through_globs: bool,
}

impl Walk<'_> {
    fn resolve(&self, from: &[String], path: &[String], followed: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut module = from.to_vec();
        match first.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => {
                module.pop()?;
            }
            "" => return extern_crate(rest.first()?),
            name => {
                return self.step(&module, name, rest, followed).or_else(|| extern_crate(name));
            }
        }
        while let Some(("super", after)) = rest.split_first().map(|(name, after)| (name.as_str(), after)) {
            module.pop()?;
            rest = after;
        }
        Some(self.walk(module, rest, followed))
    }

    /// The module that `path` names below `module`.
    fn walk(&self, module: ModulePath, path: &[String], followed: usize) -> Target {
        let Some((name, rest)) = path.split_first() else { return Target::Module(module) };
        let further = if self.origin.starts_with(&module) || self.is_child(&module, name) {
            self.step(&module, name, rest, followed)
        } else {
            None
        };
        further.unwrap_or(Target::Module(module))
    }

    /// Looks one name up in a module.
    fn step(&self, module: &[String], name: &str, rest: &[String], followed: usize) -> Option<Target> {
        if self.is_child(module, name) {
            return Some(self.walk(module.iter().cloned().chain([name.to_owned()]).collect(), rest, followed));
        }
        let here = self.source.modules.get(module)?;
        if here.items.contains(name) || followed == MOST_REEXPORTS {
            return here.items.contains(name).then(|| Target::Module(module.to_vec()));
        }
        if let Some(import) = here.imports.iter().find(|import| import.name.as_deref() == Some(name)) {
            // `use name;` or `use name as other;` of a crate must not look itself up again.
            if import.path.first().is_some_and(|first| first == name) {
                return extern_crate(name);
            }
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.resolve(module, &path, followed + 1);
        }
        if !self.through_globs {
            return None;
        }
        let plain = Walk { source: self.source, origin: self.origin, through_globs: false };
        here.imports.iter().filter(|import| import.name.is_none()).find_map(|glob| {
            let Some(Target::Module(from)) = plain.resolve(module, &glob.path, followed + 1) else { return None };
            let declares = self.source.modules.get(&from).is_some_and(|module| {
                module.items.contains(name) || module.imports.iter().any(|import| import.name.as_deref() == Some(name))
            });
            if declares { self.step(&from, name, rest, followed + 1) } else { None }
        })
    }

    fn is_child(&self, module: &[String], name: &str) -> bool {
        let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
        self.source.modules.contains_key(&child)
    }
}

fn extern_crate(name: &str) -> Option<Target> {
    name.strip_prefix(PREFIX).map(|name| Target::Crate(name.to_owned()))
}
