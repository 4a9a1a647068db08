//! Instructions and their operands.

use super::Parser;
use crate::error::Error;
use crate::syntax::lexer::{Kind, Token};
use crate::syntax::{Address, Base, Guard, Instruction, Operand, Words};

/// The operands that are possible, for error texts.
const OPERAND: &str = "an operand";

impl<'t> Parser<'t> {
    /// `@!%p1 bra $L__BB0_2;`
    pub(super) fn guarded(&mut self) -> Result<Instruction<'t>, Error> {
        let start = self.expect("@")?;
        let negated = self.take("!")?;
        let register = self.expect_name("a predicate")?.text;
        let opcode = self.expect_name("an instruction")?;
        self.instruction(start, Some(Guard { register, negated }), opcode)
    }

    /// The rest of an instruction behind its opcode; the instruction begins with `start`.
    pub(super) fn instruction(
        &mut self,
        start: Token<'t>,
        guard: Option<Guard<'t>>,
        opcode: Token<'t>,
    ) -> Result<Instruction<'t>, Error> {
        while self.peek()?.kind == Kind::Directive {
            let modifier = &self.next()?.text[1..];
            self.modifiers.push(modifier);
        }
        let mut end = self.peek()?;
        if end.text == ";" {
            self.next()?;
        } else {
            let calls = opcode.text == "call";
            while end.text != ";" {
                let operand = self.operand(calls)?;
                self.operands.push(operand);
                end = self.next()?;
                if !matches!(end.text, "," | ";") {
                    return Err(self.unexpected(end, "a comma or ; behind an operand"));
                }
            }
        }
        let modifiers = Words::from(self.modifiers.as_slice());
        self.modifiers.clear();
        let operands = self.operands.drain(..).collect();
        let text = self.lexer.text()[start.start..end.start].trim_end();
        Ok(Instruction { place: start.place, guard, opcode: opcode.text, modifiers, operands, text })
    }

    /// Parentheses are lists in calls, and expressions elsewhere.
    fn operand(&mut self, calls: bool) -> Result<Operand<'t>, Error> {
        let token = self.peek()?;
        match (token.kind, token.text) {
            (Kind::Name, "WARP_SZ") => Ok(Operand::Immediate(self.expression(OPERAND)?)),
            (Kind::Name, _) => {
                self.next()?;
                self.named(token.text)
            }
            (_, "[") => self.bracketed(),
            (_, "{") => {
                self.next()?;
                let first = self.element()?;
                let mut elements = vec![first];
                while self.take(",")? {
                    elements.push(self.element()?);
                }
                self.expect_described("}", "a comma or } in a vector")?;
                Ok(Operand::Vector(elements))
            }
            (_, "(") if calls => {
                self.next()?;
                let elements = self.list(")", "a comma or ) in an argument list", Self::element)?;
                Ok(Operand::Parenthesized(elements))
            }
            (_, "!") => {
                self.next()?;
                let name = self.peek()?;
                if name.kind == Kind::Name && name.text != "WARP_SZ" {
                    self.next()?;
                    return Ok(Operand::Not(name.text));
                }
                let value = self.nested(|parser| parser.unary("a predicate"))?;
                Ok(Operand::Immediate(self.logical_not(token, value)?))
            }
            (_, "-") if self.negates_name(token) => {
                self.next()?;
                let name = self.next()?;
                Ok(Operand::Negated(Box::new(self.named(name.text)?)))
            }
            _ => Ok(Operand::Immediate(self.expression(OPERAND)?)),
        }
    }

    /// `true` if a minus stands before a register, and not in a number.
    fn negates_name(&self, minus: Token<'t>) -> bool {
        let behind = self.lexer.text()[minus.start + 1..].trim_start();
        behind.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '%' | '$' | '_'))
            && !behind.starts_with("WARP_SZ")
    }

    /// The operand that begins with a name, which has been read.
    fn named(&mut self, name: &'t str) -> Result<Operand<'t>, Error> {
        let follower = self.peek()?;
        if follower.kind == Kind::Directive {
            return Ok(Operand::Element { name, element: self.selector()? });
        }
        match follower.text {
            "|" => {
                self.next()?;
                let second = self.expect_name("the second of two results")?.text;
                let kept = |name| if name == "_" { None } else { Some(name) };
                Ok(Operand::Pair(kept(name), kept(second)))
            }
            "+" => Ok(Operand::Sum { name, offset: self.offset()? }),
            "[" => {
                self.next()?;
                let (base, offset) = self.sum()?;
                self.expect("]")?;
                Ok(Operand::Subscript { name, index: Box::new(Address { base, offset, unified: false }) })
            }
            _ if name == "_" => Ok(Operand::Sink),
            _ => Ok(Operand::Name(name)),
        }
    }

    /// `.x` or another part of a vector; bytes and halves of a word are chosen like that, too.
    fn selector(&mut self) -> Result<&'t str, Error> {
        let token = self.next()?;
        match &token.text[1..] {
            part @ ("x" | "y" | "z" | "w" | "r" | "g" | "b" | "a") => Ok(part),
            // Lanes of a word: `b2`, `h10`, `b7654`.
            part if part.len() <= 5
                && part.starts_with(['b', 'h'])
                && part[1..].bytes().all(|c| c.is_ascii_digit()) =>
            {
                Ok(part)
            }
            _ => Err(self.unexpected(token, "a comma, ; or a part of a vector such as .x")),
        }
    }

    /// A register or number in a vector or in a list of arguments.
    fn element(&mut self) -> Result<Operand<'t>, Error> {
        let token = self.peek()?;
        match token.text {
            "{" | "[" | "(" | "!" => Err(self.unexpected(token, "a name or number")),
            _ => self.operand(false),
        }
    }

    /// `[%rd1+4]`, or with commas inside, `[texture, {%f1, %f2}]`
    fn bracketed(&mut self) -> Result<Operand<'t>, Error> {
        self.expect("[")?;
        let (base, offset) = self.sum()?;
        if self.peek()?.text != "," {
            self.expect_described("]", "an offset, a comma or ] in an address")?;
            let unified = self.take(".unified")?;
            return Ok(Operand::Address(Address { base, offset, unified }));
        }
        let mut parts = vec![Operand::Address(Address { base, offset, unified: false })];
        while self.take(",")? {
            let token = self.peek()?;
            if token.text == "[" {
                return Err(self.unexpected(token, "a name, a number or a vector"));
            }
            parts.push(self.operand(false)?);
        }
        self.expect_described("]", "a comma or ]")?;
        Ok(Operand::Bracketed(parts))
    }

    /// The address between brackets: a name with an offset, or a number.
    fn sum(&mut self) -> Result<(Base<'t>, i64), Error> {
        let token = self.peek()?;
        if token.kind != Kind::Name || token.text == "WARP_SZ" {
            return Ok((Base::Zero, self.signed("a register, a variable or a number")?));
        }
        self.next()?;
        let follower = self.peek()?;
        let base = if follower.kind == Kind::Directive {
            Base::Element(token.text, self.selector()?)
        } else {
            Base::Name(token.text)
        };
        Ok((base, self.offset()?))
    }
}
