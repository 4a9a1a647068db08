//! Expressions of constants, evaluated as they are read.
//!
//! Integers have 64 bits and wrap; an operation is unsigned if one of its sides is. Floats know signs, the
//! four basic operations and comparison.

use super::Parser;
use crate::error::{Error, Problem};
use crate::syntax::lexer::{Kind, Token};
use crate::syntax::{Immediate, Integer};

/// The value of `WARP_SZ`.
const WARP_SIZE: i64 = 32;

/// Operators of two sides and how tightly they bind, longer ones before those they start with.
const OPERATORS: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl<'t> Parser<'t> {
    /// The value of an expression; `expected` describes it in error texts.
    pub(super) fn expression(&mut self, expected: &'static str) -> Result<Immediate, Error> {
        let first = self.unary(expected)?;
        // Most expressions are a number, and tables are long.
        if matches!(self.peek()?.text, "," | ";" | "}" | "]") {
            return Ok(first);
        }
        let condition = self.binary(first, 0)?;
        if !self.take("?")? {
            return Ok(condition);
        }
        let (yes, no) = self.nested(|parser| {
            let yes = parser.expression("a number")?;
            parser.expect(":")?;
            Ok((yes, parser.expression("a number")?))
        })?;
        Ok(if is_true(condition) { yes } else { no })
    }

    /// The offset behind a name, `+4` or `+-4`; 0 where there is none.
    pub(super) fn offset(&mut self) -> Result<i64, Error> {
        if self.take("+")? { self.signed("an offset") } else { Ok(0) }
    }

    /// An integer as an offset or address: the low 64 bits count.
    pub(super) fn signed(&mut self, expected: &'static str) -> Result<i64, Error> {
        let token = self.peek()?;
        match self.expression(expected)? {
            Immediate::Integer(integer) => Ok(integer.bits.cast_signed()),
            _ => Err(self.unexpected(token, "an integer")),
        }
    }

    /// The expression behind `left`: operators that bind at least as tightly as `least`, and their right
    /// sides.
    fn binary(&mut self, mut left: Immediate, least: u8) -> Result<Immediate, Error> {
        while let Some((token, operator, tightness)) = self.operator(least)? {
            let right = self.unary("a number")?;
            let right = self.binary(right, tightness + 1)?;
            left = self.apply(token, operator, left, right)?;
        }
        Ok(left)
    }

    /// Takes an operator that binds tightly enough; it may be two marks that touch.
    fn operator(&mut self, least: u8) -> Result<Option<(Token<'t>, &'static str, u8)>, Error> {
        let token = self.peek()?;
        if token.kind != Kind::Mark {
            return Ok(None);
        }
        let rest = &self.lexer.text()[token.start..];
        match OPERATORS.iter().find(|(operator, _)| rest.starts_with(operator)) {
            Some(&(operator, tightness)) if tightness >= least => {
                for _ in 0..operator.len() {
                    self.next()?;
                }
                Ok(Some((token, operator, tightness)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn unary(&mut self, expected: &'static str) -> Result<Immediate, Error> {
        let token = self.next()?;
        match (token.kind, token.text) {
            (Kind::Number, text) => {
                Immediate::read(text).ok_or_else(|| self.error(token, Problem::Number(text.to_owned())))
            }
            // `.5` looks like a modifier.
            (Kind::Directive, text) if text[1..].starts_with(|first: char| first.is_ascii_digit()) => {
                Immediate::read(text).ok_or_else(|| self.error(token, Problem::Number(text.to_owned())))
            }
            (Kind::Name, "WARP_SZ") => Ok(Immediate::Integer(Integer::signed(WARP_SIZE))),
            (_, "(") => self.nested(|parser| parser.parenthesized()),
            (_, "-" | "+" | "~" | "!") => {
                let value = self.nested(|parser| parser.unary("a number"))?;
                match (token.text, value) {
                    ("-", value) => Ok(negative(value)),
                    ("+", value) => Ok(value),
                    ("!", value) => self.logical_not(token, value),
                    (_, Immediate::Integer(integer)) => {
                        Ok(Immediate::Integer(Integer { bits: !integer.bits, ..integer }))
                    }
                    _ => Err(self.unexpected(token, "an integer behind ~")),
                }
            }
            _ => Err(self.unexpected(token, expected)),
        }
    }

    /// A cast or an expression, behind an opening parenthesis.
    fn parenthesized(&mut self) -> Result<Immediate, Error> {
        let token = self.peek()?;
        let signed = match token.text {
            ".s64" => true,
            ".u64" => false,
            _ => {
                let value = self.expression("a number")?;
                self.expect(")")?;
                return Ok(value);
            }
        };
        self.next()?;
        self.expect(")")?;
        match self.unary("a number")? {
            Immediate::Integer(integer) => Ok(Immediate::Integer(Integer { signed, ..integer })),
            _ => Err(self.unexpected(token, "an integer behind a cast")),
        }
    }

    pub(super) fn logical_not(&self, token: Token<'t>, value: Immediate) -> Result<Immediate, Error> {
        match value {
            Immediate::Integer(integer) => Ok(truth(integer.bits == 0)),
            _ => Err(self.unexpected(token, "an integer behind !")),
        }
    }

    fn apply(
        &self,
        token: Token<'t>,
        operator: &'static str,
        left: Immediate,
        right: Immediate,
    ) -> Result<Immediate, Error> {
        let value = match (left, right) {
            (Immediate::Integer(left), Immediate::Integer(right)) => {
                if matches!(operator, "/" | "%") && right.bits == 0 {
                    return Err(self.error(token, Problem::DivisionByZero));
                }
                Some(integers(operator, left, right))
            }
            (Immediate::F64(left), Immediate::F64(right)) => {
                floats(operator, f64::from_bits(left), f64::from_bits(right))
            }
            _ => None,
        };
        value.ok_or_else(|| self.unexpected(token, "two integers, or two decimal numbers and one of + - * /"))
    }
}

fn truth(value: bool) -> Immediate {
    Immediate::Integer(Integer::signed(value.into()))
}

fn is_true(value: Immediate) -> bool {
    match value {
        Immediate::Integer(integer) => integer.bits != 0,
        Immediate::F32(bits) => f32::from_bits(bits) != 0.0,
        Immediate::F64(bits) => f64::from_bits(bits) != 0.0,
    }
}

fn negative(value: Immediate) -> Immediate {
    match value {
        // A magnitude that is too large for a sign wraps: -9223372036854775808.
        Immediate::Integer(integer) => {
            let bits = integer.bits.wrapping_neg();
            Immediate::Integer(Integer { bits, signed: integer.signed || bits == 1 << 63 })
        }
        Immediate::F32(bits) => Immediate::F32(bits ^ (1 << 31)),
        Immediate::F64(bits) => Immediate::F64(bits ^ (1 << 63)),
    }
}

/// The divisor is not zero.
fn integers(operator: &str, left: Integer, right: Integer) -> Immediate {
    let signed = left.signed && right.signed;
    let (a, b) = (left.bits, right.bits);
    let (sa, sb) = (a.cast_signed(), b.cast_signed());
    let order = if signed { sa.cmp(&sb) } else { a.cmp(&b) };
    // The hardware's shifts: bits that are shifted out are gone.
    let distance = u32::try_from(b).unwrap_or(u32::MAX);
    let bits = match operator {
        "||" => return truth(a != 0 || b != 0),
        "&&" => return truth(a != 0 && b != 0),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(order.is_lt()),
        ">" => return truth(order.is_gt()),
        "<=" => return truth(order.is_le()),
        ">=" => return truth(order.is_ge()),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "<<" => a.checked_shl(distance).unwrap_or(0),
        ">>" if left.signed => (sa >> distance.min(63)).cast_unsigned(),
        ">>" => a.checked_shr(distance).unwrap_or(0),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if signed => sa.wrapping_div(sb).cast_unsigned(),
        "/" => a / b,
        _ if signed => sa.wrapping_rem(sb).cast_unsigned(),
        _ => a % b,
    };
    let signed = if matches!(operator, "<<" | ">>") { left.signed } else { signed };
    Immediate::Integer(Integer { bits, signed })
}

fn floats(operator: &str, left: f64, right: f64) -> Option<Immediate> {
    let value = match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        _ => {
            let order = left.partial_cmp(&right);
            return Some(truth(match operator {
                "==" => left == right,
                "!=" => left != right,
                "<" => order.is_some_and(|order| order.is_lt()),
                ">" => order.is_some_and(|order| order.is_gt()),
                "<=" => order.is_some_and(|order| order.is_le()),
                ">=" => order.is_some_and(|order| order.is_ge()),
                _ => return None,
            }));
        }
    };
    Some(Immediate::F64(value.to_bits()))
}
