//! Declarations of variables, registers and parameters.

use super::Parser;
use crate::error::{Error, Position};
use crate::syntax::{Attribute, Linkage, Pointer, RegisterName, Registers, ScalarType, Space, Variable};

/// The part of a declaration in front of the names.
struct Specifiers<'t> {
    place: Position,
    space: Space,
    attributes: Vec<Attribute<'t>>,
    alignment: Option<u32>,
    scalar: ScalarType,
    lanes: u8,
    pointer: Option<Pointer>,
}

pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".reg" => Space::Register,
        ".global" => Space::Global,
        ".const" => Space::Constant,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".param" => Space::Parameter,
        ".tex" => Space::Texture,
        _ => return None,
    })
}

impl<'t> Parser<'t> {
    /// `.global .align 4 .u32 first, second[4] = {1, 2};`, each name as a variable of its own.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        expected: &'static str,
        into: &mut Vec<Variable<'t>>,
    ) -> Result<(), Error> {
        let specifiers = self.specifiers(expected)?;
        loop {
            let name = self.peek()?;
            if name.text == "_" {
                return Err(self.unexpected(name, "the name of a variable"));
            }
            let mut variable = self.declarator(linkage, &specifiers)?;
            if self.take("=")? {
                variable.initial = Some(self.initial()?);
            }
            into.push(variable);
            if !self.take(",")? {
                self.expect_described(";", "a comma, an initialiser or ; behind a variable")?;
                return Ok(());
            }
        }
    }

    /// `(.param .b64 first, .param .align 4 .b8 second[12])`
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'t>>, Error> {
        self.expect("(")?;
        self.list(")", ", or ) behind a parameter", |parser| {
            let specifiers = parser.specifiers("a parameter such as .param .u64 name")?;
            parser.declarator(Linkage::Internal, &specifiers)
        })
    }

    /// `.reg .b32 %r<7>, sum;`
    pub(super) fn registers(&mut self) -> Result<Registers<'t>, Error> {
        let Specifiers { place, scalar, lanes, .. } = self.specifiers(".reg")?;
        let mut names = Vec::new();
        loop {
            let name = self.expect_name("the name of a register")?;
            names.push(RegisterName { place: name.place, name: name.text, count: self.count()? });
            if !self.take(",")? {
                self.expect_described(";", "a comma or ; behind a register")?;
                return Ok(Registers { place, scalar, lanes, names });
            }
        }
    }

    /// The space, alignment and attributes in any order, then the type.
    fn specifiers(&mut self, expected: &'static str) -> Result<Specifiers<'t>, Error> {
        let place = self.peek()?.place;
        let (mut attributes, mut alignment, mut named) = (Vec::new(), None, None);
        loop {
            let token = self.peek()?;
            match (token.text, space(token.text)) {
                (".attribute", _) => self.attributes(&mut attributes)?,
                (".align", _) => alignment = Some(self.alignment()?),
                (_, Some(space)) if named.is_none() => {
                    named = Some(space);
                    self.next()?;
                }
                _ => break,
            }
        }
        let token = self.next()?;
        let space = named.ok_or_else(|| self.unexpected(token, expected))?;
        let (lanes, token) = match token.text {
            ".v2" | ".v4" | ".v8" => (token.text.as_bytes()[2] - b'0', self.next()?),
            _ => (1, token),
        };
        let scalar = token.text.strip_prefix('.').and_then(ScalarType::declared);
        let scalar = scalar.ok_or_else(|| self.unexpected(token, "a type such as .b32"))?;
        let pointer = if self.peek()?.text == ".ptr" { Some(self.pointer()?) } else { None };
        Ok(Specifiers { place, space, attributes, alignment, scalar, lanes, pointer })
    }

    /// `.ptr .global .align 16`
    fn pointer(&mut self) -> Result<Pointer, Error> {
        self.expect(".ptr")?;
        let space = space(self.peek()?.text);
        if space.is_some() {
            self.next()?;
        }
        let alignment = if self.peek()?.text == ".align" { self.alignment()? } else { 4 };
        Ok(Pointer { space, alignment })
    }

    /// `<7>` behind a name.
    fn count(&mut self) -> Result<Option<u32>, Error> {
        if !self.take("<")? {
            return Ok(None);
        }
        let count = self.number_u32()?;
        self.expect(">")?;
        Ok(Some(count))
    }

    fn declarator(&mut self, linkage: Linkage, specifiers: &Specifiers<'t>) -> Result<Variable<'t>, Error> {
        let name = self.expect_name("the name of a variable")?;
        let count = self.count()?;
        let mut dimensions = Vec::new();
        while self.take("[")? {
            let dimension = if self.peek()?.text == "]" { None } else { Some(self.number_u64()?) };
            self.expect("]")?;
            dimensions.push(dimension);
        }
        Ok(Variable {
            place: name.place,
            linkage,
            space: specifiers.space,
            attributes: specifiers.attributes.clone(),
            alignment: specifiers.alignment,
            scalar: specifiers.scalar,
            lanes: specifiers.lanes,
            pointer: specifiers.pointer,
            name: name.text,
            count,
            dimensions,
            initial: None,
        })
    }
}
