//! Amounts with their units.

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Bytes in the largest unit of which there is at least one.
pub(crate) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 { format!("{value} {}", UNITS[unit]) } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A bandwidth, in powers of 1000 as data sheets have it.
pub(crate) fn bandwidth(bytes_per_second: u64) -> String {
    format!("{} GB/s", bytes_per_second as f64 / 1e9)
}

/// A number of at most seven significant digits, without zeros at the end.
pub(crate) fn significant(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() || number == 0.0 {
        return number.to_string();
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{number:.6e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let before = size.log10().floor() as i32 + 1;
    let behind = usize::try_from(7 - before.max(0)).unwrap_or(0);
    let text = format!("{number:.behind$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = match noun {
        _ if number == 1 => "",
        noun if noun.ends_with("ss") || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let texts = [0, 1023, 1024, 1536, 85_899_345_920, 150_109_880_320].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "80 GiB", "139.8 GiB"]);
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
    }

    #[test]
    fn numbers_have_seven_digits() {
        let texts =
            [0.0, 1.0, 499.5, f64::from(0.1_f32), -1234.5678, 1e-9, 2.5e30, 9_999_999.0, 1.0 / 3.0].map(significant);
        assert_eq!(texts, ["0", "1", "499.5", "0.1", "-1234.568", "1e-9", "2.5e30", "9999999", "0.3333333"]);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(significant), ["NaN", "-inf"]);
    }

    #[test]
    fn one_is_not_plural() {
        assert_eq!((count(1, "device"), count(0, "device")), ("1 device".to_owned(), "0 devices".to_owned()));
        assert_eq!((count(2, "process"), count(2, "launch")), ("2 processes".to_owned(), "2 launches".to_owned()));
        assert_eq!(bandwidth(450_000_000_000), "450 GB/s");
    }
}
