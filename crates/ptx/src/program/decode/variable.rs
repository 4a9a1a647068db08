//! Variables of the module and their initialisers.

use super::super::variable::{Inside, Variable, VariableSpace};
use super::layout::{alignment_of, size_of};
use super::scope::Symbol;
use super::{Decoder, Refusal, Why, refusal};
use crate::syntax::{self, Immediate, Initial, Linkage, ScalarType, Space};

/// The most bytes of one variable.
const MAX_VARIABLE: u64 = 1 << 36;

impl<'t> Decoder<'_, 't> {
    /// The module's own variables; those of shared memory are laid out for each kernel.
    pub(super) fn declare_variables(&mut self) -> Result<(), Refusal> {
        let module = self.module;
        // Names first: an initialiser may name a later variable.
        let mut next = 0;
        for variable in &module.variables {
            if matches!(variable.space, Space::Global | Space::Constant) && !self.symbols.contains_key(variable.name) {
                self.symbols.insert(variable.name, Symbol::Variable(next));
                next += 1;
            }
        }
        let mut done = 0;
        for variable in &module.variables {
            match variable.space {
                Space::Global | Space::Constant => {
                    let index = match self.symbols.get(variable.name) {
                        Some(Symbol::Variable(index)) => *index,
                        _ => return Err(refusal(variable.place, Why::Other("a function has the same name"))),
                    };
                    let declared = self.variable_of(variable)?;
                    if index == done {
                        self.code.variables.push(declared);
                        done += 1;
                    } else if variable.linkage != Linkage::Extern {
                        self.code.variables[index as usize] = declared;
                    }
                }
                Space::Shared => {}
                Space::Texture => return Err(refusal(variable.place, Why::Other("textures are not simulated"))),
                Space::Local | Space::Parameter | Space::Register => {
                    return Err(refusal(variable.place, Why::Other("it has to be declared in a function")));
                }
            }
        }
        Ok(())
    }

    /// A variable inside of a function that outlives it.
    pub(super) fn declare_variable(&mut self, variable: &syntax::Variable<'t>) -> Result<u32, Refusal> {
        let declared = self.variable_of(variable)?;
        self.code.variables.push(declared);
        Ok(self.code.variables.len() as u32 - 1)
    }

    fn variable_of(&self, variable: &syntax::Variable<'t>) -> Result<Variable, Refusal> {
        use ScalarType::{SamplerReference, SurfaceReference, TextureReference};
        if matches!(variable.scalar, SamplerReference | SurfaceReference | TextureReference) {
            return Err(refusal(variable.place, Why::Other("textures are not simulated")));
        }
        let (mut initial, mut addresses) = (Vec::new(), Vec::new());
        if let Some(value) = &variable.initial {
            self.fill(variable, value, &variable.dimensions, &mut initial, &mut addresses)?;
        }
        let size = match size_of(variable) {
            Some(size) => size,
            None => initial.len() as u64,
        };
        if size > MAX_VARIABLE {
            return Err(refusal(variable.place, Why::Other("it has more than 64 GiB")));
        }
        if initial.len() as u64 > size {
            return Err(refusal(variable.place, Why::Other("its initialiser is longer than the variable")));
        }
        Ok(Variable {
            name: variable.name.to_owned(),
            space: if variable.space == Space::Constant { VariableSpace::Constant } else { VariableSpace::Global },
            size,
            alignment: alignment_of(variable),
            external: variable.linkage == Linkage::Extern,
            visible: variable.linkage != Linkage::Internal,
            managed: variable.attributes.iter().any(|attribute| attribute.name == "managed"),
            initial,
            addresses,
        })
    }

    /// Appends the bytes of an initialiser; a list shorter than its dimension is filled up with zeros.
    fn fill(
        &self,
        variable: &syntax::Variable<'t>,
        value: &Initial<'t>,
        dimensions: &[Option<u64>],
        bytes: &mut Vec<u8>,
        addresses: &mut Vec<Inside>,
    ) -> Result<(), Refusal> {
        let element = variable.scalar.size() as usize;
        match value {
            Initial::Value(number) => {
                bytes.extend_from_slice(&number_bits(*number, variable.scalar).to_le_bytes()[..element]);
            }
            Initial::Address(symbol) => {
                let target = self.symbols.get(symbol.name).and_then(|found| found.target());
                let target = target.ok_or_else(|| refusal(symbol.place, Why::Undeclared(symbol.name.to_owned())))?;
                let (width, from) = if symbol.byte.is_some() { (1, symbol.byte.unwrap_or(0)) } else { (element, 0) };
                let inside = Inside {
                    at: bytes.len() as u64,
                    target,
                    offset: symbol.offset,
                    bytes: width.min(8 - usize::from(from.min(7))) as u8,
                    from: from.min(7),
                };
                addresses.push(inside);
                bytes.resize(bytes.len() + element, 0);
            }
            Initial::List(values) => {
                let start = bytes.len();
                let inner = dimensions.get(1..).unwrap_or_default();
                for value in values {
                    self.fill(variable, value, inner, bytes, addresses)?;
                }
                let row = inner
                    .iter()
                    .try_fold(element as u64 * u64::from(variable.lanes), |size, count| size.checked_mul((*count)?));
                // Zeros up to the end of an inner row; those of the whole variable are implied by its size.
                let nested = dimensions.len() < variable.dimensions.len();
                if let (true, Some(row), Some(Some(count))) = (nested, row, dimensions.first()) {
                    let whole = row.saturating_mul(*count).min(1 << 28) as usize;
                    bytes.resize((start + whole).max(bytes.len()), 0);
                }
            }
        }
        Ok(())
    }
}

/// The bits of a number as a type has them.
pub(super) fn number_bits(number: Immediate, scalar: ScalarType) -> u64 {
    match (number, scalar) {
        (Immediate::F32(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), _) => bits.into(),
        (Immediate::F64(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::F64(bits), _) => bits,
        (Immediate::Integer(integer), ScalarType::F32) => u64::from((integer.value() as f32).to_bits()),
        (Immediate::Integer(integer), ScalarType::F64) => (integer.value() as f64).to_bits(),
        (Immediate::Integer(integer), _) => integer.bits,
    }
}
