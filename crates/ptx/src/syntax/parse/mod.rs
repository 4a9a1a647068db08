//! Recursive descent over the words of a text, one word ahead.

mod attribute;
mod body;
mod expression;
mod function;
mod header;
mod initial;
mod instruction;
mod location;
mod module;
mod variable;

pub(crate) use module::{Item, ItemKind};

use super::Operand;
use super::lexer::{Kind, Lexer, Token};
use crate::error::{Error, Position, Problem};

/// The maximum nesting of blocks, initialisers and expressions.
pub const MAX_DEPTH: usize = 64;

/// The longest text that is read, in bytes: 64 MiB.
pub const MAX_LENGTH: usize = 1 << 26;

/// Characters of a word that an error repeats.
const QUOTED: usize = 40;

/// A text that is being read.
pub(super) struct Parser<'t> {
    lexer: Lexer<'t>,
    ahead: Option<Token<'t>>,
    depth: usize,
    /// Scratch lists, reused for every instruction; their copies in the module have no spare capacity.
    modifiers: Vec<&'t str>,
    operands: Vec<Operand<'t>>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, Error> {
        if text.len() > MAX_LENGTH {
            let problem = Problem::Length { length: text.len(), limit: MAX_LENGTH };
            return Err(Error::new(text, 0, 0, Position { line: 1, column: 1 }, problem));
        }
        Ok(Self { lexer: Lexer::new(text), ahead: None, depth: 0, modifiers: Vec::new(), operands: Vec::new() })
    }

    /// The next word, left where it is.
    pub(super) fn peek(&mut self) -> Result<Token<'t>, Error> {
        match self.ahead {
            Some(token) => Ok(token),
            None => {
                let token = self.lexer.next()?;
                self.ahead = Some(token);
                Ok(token)
            }
        }
    }

    /// The next word, taken.
    pub(super) fn next(&mut self) -> Result<Token<'t>, Error> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.lexer.next(),
        }
    }

    /// Takes the next word if it is `text`.
    pub(super) fn take(&mut self, text: &str) -> Result<bool, Error> {
        let found = self.peek()?.text == text;
        if found {
            self.ahead = None;
        }
        Ok(found)
    }

    /// Takes the next word, which must be `text`.
    pub(super) fn expect(&mut self, text: &'static str) -> Result<Token<'t>, Error> {
        self.expect_described(text, text)
    }

    /// The same, with a description of the expected word.
    fn expect_described(&mut self, text: &'static str, expected: &'static str) -> Result<Token<'t>, Error> {
        let token = self.next()?;
        if token.text == text { Ok(token) } else { Err(self.unexpected(token, expected)) }
    }

    fn expect_kind(&mut self, kind: Kind, expected: &'static str) -> Result<Token<'t>, Error> {
        let token = self.next()?;
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(token, expected)) }
    }

    fn expect_name(&mut self, expected: &'static str) -> Result<Token<'t>, Error> {
        self.expect_kind(Kind::Name, expected)
    }

    /// The contents of a string, with its escapes.
    fn expect_string(&mut self, expected: &'static str) -> Result<&'t str, Error> {
        let text = self.expect_kind(Kind::String, expected)?.text;
        Ok(&text[1..text.len() - 1])
    }

    /// Things with commas between them, up to `end`; none at all is a list, too.
    fn list<T>(
        &mut self,
        end: &'static str,
        expected: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut list = Vec::new();
        if self.take(end)? {
            return Ok(list);
        }
        loop {
            list.push(element(self)?);
            if !self.take(",")? {
                self.expect_described(end, expected)?;
                return Ok(list);
            }
        }
    }

    /// Reads an item that may hold others of its kind, up to [`MAX_DEPTH`].
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            let token = self.peek()?;
            return Err(self.error(token, Problem::Depth { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn error(&self, token: Token<'_>, problem: Problem) -> Error {
        self.lexer.error(token, problem)
    }

    /// The error for an unexpected word.
    pub(super) fn unexpected(&self, token: Token<'_>, expected: &'static str) -> Error {
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => match token.text.char_indices().nth(QUOTED) {
                Some((cut, _)) => format!("`{}…`", &token.text[..cut]),
                None => format!("`{}`", token.text),
            },
        };
        self.error(token, Problem::Unexpected { expected, found })
    }
}
