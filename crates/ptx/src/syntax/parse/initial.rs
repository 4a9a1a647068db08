//! Initialisers of variables.

use super::Parser;
use crate::error::{Error, Problem};
use crate::syntax::lexer::{Kind, Token};
use crate::syntax::{Immediate, Initial, Integer, Symbol};

impl<'t> Parser<'t> {
    /// A number, an address, or a list of these and of lists.
    pub(super) fn initial(&mut self) -> Result<Initial<'t>, Error> {
        if self.take("{")? {
            let list = self.nested(|parser| parser.list("}", "a comma or } in an initialiser", Self::initial))?;
            return Ok(Initial::List(list));
        }
        let token = self.peek()?;
        if token.kind == Kind::Name && token.text != "WARP_SZ" {
            return Ok(Initial::Address(self.symbol(None)?));
        }
        let value = self.expression("a number, an address or a list in braces")?;
        match value {
            Immediate::Integer(mask) if self.take("(")? => {
                let byte = self.masked_byte(token, mask)?;
                let symbol = self.symbol(Some(byte))?;
                self.expect(")")?;
                Ok(Initial::Address(symbol))
            }
            _ => Ok(Initial::Value(value)),
        }
    }

    /// The byte that a mask like `0xFF00` keeps.
    fn masked_byte(&self, token: Token<'t>, mask: Integer) -> Result<u8, Error> {
        let byte = mask.bits.trailing_zeros() / 8;
        if byte < 8 && mask.bits == 0xff << (byte * 8) {
            return Ok(byte as u8);
        }
        let (value, expected) = (format!("{:#x}", mask.bits), "a mask of one byte such as 0xFF00");
        Err(self.error(token, Problem::Range { value, expected }))
    }

    /// `name+4` or `generic(name)+4`
    fn symbol(&mut self, byte: Option<u8>) -> Result<Symbol<'t>, Error> {
        let name = self.expect_name("the name of a variable or function")?;
        let mut symbol = Symbol { place: name.place, name: name.text, offset: 0, generic: false, byte };
        if name.text == "generic" && self.take("(")? {
            symbol.name = self.expect_name("the name of a variable or function")?.text;
            symbol.generic = true;
            self.expect(")")?;
        }
        symbol.offset = self.offset()?;
        Ok(symbol)
    }
}
