//! Versions of NVRTC.

use std::fmt;

use warploom_driver::DriverVersion;

/// A version of NVRTC, which is that of the CUDA it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NvrtcVersion {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
}

impl NvrtcVersion {
    /// The oldest that is taken: the first to give LTO-IR, and as old as the oldest driver.
    pub const OLDEST: NvrtcVersion = NvrtcVersion { major: 12, minor: 0 };

    pub(super) fn from_raw(major: i32, minor: i32) -> NvrtcVersion {
        NvrtcVersion { major: major.max(0).unsigned_abs(), minor: minor.max(0).unsigned_abs() }
    }

    /// `true` if it is newer than a driver, which then may not know the PTX that it writes. A cubin has no
    /// such limit within one major version.
    ///
    /// ```
    /// use warploom::DriverVersion;
    /// use warploom::program::NvrtcVersion;
    ///
    /// let nvrtc = NvrtcVersion { major: 13, minor: 4 };
    /// assert!(nvrtc.is_newer_than(DriverVersion::from_raw(13_000)));
    /// assert!(!nvrtc.is_newer_than(DriverVersion::from_raw(13_040)));
    /// ```
    #[must_use]
    pub fn is_newer_than(self, driver: DriverVersion) -> bool {
        (i64::from(self.major), i64::from(self.minor)) > (i64::from(driver.major()), i64::from(driver.minor()))
    }
}

impl fmt::Display for NvrtcVersion {
    /// `13.4`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}
