//! Statements.

use super::Parser;
use crate::error::Error;
use crate::syntax::lexer::{Kind, Token};
use crate::syntax::{Block, BranchTargets, CallTargets, Label, Linkage, Prototype, Statement};

impl<'t> Parser<'t> {
    /// `{ … }`
    pub(super) fn block(&mut self) -> Result<Block<'t>, Error> {
        let place = self.expect("{")?.place;
        let mut statements = Vec::new();
        self.nested(|parser| {
            loop {
                let token = parser.peek()?;
                if token.text == "}" {
                    return Ok(());
                }
                parser.statement(token, &mut statements)?;
            }
        })?;
        let end = self.expect("}")?.place;
        Ok(Block { place, end, statements })
    }

    /// Reads the statement that starts with `first`, which is not yet taken.
    fn statement(&mut self, first: Token<'t>, into: &mut Vec<Statement<'t>>) -> Result<(), Error> {
        let statement = match (first.kind, first.text) {
            (Kind::Name, _) => {
                self.next()?;
                if self.take(":")? {
                    self.labelled(first)?
                } else {
                    Statement::Instruction(self.instruction(first, None, first)?)
                }
            }
            (_, "@") => Statement::Instruction(self.guarded()?),
            (_, "{") => Statement::Block(self.block()?),
            (_, ".reg") => Statement::Registers(self.registers()?),
            (_, ".loc") => Statement::Location(self.location()?),
            (_, ".pragma") => {
                into.extend(self.pragmas()?.into_iter().map(Statement::Pragma));
                return Ok(());
            }
            (Kind::Directive, _) => {
                let mut variables = Vec::new();
                self.variables(Linkage::Internal, "a declaration such as .reg or .local", &mut variables)?;
                into.extend(variables.into_iter().map(|variable| Statement::Variable(Box::new(variable))));
                return Ok(());
            }
            _ => return Err(self.unexpected(first, "an instruction, a label, a declaration or }")),
        };
        into.push(statement);
        Ok(())
    }

    /// The list or prototype behind the label `name`, or else the label.
    fn labelled(&mut self, name: Token<'t>) -> Result<Statement<'t>, Error> {
        let (place, name) = (name.place, name.text);
        Ok(match self.peek()?.text {
            ".branchtargets" => {
                self.next()?;
                Statement::BranchTargets(BranchTargets { place, name, labels: self.names("a label")? })
            }
            ".calltargets" => {
                self.next()?;
                Statement::CallTargets(CallTargets { place, name, functions: self.names("the name of a function")? })
            }
            ".callprototype" => {
                self.next()?;
                Statement::Prototype(Box::new(self.prototype(Label { place, name })?))
            }
            _ => Statement::Label(Label { place, name }),
        })
    }

    /// Names with commas between them, and a semicolon.
    fn names(&mut self, expected: &'static str) -> Result<Vec<&'t str>, Error> {
        self.list(";", "a comma or ;", |parser| Ok(parser.expect_name(expected)?.text))
    }

    /// `(.param .b32 _) _ (.param .b64 _) .noreturn;`
    fn prototype(&mut self, Label { place, name }: Label<'t>) -> Result<Prototype<'t>, Error> {
        let results = if self.peek()?.text == "(" { self.parameters()? } else { Vec::new() };
        self.expect_described("_", "_ or parameters in parentheses")?;
        let parameters = if self.peek()?.text == "(" { self.parameters()? } else { Vec::new() };
        let mut never_returns = false;
        loop {
            let token = self.next()?;
            match token.text {
                ".noreturn" => never_returns = true,
                ".abi_preserve" | ".abi_preserve_control" => drop(self.number_u32()?),
                ";" => return Ok(Prototype { place, name, results, parameters, never_returns }),
                _ => return Err(self.unexpected(token, ".noreturn or ;")),
            }
        }
    }
}
