//! Driver versions from text or numbers.

use crate::error::TopologyError;
use crate::version::{NEWEST_DRIVER, OLDEST_DRIVER};

/// The number for a version in two parts, if a machine can have it.
pub(crate) fn number(major: i32, minor: i32) -> Result<i32, TopologyError> {
    let version = major.saturating_mul(1000).saturating_add(minor.saturating_mul(10));
    // A minor part above nine would be another major's number or a release that never was.
    if !(0..=9).contains(&minor) {
        return Err(TopologyError::DriverVersion { version });
    }
    check(version)
}

/// The same number, if a machine can have that version.
pub(crate) fn check(version: i32) -> Result<i32, TopologyError> {
    let well_formed = version % 10 == 0 && version % 1000 < 100;
    if well_formed && (OLDEST_DRIVER..=NEWEST_DRIVER).contains(&version) {
        Ok(version)
    } else {
        Err(TopologyError::DriverVersion { version })
    }
}

/// The number behind `"12.2"`.
pub fn parse(text: &str) -> Result<i32, TopologyError> {
    let part = |digits: &str| {
        let plain = !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<i32>().ok()).flatten()
    };
    let parts = text.split_once('.').and_then(|(major, minor)| Some((part(major)?, part(minor)?)));
    match parts {
        Some((major, minor)) => number(major, minor),
        None => Err(TopologyError::malformed("driver version", text, "expected major.minor such as \"12.2\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::format;

    #[test]
    fn versions_come_back_as_written() {
        for text in ["11.4", "11.8", "12.0", "12.9", "13.0", "13.4"] {
            assert_eq!(parse(text).map(format).as_deref(), Ok(text));
        }
    }

    #[test]
    fn versions_out_of_range_are_refused() {
        for version in [i32::MIN, -13000, 0, 11030, 12025, 12100, 13050, 20000, i32::MAX] {
            assert_eq!(check(version), Err(TopologyError::DriverVersion { version }));
        }
        assert!(number(12, -1).is_err());
        assert!(number(i32::MAX, i32::MAX).is_err());
        assert!(parse("12.10").is_err());
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "12", "12.", ".2", "12.2.1", "+12.2", "12. 2", "twelve", "99999999999.0"] {
            assert!(matches!(parse(text), Err(TopologyError::Malformed { .. })), "{text}");
        }
    }
}
