//! Element types of kernel arguments: their names, sizes, and values as bytes.

use std::fmt;

use super::half::{self, Format};
use crate::report::Number;

/// The type of a value, or of the values in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// A text that is no value of an element type: the problem, to follow the text itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberError(pub(crate) String);

impl Element {
    pub(crate) const ALL: [Element; 13] = [
        Element::Bool,
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::U8,
        Element::U16,
        Element::U32,
        Element::U64,
        Element::F16,
        Element::Bf16,
        Element::F32,
        Element::F64,
    ];

    /// The name in specifications and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::I8 => "i8",
            Element::I16 => "i16",
            Element::I32 => "i32",
            Element::I64 => "i64",
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }

    /// The element type of a name.
    pub(crate) fn named(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Bool | Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// The smallest and the largest integer of the type; `None` for floating-point types.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Element::Bool => (0, 1),
            Element::I8 => (i8::MIN.into(), i8::MAX.into()),
            Element::I16 => (i16::MIN.into(), i16::MAX.into()),
            Element::I32 => (i32::MIN.into(), i32::MAX.into()),
            Element::I64 => (i64::MIN.into(), i64::MAX.into()),
            Element::U8 => (0, u8::MAX.into()),
            Element::U16 => (0, u16::MAX.into()),
            Element::U32 => (0, u32::MAX.into()),
            Element::U64 => (0, u64::MAX.into()),
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => return None,
        })
    }

    /// Reads a value: integers in decimal or as `0x…`, `true` and `false`, and floating-point numbers with
    /// `inf` and `nan`.
    pub(crate) fn parse(self, text: &str) -> Result<Number, NumberError> {
        let Some((least, most)) = self.range() else {
            let number = text.parse().map_err(|_| NumberError(format!("is no {self}; expected one such as 2.5")))?;
            return Ok(Number::Double(number));
        };
        let value = match (self, text) {
            (Element::Bool, "false") => 0,
            (Element::Bool, "true") => 1,
            (Element::Bool, _) => {
                integer(text).ok_or_else(|| NumberError("is no bool; expected true or false".into()))?
            }
            _ => integer(text).ok_or_else(|| NumberError(format!("is no {self}; expected one such as 42 or 0x2a")))?,
        };
        if !(least..=most).contains(&value) {
            return Err(NumberError(format!("is out of range; {self} has {least} to {most}")));
        }
        Ok(Number::Integer(value))
    }

    /// Appends the bytes of a value. Integers wrap around, and floating-point values are rounded to the
    /// nearest.
    pub(crate) fn encode(self, number: Number, bytes: &mut Vec<u8>) {
        let (integer, float) = (number.to_integer(), number.to_float());
        let all = (integer as u64).to_le_bytes();
        match self {
            Element::F16 => bytes.extend(half::encode(float, Format::F16).to_le_bytes()),
            Element::Bf16 => bytes.extend(half::encode(float, Format::Bf16).to_le_bytes()),
            Element::F32 => bytes.extend((float as f32).to_le_bytes()),
            Element::F64 => bytes.extend(float.to_le_bytes()),
            _ => bytes.extend_from_slice(&all[..self.size()]),
        }
    }

    /// The value of the type's bytes.
    pub(crate) fn decode(self, bytes: &[u8]) -> Number {
        let mut all = [0; 8];
        for (to, from) in all.iter_mut().zip(bytes.iter().take(self.size())) {
            *to = *from;
        }
        let bits = u64::from_le_bytes(all);
        match self {
            Element::Bool | Element::U8 | Element::U16 | Element::U32 | Element::U64 => Number::Integer(bits.into()),
            Element::I8 => Number::Integer((bits as i8).into()),
            Element::I16 => Number::Integer((bits as i16).into()),
            Element::I32 => Number::Integer((bits as i32).into()),
            Element::I64 => Number::Integer((bits as i64).into()),
            Element::F16 => Number::Single(half::decode(bits as u16, Format::F16) as f32),
            Element::Bf16 => Number::Single(half::decode(bits as u16, Format::Bf16) as f32),
            Element::F32 => Number::Single(f32::from_bits(bits as u32)),
            Element::F64 => Number::Double(f64::from_bits(bits)),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A decimal or hexadecimal integer.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
        None if digits.starts_with('+') => return None,
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    Some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bytes() {
        for (element, text) in [
            (Element::Bool, "1"),
            (Element::I8, "-128"),
            (Element::I16, "-2"),
            (Element::I32, "-2147483648"),
            (Element::I64, "-9223372036854775808"),
            (Element::U8, "255"),
            (Element::U16, "65535"),
            (Element::U32, "4294967295"),
            (Element::U64, "18446744073709551615"),
            (Element::F16, "0.5"),
            (Element::Bf16, "-1.5"),
            (Element::F32, "0.1"),
            (Element::F64, "0.1"),
        ] {
            let number = element.parse(text).expect("it is one");
            let mut bytes = Vec::new();
            element.encode(number, &mut bytes);
            assert_eq!(bytes.len(), element.size(), "{element}");
            let expected = match number {
                Number::Double(float) if element != Element::F64 => Number::Single(float as f32),
                number => number,
            };
            assert_eq!(element.decode(&bytes), expected, "{element}");
        }
    }

    #[test]
    fn values_out_of_range_and_other_texts_are_refused() {
        for (element, text, problem) in [
            (Element::U8, "256", "is out of range; u8 has 0 to 255"),
            (Element::U32, "-1", "is out of range; u32 has 0 to 4294967295"),
            (Element::Bool, "2", "is out of range; bool has 0 to 1"),
            (Element::Bool, "yes", "is no bool; expected true or false"),
            (Element::I32, "1.5", "is no i32; expected one such as 42 or 0x2a"),
            (Element::I32, "+1", "is no i32; expected one such as 42 or 0x2a"),
            (Element::F32, "two", "is no f32; expected one such as 2.5"),
        ] {
            assert_eq!(element.parse(text), Err(NumberError(problem.to_owned())), "{text}");
        }
        assert_eq!(Element::I16.parse("-0x10"), Ok(Number::Integer(-16)));
        assert_eq!(Element::F64.parse("inf"), Ok(Number::Double(f64::INFINITY)));
    }
}
