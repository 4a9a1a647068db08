//! Functions and kernels, up to their bodies.

use super::Parser;
use crate::error::{Error, Position};
use crate::syntax::lexer::Kind as Word;
use crate::syntax::{Bounds, Function, Kind, Linkage};

impl<'t> Parser<'t> {
    /// The function behind its linkage, which is at `place`.
    pub(super) fn function(&mut self, place: Position, linkage: Linkage) -> Result<Function<'t>, Error> {
        let kind = if self.next()?.text == ".entry" { Kind::Entry } else { Kind::Function };
        let mut attributes = Vec::new();
        while kind == Kind::Function && self.peek()?.text == ".attribute" {
            self.attributes(&mut attributes)?;
        }
        let has_results = kind == Kind::Function && self.peek()?.text == "(";
        let results = if has_results { self.parameters()? } else { Vec::new() };
        let name = self.expect_name("the name of a function")?.text;
        let parameters = if self.peek()?.text == "(" { self.parameters()? } else { Vec::new() };
        let bounds = self.bounds(kind)?;
        let opening = self.peek()?;
        let body = match opening.text {
            "{" => Some(self.block()?),
            ";" => {
                self.next()?;
                None
            }
            _ => return Err(self.unexpected(opening, "a directive, a body in braces or ;")),
        };
        Ok(Function { place, kind, linkage, name, results, parameters, attributes, bounds, body })
    }

    fn bounds(&mut self, kind: Kind) -> Result<Bounds<'t>, Error> {
        let mut bounds = Bounds::default();
        loop {
            let token = self.peek()?;
            if token.kind != Word::Directive {
                return Ok(bounds);
            }
            if token.text == ".pragma" {
                bounds.pragmas.append(&mut self.pragmas()?);
                continue;
            }
            self.next()?;
            match (kind, token.text) {
                (Kind::Entry, ".maxntid") => bounds.max_threads = Some(self.dimensions()?),
                (Kind::Entry, ".reqntid") => bounds.required_threads = Some(self.dimensions()?),
                (Kind::Entry, ".reqnctapercluster") => bounds.required_cluster = Some(self.dimensions()?),
                (Kind::Entry, ".minnctapersm") => bounds.min_blocks = Some(self.number_u32()?),
                (Kind::Entry, ".maxnctapersm") => bounds.max_blocks = Some(self.number_u32()?),
                (Kind::Entry, ".maxnreg") => bounds.max_registers = Some(self.number_u32()?),
                (Kind::Entry, ".maxclusterrank") => bounds.max_cluster_blocks = Some(self.number_u32()?),
                (Kind::Entry, ".explicitcluster") => bounds.explicit_cluster = true,
                (Kind::Entry, ".blocksareclusters") => bounds.blocks_are_clusters = true,
                (_, ".language") => bounds.language = Some(self.expect_string("the name of a language")?),
                (Kind::Function, ".noreturn") => bounds.never_returns = true,
                (Kind::Function, ".abi_preserve") => bounds.preserved[0] = Some(self.number_u32()?),
                (Kind::Function, ".abi_preserve_control") => bounds.preserved[1] = Some(self.number_u32()?),
                (Kind::Entry, _) => return Err(self.unexpected(token, "a directive of a kernel such as .maxntid")),
                (Kind::Function, _) => {
                    return Err(self.unexpected(token, "a directive of a function such as .noreturn"));
                }
            }
        }
    }

    /// `256, 2`: up to three numbers.
    fn dimensions(&mut self) -> Result<[u32; 3], Error> {
        let mut dimensions = [1; 3];
        for (index, dimension) in dimensions.iter_mut().enumerate() {
            if index == 0 || self.take(",")? {
                *dimension = self.number_u32()?;
            } else {
                break;
            }
        }
        Ok(dimensions)
    }
}
