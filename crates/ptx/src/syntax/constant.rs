//! Literals, read to their bits.

/// A number in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immediate {
    /// `-7`, `0x2A`, `7U`
    Integer(Integer),
    /// `0f3F800000`: the bits of an `f32`.
    F32(u32),
    /// `0d3FF0000000000000`, or `1.0`: the bits of an `f64`.
    F64(u64),
}

/// An integer of 64 bits, signed unless it is marked or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// The value, in two's complement if it is signed.
    pub bits: u64,
    /// `true` if the top bit is a sign.
    pub signed: bool,
}

impl Integer {
    /// A signed one.
    pub fn signed(value: i64) -> Self {
        Self { bits: value.cast_unsigned(), signed: true }
    }

    /// `true` if it is below zero.
    pub fn is_negative(self) -> bool {
        self.signed && self.bits.cast_signed() < 0
    }

    /// The value, which is `bits` or below zero.
    pub fn value(self) -> i128 {
        if self.signed { self.bits.cast_signed().into() } else { self.bits.into() }
    }
}

impl Immediate {
    /// The number written as `word`; `None` if it is none.
    ///
    /// Signs are no part of a number but operators.
    pub(super) fn read(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        match bytes {
            [b'0', b'f' | b'F', ..] => return Some(Self::F32(u32::try_from(exact_hexadecimal(&word[2..], 8)?).ok()?)),
            [b'0', b'd' | b'D', ..] => return Some(Self::F64(exact_hexadecimal(&word[2..], 16)?)),
            [b'0', b'x' | b'X', ..] => {}
            _ if bytes.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => return decimal_fraction(word),
            _ => {}
        }
        let (digits, unsigned) = match word.strip_suffix('U') {
            Some(digits) => (digits, true),
            None => (word, false),
        };
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        if !digits.starts_with(|character: char| character.is_ascii_hexdigit()) {
            return None;
        }
        let bits = u64::from_str_radix(digits, radix).ok()?;
        Some(Self::Integer(Integer { bits, signed: !unsigned && bits.cast_signed() >= 0 }))
    }
}

fn exact_hexadecimal(digits: &str, count: usize) -> Option<u64> {
    let plain = digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn decimal_fraction(word: &str) -> Option<Immediate> {
    let plain = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 = plain.then(|| word.parse().ok()).flatten()?;
    Some(Immediate::F64(value.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(bits: u64, signed: bool) -> Option<Immediate> {
        Some(Immediate::Integer(Integer { bits, signed }))
    }

    #[test]
    fn integers_come_in_four_bases_and_may_be_marked_unsigned() {
        assert_eq!(Immediate::read("0"), integer(0, true));
        assert_eq!(Immediate::read("42"), integer(42, true));
        assert_eq!(Immediate::read("0x2aU"), integer(42, false));
        assert_eq!(Immediate::read("052"), integer(42, true));
        assert_eq!(Immediate::read("0b101010"), integer(42, true));
        assert_eq!(Immediate::read("0U"), integer(0, false));
    }

    #[test]
    fn a_literal_too_large_for_a_sign_is_unsigned() {
        assert_eq!(Immediate::read("9223372036854775807"), integer(i64::MAX as u64, true));
        assert_eq!(Immediate::read("9223372036854775808"), integer(1 << 63, false));
        assert_eq!(Immediate::read("18446744073709551616"), None);
    }

    #[test]
    fn floats_are_bits_or_decimal() {
        assert_eq!(Immediate::read("0f3F800000"), Some(Immediate::F32(1.0_f32.to_bits())));
        assert_eq!(Immediate::read("0D3ff0000000000000"), Some(Immediate::F64(1.0_f64.to_bits())));
        assert_eq!(Immediate::read("1.5"), Some(Immediate::F64(1.5_f64.to_bits())));
        assert_eq!(Immediate::read("2e-3"), Some(Immediate::F64(2e-3_f64.to_bits())));
    }

    #[test]
    fn malformed_literals_are_refused() {
        for word in
            ["0f3F80000", "0f3F8000000", "0d0", "08", "0x", "0b2", "1x", "1.2.3", "0xg", "U", "1_000", "0x+1", "1e"]
        {
            assert_eq!(Immediate::read(word), None, "{word}");
        }
    }
}
