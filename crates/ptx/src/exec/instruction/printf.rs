//! `vprintf`: a format string in memory, and its values in local memory.

use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop};

/// The longest text that is read from memory, and the widest field.
const LONGEST: usize = 4096;

impl<M: Memory + Host> Executor<'_, M> {
    /// Text up to its zero byte.
    pub(crate) fn text(&mut self, warp: &mut Warp, at: Current, lane: usize, address: u64) -> Result<String, Stop> {
        let mut bytes = Vec::new();
        if address == 0 {
            return Ok("(null)".to_owned());
        }
        while bytes.len() < LONGEST {
            let mut byte = [0];
            self.peek(warp, at, lane, address.wrapping_add(bytes.len() as u64), &mut byte)?;
            if byte == [0] {
                break;
            }
            bytes.extend(byte);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Prints for one lane; the result is the number of values, as the device's `printf` has it.
    pub(crate) fn print(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lane: usize,
        format: u64,
        values: u64,
    ) -> Result<u64, Stop> {
        let format = self.text(warp, at, lane, format)?;
        let (mut out, mut next, mut count) = (String::new(), 0u64, 0);
        let mut take = |executor: &mut Self, warp: &mut Warp, bytes: u64| -> Result<u64, Stop> {
            next = next.next_multiple_of(bytes);
            let mut value = [0; 8];
            executor.peek(warp, at, lane, values.wrapping_add(next), &mut value[..bytes as usize])?;
            next += bytes;
            Ok(u64::from_le_bytes(value))
        };
        let mut rest = format.as_str();
        while let Some(start) = rest.find('%') {
            out.push_str(&rest[..start]);
            let (mut field, length) = Field::read(&rest[start + 1..]);
            rest = &rest[start + 1 + length..];
            if field.kind == '%' {
                out.push('%');
                continue;
            }
            if field.star_width {
                let width = take(self, warp, 4)? as i32;
                (field.left, field.width) = (field.left || width < 0, width.unsigned_abs() as usize);
            }
            if field.star_precision {
                field.precision = usize::try_from(take(self, warp, 4)? as i32).ok();
            }
            let shown = match field.kind {
                's' => {
                    let address = take(self, warp, 8)?;
                    let text = self.text(warp, at, lane, address)?;
                    let most = field.precision.unwrap_or(LONGEST);
                    text.chars().take(most).collect()
                }
                'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => field.float(f64::from_bits(take(self, warp, 8)?)),
                'p' => format!("{:#x}", take(self, warp, 8)?),
                'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' => {
                    let value = take(self, warp, if field.long { 8 } else { 4 })?;
                    field.integer(value)
                }
                _ => continue,
            };
            count += 1;
            field.pad(&shown, &mut out);
        }
        out.push_str(rest);
        self.context.memory.print(&out);
        Ok(count)
    }
}

/// `%-08.3lld`
#[derive(Debug, Default)]
struct Field {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    star_width: bool,
    star_precision: bool,
    /// 64 bits.
    long: bool,
    /// Number of bytes that count of a shorter integer.
    short: u32,
    kind: char,
}

impl Field {
    /// The field that follows a `%`, and its length.
    fn read(text: &str) -> (Field, usize) {
        let mut field = Field::default();
        let mut characters = text.char_indices().peekable();
        let number = |characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
            let mut value = 0usize;
            while let Some((_, digit)) = characters.next_if(|(_, next)| next.is_ascii_digit()) {
                value = (value * 10 + digit.to_digit(10).unwrap_or(0) as usize).min(LONGEST);
            }
            value
        };
        while let Some((_, flag)) = characters.next_if(|(_, next)| "-+ #0".contains(*next)) {
            match flag {
                '-' => field.left = true,
                '+' => field.plus = true,
                ' ' => field.space = true,
                '#' => field.alternate = true,
                _ => field.zeros = true,
            }
        }
        field.star_width = characters.next_if(|(_, next)| *next == '*').is_some();
        field.width = number(&mut characters);
        if characters.next_if(|(_, next)| *next == '.').is_some() {
            field.star_precision = characters.next_if(|(_, next)| *next == '*').is_some();
            field.precision = Some(number(&mut characters));
        }
        while let Some((_, size)) = characters.next_if(|(_, next)| "hlLqjzt".contains(*next)) {
            if size == 'h' {
                field.short += 1;
            } else {
                field.long = true;
            }
        }
        match characters.next() {
            Some((at, kind)) => {
                field.kind = kind;
                (field, at + kind.len_utf8())
            }
            None => (field, text.len()),
        }
    }

    fn integer(&self, value: u64) -> String {
        let bits = match (self.long, self.short) {
            (true, _) => 64,
            (false, 0) => 32,
            (false, 1) => 16,
            _ => 8,
        };
        let unused = 64 - bits;
        let unsigned = value << unused >> unused;
        let signed = (value << unused).cast_signed() >> unused;
        let (sign, digits) = match self.kind {
            'c' => return char::from(value as u8).to_string(),
            'x' => (if self.alternate && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
            'X' => (if self.alternate && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
            'o' => (if self.alternate && unsigned != 0 { "0" } else { "" }, format!("{unsigned:o}")),
            'u' => ("", unsigned.to_string()),
            _ => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
        };
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        format!("{sign}{}{digits}", "0".repeat(zeros))
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let upper = self.kind.is_ascii_uppercase();
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            let precision = self.precision.unwrap_or(6);
            match self.kind.to_ascii_lowercase() {
                'e' => scientific(magnitude, precision),
                'g' => self.general(magnitude, precision.max(1)),
                'a' => hexadecimal(magnitude),
                _ => format!("{magnitude:.precision$}"),
            }
        };
        let digits = if upper { digits.to_uppercase() } else { digits };
        format!("{sign}{digits}")
    }

    /// `%g`: the shorter of the two forms, without zeros at the end.
    fn general(&self, magnitude: f64, precision: usize) -> String {
        let shown = scientific(magnitude, precision - 1);
        let exponent: i32 = shown.split('e').nth(1).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let trim = |text: &str| {
            let cut = text.contains('.') && !self.alternate;
            if cut { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
        };
        if exponent < -4 || exponent >= precision as i32 {
            let (digits, power) = shown.split_once('e').unwrap_or((&shown, "+00"));
            return format!("{}e{power}", trim(digits));
        }
        let places = (precision as i32 - 1 - exponent).max(0) as usize;
        trim(&format!("{magnitude:.places$}"))
    }

    fn pad(&self, shown: &str, out: &mut String) {
        let missing = self.width.min(LONGEST).saturating_sub(shown.chars().count());
        let numeric = !matches!(self.kind, 's' | 'c' | 'p');
        if self.left {
            out.push_str(shown);
            out.push_str(&" ".repeat(missing));
        } else if self.zeros && numeric && shown.bytes().any(|byte| byte.is_ascii_digit()) {
            let digits = shown.find(|character: char| character.is_ascii_hexdigit()).unwrap_or(0);
            let start = if shown[digits..].starts_with("0x") || shown[digits..].starts_with("0X") {
                digits + 2
            } else {
                digits
            };
            out.push_str(&shown[..start]);
            out.push_str(&"0".repeat(missing));
            out.push_str(&shown[start..]);
        } else {
            out.push_str(&" ".repeat(missing));
            out.push_str(shown);
        }
    }
}

/// With an exponent of two digits at least, as C has it.
fn scientific(magnitude: f64, precision: usize) -> String {
    let shown = format!("{magnitude:.precision$e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn hexadecimal(magnitude: f64) -> String {
    let bits = magnitude.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if bits == 0 {
        return "0x0p+0".to_owned();
    }
    let (lead, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, value: u64) -> String {
        let (field, length) = Field::read(&format[1..]);
        assert_eq!(length, format.len() - 1);
        let text =
            if "efgaEFGA".contains(field.kind) { field.float(f64::from_bits(value)) } else { field.integer(value) };
        let mut out = String::new();
        field.pad(&text, &mut out);
        out
    }

    #[test]
    fn integers_are_printed_as_c_prints_them() {
        let minus = u64::from((-5i32).cast_unsigned());
        assert_eq!(shown("%d", minus), "-5");
        assert_eq!(shown("%5d|".trim_end_matches('|'), minus), "   -5");
        assert_eq!(shown("%-5d", minus), "-5   ");
        assert_eq!(shown("%05d", minus), "-0005");
        assert_eq!(shown("%+d", 7), "+7");
        assert_eq!(shown("%u", minus), "4294967291");
        assert_eq!(shown("%lld", (-5i64).cast_unsigned()), "-5");
        assert_eq!(shown("%#x", 255), "0xff");
        assert_eq!(shown("%#08x", 255), "0x0000ff");
        assert_eq!(shown("%.3d", 7), "007");
        assert_eq!(shown("%hhd", 0x1ff), "-1");
        assert_eq!(shown("%c", 65), "A");
    }

    #[test]
    fn floats_are_printed_as_c_prints_them() {
        let bits = f64::to_bits;
        assert_eq!(shown("%f", bits(1.5)), "1.500000");
        assert_eq!(shown("%.2f", bits(-2.345)), "-2.35");
        assert_eq!(shown("%8.1f", bits(2.25)), "     2.2");
        assert_eq!(shown("%e", bits(12345.678)), "1.234568e+04");
        assert_eq!(shown("%g", bits(0.0001)), "0.0001");
        assert_eq!(shown("%g", bits(1e-5)), "1e-05");
        assert_eq!(shown("%g", bits(1_234_567.0)), "1.23457e+06");
        assert_eq!(shown("%a", bits(1.0)), "0x1p+0");
        assert_eq!(shown("%06.1f", bits(-1.0)), "-001.0");
        assert_eq!(shown("%f", bits(f64::INFINITY)), "inf");
    }
}
