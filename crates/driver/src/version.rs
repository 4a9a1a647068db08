//! Driver versions, such as 12.2, which is 12020 in C.

use std::fmt;

/// The CUDA version a driver implements, such as 12.2.
///
/// Versions compare as expected: 12.2 is less than 12.10, and both are less than 13.0.
///
/// ```
/// use warploom_driver::DriverVersion;
///
/// let version = DriverVersion::from_raw(12020);
/// assert_eq!(version, DriverVersion::new(12, 2));
/// assert_eq!(version.to_string(), "12.2");
/// assert!(version < DriverVersion::new(13, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(i32);

impl DriverVersion {
    /// The version `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u8) -> DriverVersion {
        DriverVersion(major as i32 * 1000 + minor as i32 * 10)
    }

    /// The version in C's form, in which 12.2 is 12020.
    #[must_use]
    pub const fn from_raw(raw: i32) -> DriverVersion {
        DriverVersion(raw)
    }

    /// C's form: 12.2 gives 12020.
    #[must_use]
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    /// 12 of 12.2.
    #[must_use]
    pub const fn major(self) -> i32 {
        self.0 / 1000
    }

    /// 2 of 12.2.
    #[must_use]
    pub const fn minor(self) -> i32 {
        self.0 % 1000 / 10
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major(), self.minor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_version_are_those_of_the_c_number() {
        let version = DriverVersion::from_raw(12100);
        assert_eq!((version.major(), version.minor(), version.as_raw()), (12, 10, 12100));
        assert_eq!(version.to_string(), "12.10");
        assert_eq!(version, DriverVersion::new(12, 10));
        assert!(DriverVersion::new(12, 2) < version && version < DriverVersion::new(13, 0));
    }
}
