//! Modules of a crate, each with its imports and the paths that its code names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, Token, UseTree};

use crate::workspace::at;

/// A module's path below its crate; the crate's root is empty.
pub(crate) type ModulePath = Vec<String>;

/// A module without its tests.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The file that holds it, below the workspace.
    pub(crate) file: PathBuf,
    /// Names of everything it declares, child modules included.
    pub(crate) items: BTreeSet<String>,
    /// Its `use` declarations, one per imported name.
    pub(crate) imports: Vec<Import>,
    /// Every path in its code, imports included.
    pub(crate) mentions: Vec<Mention>,
}

/// One imported name, or a glob.
#[derive(Debug)]
pub(crate) struct Import {
    /// The name in scope; `None` for a glob.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
}

/// A path, as written, and its line.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

/// Every module of a crate that is compiled outside of tests.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

impl Source {
    /// Reads a crate by following its `mod` declarations from `lib.rs` or `main.rs`.
    pub(crate) fn read(workspace: &Path, folder: &Path) -> Result<Self, String> {
        let sources = workspace.join(folder).join("src");
        let root = ["lib.rs", "main.rs"]
            .into_iter()
            .map(|name| sources.join(name))
            .find(|file| file.is_file())
            .ok_or_else(|| format!("{} has neither lib.rs nor main.rs", sources.display()))?;
        let mut source = Self::default();
        let mut open = vec![(Vec::new(), root, sources)];
        while let Some((path, file, children)) = open.pop() {
            let text = fs::read_to_string(&file).map_err(at(&file))?;
            let shown = file.strip_prefix(workspace).unwrap_or(&file).to_owned();
            for (child, line) in source.add(path, &shown, &text)? {
                let name = child.last().map_or("", |name| name.strip_prefix("r#").unwrap_or(name));
                // An inline module's children lie in a folder of its name, which `child` has and `children`
                // has not.
                let inline = child.get(source.depth_of(&shown)..child.len() - 1).unwrap_or_default();
                let folder = inline.iter().fold(children.clone(), |folder, name| folder.join(name));
                let flat = folder.join(format!("{name}.rs"));
                let nested = folder.join(name);
                let found = if flat.is_file() { flat } else { nested.join("mod.rs") };
                if !found.is_file() {
                    return Err(format!("{}:{line}: no file for module {name}", shown.display()));
                }
                open.push((child, found, nested));
            }
        }
        Ok(source)
    }

    /// The depth of the module to which a file belongs.
    fn depth_of(&self, file: &Path) -> usize {
        self.modules.iter().filter(|(_, module)| module.file == file).map(|(path, _)| path.len()).min().unwrap_or(0)
    }

    /// Adds the text of one file; the modules that it declares in other files, with their lines.
    pub(crate) fn add(
        &mut self,
        path: ModulePath,
        file: &Path,
        text: &str,
    ) -> Result<Vec<(ModulePath, usize)>, String> {
        let parsed = syn::parse_file(text)
            .map_err(|error| format!("{}:{}: {error}", file.display(), error.span().start().line))?;
        let mut declared = Vec::new();
        self.collect(path, file, &parsed.items, &mut declared);
        Ok(declared)
    }

    fn collect(&mut self, path: ModulePath, file: &Path, items: &[Item], declared: &mut Vec<(ModulePath, usize)>) {
        let mut reader = Reader { module: Module { file: file.to_owned(), ..Module::default() }, inline: Vec::new() };
        for item in items {
            reader.visit_item(item);
        }
        let Reader { module, inline } = reader;
        self.modules.insert(path.clone(), module);
        for item in inline {
            let child: ModulePath = path.iter().cloned().chain([item.ident.to_string()]).collect();
            match &item.content {
                Some((_, items)) => self.collect(child, file, items, declared),
                None => declared.push((child, item.span().start().line)),
            }
        }
    }
}

/// Reads one module's items.
struct Reader<'a> {
    module: Module,
    /// Declarations of child modules, with or without a body.
    inline: Vec<&'a syn::ItemMod>,
}

impl<'a> Visit<'a> for Reader<'a> {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = described(item);
        if attributes.iter().any(test_only) {
            return;
        }
        self.module.items.extend(name);
        match item {
            Item::Mod(module) => self.inline.push(module),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Const(item) => &item.attrs,
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(test_only) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let mut prefix = Vec::new();
        if item.leading_colon.is_some() {
            prefix.push(String::new());
        }
        self.import(&item.tree, &mut prefix);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let mut segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_some() {
            segments.insert(0, String::new());
        }
        self.module.mentions.push(Mention { path: segments, line: path.span().start().line });
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        visit::visit_macro(self, item);
        scan(item.tokens.clone(), 0, &[], &mut self.module.mentions);
    }

    /// Visibility is no use of a module.
    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}

    fn visit_attribute(&mut self, _: &'a Attribute) {}
}

impl Reader<'_> {
    fn import(&mut self, tree: &UseTree, prefix: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix);
                prefix.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix)),
            UseTree::Name(name) => self.imported(&name.ident, &name.ident, prefix),
            UseTree::Rename(rename) => self.imported(&rename.ident, &rename.rename, prefix),
            UseTree::Glob(glob) => {
                self.module.imports.push(Import { name: None, path: prefix.clone() });
                self.module.mentions.push(Mention { path: prefix.clone(), line: glob.span().start().line });
            }
        }
    }

    fn imported(&mut self, ident: &syn::Ident, name: &syn::Ident, prefix: &[String]) {
        let mut path = prefix.to_vec();
        // `use a::{self}` imports `a`.
        let own = ident == "self" && !prefix.is_empty();
        if !own {
            path.push(ident.to_string());
        }
        let name = if own && name == "self" { path.last().cloned() } else { Some(name.to_string()) };
        self.module.mentions.push(Mention { path: path.clone(), line: ident.span().start().line });
        self.module.imports.push(Import { name, path });
    }
}

/// An item's attributes, and its name if it has one.
fn described(item: &Item) -> (&[Attribute], Option<String>) {
    macro_rules! named {
        ($($kind:ident $(. $name:ident)+;)*) => {
            match item {
                $(Item::$kind(item) => (&item.attrs, Some(item$(.$name)+.to_string())),)*
                Item::Macro(item) => (&item.attrs, item.ident.as_ref().map(ToString::to_string)),
                Item::Impl(item) => (&item.attrs, None),
                Item::Use(item) => (&item.attrs, None),
                Item::ForeignMod(item) => (&item.attrs, None),
                _ => (&[], None),
            }
        };
    }
    named! {
        Const.ident;
        Enum.ident;
        ExternCrate.ident;
        Fn.sig.ident;
        Mod.ident;
        Static.ident;
        Struct.ident;
        Trait.ident;
        TraitAlias.ident;
        Type.ident;
        Union.ident;
    }
}

/// `#[cfg(test)]`, `#[cfg(doctest)]`, or a condition that needs one of them.
fn test_only(attribute: &Attribute) -> bool {
    fn needs_test(condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) => path.is_ident("test") || path.is_ident("doctest"),
            Meta::List(list) if list.path.is_ident("all") => list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .is_ok_and(|parts| parts.iter().any(needs_test)),
            _ => false,
        }
    }
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
}

/// Finds paths from the crate, the module or its parent in the tokens of a macro. `inside` counts the modules
/// in those tokens that surround them; `prefix` is the path before a group of a `use`.
fn scan(tokens: TokenStream, inside: usize, prefix: &[String], found: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |index: usize, wanted: char| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let after_module =
            |back: usize| index >= back && matches!(&tokens[index - back], TokenTree::Ident(word) if word == "mod");
        match token {
            TokenTree::Group(group) => {
                let module = group.delimiter() == Delimiter::Brace && (after_module(2) || after_module(3));
                scan(group.stream(), inside + usize::from(module), &[], found);
                index += 1;
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let mut path = prefix.to_vec();
                path.push(first.to_string());
                index += 1;
                while is(index, ':') && is(index + 1, ':') {
                    match tokens.get(index + 2) {
                        Some(TokenTree::Ident(segment)) => path.push(segment.to_string()),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            scan(group.stream(), inside, &path, found);
                        }
                        _ => break,
                    }
                    index += 3;
                }
                let supers = path.iter().take_while(|segment| *segment == "super").count();
                if inside > 0 && path.first().is_none_or(|first| first != "crate") {
                    // From a module among the tokens only the path through each of them leads to the module
                    // that holds the macro.
                    if supers < inside {
                        continue;
                    }
                    path.splice(..inside, ["self".to_owned()]);
                }
                if path.len() > 1 {
                    found.push(Mention { path, line });
                }
            }
            _ => index += 1,
        }
    }
}
