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

/// A number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
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
    fn one_is_not_plural() {
        assert_eq!((count(1, "device"), count(0, "device")), ("1 device".to_owned(), "0 devices".to_owned()));
        assert_eq!(bandwidth(450_000_000_000), "450 GB/s");
    }
}
