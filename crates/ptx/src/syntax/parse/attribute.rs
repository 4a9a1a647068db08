//! Small things that several declarations share.

use super::Parser;
use crate::error::{Error, Problem};
use crate::syntax::lexer::Kind;
use crate::syntax::{Attribute, Immediate};

impl<'t> Parser<'t> {
    /// A number that is written out, without operators.
    fn plain_number(&mut self, expected: &'static str) -> Result<u64, Error> {
        let token = self.expect_kind(Kind::Number, expected)?;
        match Immediate::read(token.text) {
            Some(Immediate::Integer(integer)) => Ok(integer.bits),
            Some(_) => Err(self.unexpected(token, expected)),
            None => Err(self.error(token, Problem::Number(token.text.to_owned()))),
        }
    }

    pub(super) fn number_u64(&mut self) -> Result<u64, Error> {
        self.plain_number("an integer")
    }

    pub(super) fn number_u32(&mut self) -> Result<u32, Error> {
        let token = self.peek()?;
        let number = self.plain_number("an integer")?;
        number.try_into().map_err(|_| {
            let (value, expected) = (number.to_string(), "at most 4294967295");
            self.error(token, Problem::Range { value, expected })
        })
    }

    /// `.align 16`, where `.align` stands: a power of two.
    pub(super) fn alignment(&mut self) -> Result<u32, Error> {
        self.expect(".align")?;
        let token = self.peek()?;
        let alignment = self.number_u32()?;
        if alignment.is_power_of_two() {
            return Ok(alignment);
        }
        let (value, expected) = (format!("an alignment of {alignment}"), "a power of two");
        Err(self.error(token, Problem::Range { value, expected }))
    }

    /// `.attribute(.managed, .unified(1, 2))`, where `.attribute` stands.
    pub(super) fn attributes(&mut self) -> Result<Vec<Attribute<'t>>, Error> {
        self.expect(".attribute")?;
        self.expect("(")?;
        self.list(")", ", or ) behind an attribute", |parser| {
            let name = &parser.expect_kind(Kind::Directive, "an attribute such as .managed")?.text[1..];
            let numbers = if parser.take("(")? { parser.list(")", ", or )", Self::number_u64)? } else { Vec::new() };
            Ok(Attribute { name, numbers })
        })
    }
}
