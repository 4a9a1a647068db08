//! Versions of NCCL.

use std::fmt;

/// A version of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NcclVersion {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl NcclVersion {
    /// The oldest that is taken: since then a communicator can be brought to an end with all its ranks, and
    /// failures have words.
    pub const OLDEST: NcclVersion = NcclVersion { major: 2, minor: 14, patch: 0 };

    /// From the number that NCCL gives: 22803 is 2.28.3. Until 2.8 it had a digit less.
    #[must_use]
    pub(super) fn from_raw(raw: i32) -> NcclVersion {
        let raw = raw.max(0).unsigned_abs();
        let step = if raw < 10_000 { 1_000 } else { 10_000 };
        NcclVersion { major: raw / step, minor: raw % step / 100, patch: raw % 100 }
    }
}

impl fmt::Display for NcclVersion {
    /// `2.28.3`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_both_forms() {
        let texts = [(22_803, "2.28.3"), (2_804, "2.8.4"), (21_400, "2.14.0"), (0, "0.0.0"), (-1, "0.0.0")];
        for (raw, text) in texts {
            assert_eq!(NcclVersion::from_raw(raw).to_string(), text);
        }
        assert!(NcclVersion::from_raw(2_804) < NcclVersion::OLDEST);
    }
}
