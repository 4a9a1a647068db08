//! Sizes and bandwidths as people write them: `"80 GiB"`, `"3.35 TB/s"`.

use super::error::TopologyError;

/// One kibibyte.
pub(super) const KIB: u64 = 1 << 10;
/// One mebibyte.
pub(super) const MIB: u64 = 1 << 20;
/// One gibibyte.
pub(super) const GIB: u64 = 1 << 30;
/// One tebibyte.
pub(super) const TIB: u64 = 1 << 40;
/// One decimal gigabyte, the unit links are sold by.
pub(super) const GB: u64 = 1_000_000_000;

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", GB),
    ("TB", 1_000_000_000_000),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", TIB),
];

/// More digits than this add nothing to a size and could overflow the arithmetic.
const MOST_DIGITS: usize = 18;

/// Bytes of a size.
pub(crate) fn parse_size(text: &str) -> Result<u64, TopologyError> {
    parse("size", text, "")
}

/// Bytes per second of a bandwidth.
pub(crate) fn parse_bandwidth(text: &str) -> Result<u64, TopologyError> {
    parse("bandwidth", text, "/s")
}

/// A number, a unit and a suffix. A fraction of a byte is dropped.
fn parse(what: &'static str, text: &str, suffix: &str) -> Result<u64, TopologyError> {
    let malformed = |reason: String| TopologyError::malformed(what, text, reason);
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim_start();

    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(malformed(format!("expected a number and a unit such as \"80 GiB{suffix}\"")));
    }
    let digits = [whole, fraction].concat();
    let (scale, digits): (usize, u128) = match digits.parse() {
        Ok(value) if digits.len() <= MOST_DIGITS => (fraction.len(), value),
        _ => return Err(malformed(format!("more than {MOST_DIGITS} digits"))),
    };
    let scale = (0..scale).fold(1_u128, |scale, _| scale.saturating_mul(10));

    let known = |symbol: &str| UNITS.iter().find(|(name, _)| *name == symbol).map(|(_, bytes)| *bytes);
    let bytes = unit.strip_suffix(suffix).and_then(known).ok_or_else(|| {
        let units: Vec<String> = UNITS.iter().map(|(name, _)| format!("{name}{suffix}")).collect();
        match unit {
            "" => malformed(format!("the unit is missing, expected one of {}", units.join(", "))),
            _ => malformed(format!("unknown unit {unit:?}, expected one of {}", units.join(", "))),
        }
    })?;
    let value = digits.saturating_mul(bytes.into()).checked_div(scale).unwrap_or(u128::MAX);
    u64::try_from(value).map_err(|_| malformed(format!("more than {} bytes{suffix}", u64::MAX)))
}

/// A size as a TOML value that reads back as the same number.
pub(super) fn format_size(bytes: u64) -> String {
    format(bytes, &["TiB", "GiB", "MiB", "KiB"], "")
}

/// A bandwidth as a TOML value that reads back as the same number.
pub(super) fn format_bandwidth(bytes: u64) -> String {
    format(bytes, &["GB", "MB"], "/s")
}

/// The first unit that divides the number exactly, else the bare number.
fn format(bytes: u64, preferred: &[&str], suffix: &str) -> String {
    for name in preferred {
        let unit = UNITS.iter().find(|(unit, _)| unit == name).map(|(_, unit)| *unit);
        if let Some(unit) = unit
            && bytes != 0
            && bytes.is_multiple_of(unit)
        {
            return format!("\"{} {name}{suffix}\"", bytes.checked_div(unit).unwrap_or(bytes));
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_size("80 GiB"), Ok(80 * GIB));
        assert_eq!(parse_size("80GiB"), Ok(80 * GIB));
        assert_eq!(parse_size(" 1.5 KiB "), Ok(1536));
        assert_eq!(parse_size("0 B"), Ok(0));
        assert_eq!(parse_size("2 MB"), Ok(2_000_000));
        assert_eq!(parse_bandwidth("3.35 TB/s"), Ok(3_350_000_000_000));
        assert_eq!(parse_bandwidth("450 GB/s"), Ok(450 * GB));
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        let refused = |text| parse_size(text).map_err(|error| error.to_string());
        let units = "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB";
        assert_eq!(
            refused("80 GBB"),
            Err(format!("size \"80 GBB\" is not valid: unknown unit \"GBB\", expected one of {units}"))
        );
        assert_eq!(
            refused("80"),
            Err(format!("size \"80\" is not valid: the unit is missing, expected one of {units}"))
        );
        for text in ["", "GiB", "-1 GiB", "1..5 GiB", "1. GiB", ".5 GiB", "1e3 GiB", "1 gib", "1 GiB/s", "é"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for text in ["9999999999999999999 B", "999999999999999999 TiB", "1.0000000000000000000000 B"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_bandwidth("1 GiB").is_err());
    }

    #[test]
    fn written_quantities_read_back() {
        for bytes in [1, 1023, 1024, 80 * GIB, 80 * GIB + 1, TIB] {
            let text = format_size(bytes);
            let read = if text.starts_with('"') { parse_size(text.trim_matches('"')).ok() } else { text.parse().ok() };
            assert_eq!(read, Some(bytes), "{text}");
        }
        assert_eq!(format_bandwidth(450 * GB), "\"450 GB/s\"");
        assert_eq!(format_bandwidth(1_500_000), "1500000");
    }
}
