//! Linkage, alignment and attributes, which several declarations share.

use super::Parser;
use crate::error::{Error, Problem};
use crate::syntax::lexer::Kind;
use crate::syntax::{Attribute, Immediate};

/// The most attributes of a declaration: PTX has no more.
const MAX_ATTRIBUTES: usize = 2;

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
    pub(super) fn attributes(&mut self, into: &mut Vec<Attribute<'t>>) -> Result<(), Error> {
        self.expect(".attribute")?;
        self.expect("(")?;
        loop {
            let token = self.expect_kind(Kind::Directive, "an attribute such as .managed")?;
            // Each variable of a declaration has a copy of them.
            if into.len() == MAX_ATTRIBUTES {
                return Err(self.unexpected(token, "at most 2 attributes"));
            }
            let numbers = if self.peek()?.text == "(" { Some(self.attribute_numbers()?) } else { None };
            into.push(Attribute { name: &token.text[1..], numbers });
            if !self.take(",")? {
                self.expect_described(")", "a comma or ) behind an attribute")?;
                return Ok(());
            }
        }
    }

    /// `(1, 2)`
    fn attribute_numbers(&mut self) -> Result<[u64; 2], Error> {
        self.expect("(")?;
        let first = self.number_u64()?;
        self.expect(",")?;
        let second = self.number_u64()?;
        self.expect(")")?;
        Ok([first, second])
    }
}
