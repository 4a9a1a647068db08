//! Modules: everything outside of functions.

use std::ops::Range;

use super::Parser;
use crate::error::Error;
use crate::syntax::lexer::Kind;
use crate::syntax::{Alias, File, Header, Linkage, Module, Pragma, Section};

impl<'t> Module<'t> {
    /// Reads a whole text.
    ///
    /// The text ends at its last byte: a terminating zero is no part of it.
    pub fn parse(text: &'t str) -> Result<Self, Error> {
        let mut parser = Parser::new(text)?;
        let mut module = Module::begin(&mut parser)?;
        while parser.peek()?.kind != Kind::End {
            parser.item(&mut module)?;
        }
        Ok(module)
    }

    /// Reads a whole text, and where everything stands that is outside of functions.
    pub(crate) fn parse_items(text: &'t str) -> Result<(Self, Vec<Item>), Error> {
        let mut parser = Parser::new(text)?;
        let mut module = Module::begin(&mut parser)?;
        let mut items = Vec::new();
        loop {
            let first = parser.peek()?;
            if first.kind == Kind::End {
                return Ok((module, items));
            }
            let (functions, variables) = (module.functions.len(), module.variables.len());
            parser.item(&mut module)?;
            let what = match first.text {
                ".file" => ItemKind::File,
                ".section" => ItemKind::Section,
                ".alias" => ItemKind::Alias(module.aliases.len() - 1),
                ".pragma" => ItemKind::Pragma,
                _ if module.functions.len() > functions => ItemKind::Function(functions),
                _ => ItemKind::Variables(variables..module.variables.len()),
            };
            items.push(Item { range: first.start..parser.peek()?.start, kind: what });
        }
    }

    fn begin(parser: &mut Parser<'t>) -> Result<Self, Error> {
        Ok(Module {
            header: Header::parse(parser)?,
            variables: Vec::new(),
            functions: Vec::new(),
            aliases: Vec::new(),
            files: Vec::new(),
            sections: Vec::new(),
            pragmas: Vec::new(),
        })
    }
}

/// An item outside of functions, with its bytes of the text, up to the next item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) range: Range<usize>,
    pub(crate) kind: ItemKind,
}

/// The kind of an item, with its index in the lists of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Function(usize),
    Variables(Range<usize>),
    Alias(usize),
    File,
    Section,
    Pragma,
}

impl<'t> Parser<'t> {
    fn item(&mut self, module: &mut Module<'t>) -> Result<(), Error> {
        let first = self.peek()?;
        match first.text {
            ".file" => module.files.push(self.file()?),
            ".section" => module.sections.push(self.section()?),
            ".alias" => module.aliases.push(self.alias()?),
            ".pragma" => module.pragmas.append(&mut self.pragmas()?),
            _ => {
                let linkage = self.linkage()?;
                match self.peek()?.text {
                    ".entry" | ".func" => module.functions.push(self.function(first.place, linkage)?),
                    _ => self.variables(linkage, "a variable or function", &mut module.variables)?,
                }
            }
        }
        Ok(())
    }

    fn linkage(&mut self) -> Result<Linkage, Error> {
        let linkage = match self.peek()?.text {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => return Ok(Linkage::Internal),
        };
        self.next()?;
        Ok(linkage)
    }

    /// `.file 1 "saxpy.cu", 1700000000, 1234`
    fn file(&mut self) -> Result<File<'t>, Error> {
        self.expect(".file")?;
        let number = self.number_u32()?;
        let path = self.expect_string("the path of a source file in quotes")?;
        // Its time and size.
        for _ in 0..2 {
            if self.take(",")? {
                self.expect_kind(Kind::Number, "a number")?;
            }
        }
        Ok(File { number, path })
    }

    /// `.alias name, function;`
    fn alias(&mut self) -> Result<Alias<'t>, Error> {
        let place = self.expect(".alias")?.place;
        let name = self.expect_name("the name of an alias")?.text;
        self.expect(",")?;
        let function = self.expect_name("the name of a function")?.text;
        self.expect(";")?;
        Ok(Alias { place, name, function })
    }

    /// `.pragma "nounroll", "…";`
    pub(super) fn pragmas(&mut self) -> Result<Vec<Pragma<'t>>, Error> {
        self.expect(".pragma")?;
        let mut pragmas = vec![self.pragma()?];
        while self.take(",")? {
            pragmas.push(self.pragma()?);
        }
        self.expect(";")?;
        Ok(pragmas)
    }

    fn pragma(&mut self) -> Result<Pragma<'t>, Error> {
        let place = self.peek()?.place;
        Ok(Pragma { place, text: self.expect_string("a string")? })
    }

    /// `.section .debug_str { … }`
    fn section(&mut self) -> Result<Section<'t>, Error> {
        let place = self.expect(".section")?.place;
        let name = self.expect_kind(Kind::Directive, "the name of a section such as .debug_info")?.text;
        let start = self.expect("{")?.end();
        loop {
            let token = self.next()?;
            match token.text {
                "}" => return Ok(Section { place, name, text: &self.lexer.text()[start..token.start] }),
                "" | "{" => return Err(self.unexpected(token, "numbers and labels up to }")),
                _ => {}
            }
        }
    }
}
