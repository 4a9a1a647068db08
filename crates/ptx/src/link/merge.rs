//! The merged text: items of each part, with their new names.

use super::names::Names;
use crate::syntax::{Features, Header, Item, ItemKind, Lexer, Module, Version, WordKind};

/// A text with all that is known about it.
pub(super) struct Source<'a, 't> {
    pub(super) names: &'a Names<'t>,
    /// The index of the part.
    pub(super) index: usize,
    pub(super) module: &'a Module<'t>,
    pub(super) items: &'a [Item],
    pub(super) text: &'t str,
    /// Numbers of source files that are taken.
    pub(super) files: u32,
}

/// The first lines: the newest version of all, for the architecture.
pub(super) fn header<'h>(headers: impl Iterator<Item = &'h Header>, architecture: u32) -> String {
    let (mut version, mut suffix) = (Version { major: 1, minor: 0 }, "");
    for header in headers {
        version = version.max(header.version);
        match header.target.features {
            Features::Specific => suffix = "a",
            Features::Family if suffix.is_empty() => suffix = "f",
            _ => {}
        }
    }
    let Version { major, minor } = version;
    format!(".version {major}.{minor}\n.target sm_{architecture}{suffix}\n.address_size 64\n")
}

/// Appends the items of a text; returns how many numbers of source files it takes.
pub(super) fn append(merged: &mut String, source: &Source<'_, '_>) -> u32 {
    let Source { names, index, module, text, .. } = source;
    for item in source.items {
        let whole = &text[item.range.clone()];
        match &item.kind {
            ItemKind::Section => {}
            ItemKind::File | ItemKind::Pragma | ItemKind::Alias(_) => source.copy(merged, whole),
            ItemKind::Function(function) => {
                if names.keeps_function(*index, &module.functions[*function]) {
                    source.copy(merged, whole);
                }
            }
            ItemKind::Variables(variables) => {
                let variables = &module.variables[variables.clone()];
                let kept = |at: usize| variables.get(at).is_some_and(|one| names.keeps_variable(*index, one));
                if (0..variables.len()).all(kept) {
                    source.copy(merged, whole);
                } else {
                    let name = variables.first().map_or("", |variable| variable.name);
                    let (start, declarators) = declarators(whole, name);
                    let kept = declarators.into_iter().enumerate().filter(|(at, _)| kept(*at));
                    for (_, declarator) in kept {
                        source.copy(merged, &format!("{start}{declarator};"));
                    }
                }
            }
        }
    }
    module.files.iter().map(|file| file.number.saturating_add(1)).max().unwrap_or(0)
}

/// `.global .u32 a, b[2] = {1, 2};` as the common part, and each variable.
fn declarators<'t>(whole: &'t str, first: &str) -> (&'t str, Vec<&'t str>) {
    let mut lexer = Lexer::new(whole);
    let (mut start, mut from, mut depth) = (None, 0, 0_usize);
    let mut all = Vec::new();
    while let Ok(word) = lexer.next() {
        match word.text {
            "" => break,
            name if start.is_none() && name == first && word.kind == WordKind::Name => {
                (start, from) = (Some(word.start), word.start);
            }
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth = depth.saturating_sub(1),
            "," | ";" if depth == 0 => {
                all.push(&whole[from..word.start]);
                from = word.end();
            }
            _ => {}
        }
    }
    (&whole[..start.unwrap_or(0)], all)
}

impl Source<'_, '_> {
    /// Copies a piece of the text with its names as they are among all texts, and source files counted on.
    fn copy(&self, merged: &mut String, piece: &str) {
        let (mut lexer, mut done, mut before) = (Lexer::new(piece), 0, "");
        while let Ok(word) = lexer.next() {
            if word.kind == WordKind::End {
                break;
            }
            let is_file = word.kind == WordKind::Number && matches!(before, ".file" | ".loc" | "inlined_at");
            let renamed = match word.kind {
                WordKind::Name => self.names.renamed(self.index, word.text).map(str::to_owned),
                _ if is_file => word.text.parse::<u32>().ok().map(|file| file.saturating_add(self.files).to_string()),
                _ => None,
            };
            if let Some(renamed) = renamed {
                merged.push_str(&piece[done..word.start]);
                merged.push_str(&renamed);
                done = word.end();
            }
            before = word.text;
        }
        merged.push_str(piece[done..].trim_end());
        merged.push('\n');
    }
}
