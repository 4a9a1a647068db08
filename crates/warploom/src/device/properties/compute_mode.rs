//! The compute mode of a device: shared, exclusive or prohibited.

use std::fmt;

use warploom_driver::sys::types::CUcomputemode;

/// The compute mode: the processes that may make contexts on a device.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComputeMode {
    /// Every process.
    Default,
    /// No process.
    Prohibited,
    /// One process at a time.
    ExclusiveProcess,
    /// A mode that a newer driver invented.
    Unknown(i32),
}

impl ComputeMode {
    pub(super) fn from_raw(raw: i32) -> ComputeMode {
        match u32::try_from(raw).map(CUcomputemode) {
            Ok(CUcomputemode::CU_COMPUTEMODE_DEFAULT) => ComputeMode::Default,
            Ok(CUcomputemode::CU_COMPUTEMODE_PROHIBITED) => ComputeMode::Prohibited,
            Ok(CUcomputemode::CU_COMPUTEMODE_EXCLUSIVE_PROCESS) => ComputeMode::ExclusiveProcess,
            _ => ComputeMode::Unknown(raw),
        }
    }
}

impl fmt::Display for ComputeMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ComputeMode::Default => formatter.write_str("default"),
            ComputeMode::Prohibited => formatter.write_str("prohibited"),
            ComputeMode::ExclusiveProcess => formatter.write_str("exclusive process"),
            ComputeMode::Unknown(raw) => write!(formatter, "unknown mode {raw}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_mode_keeps_its_number() {
        let modes = [0, 1, 2, 3, -1].map(ComputeMode::from_raw);
        let expected = [
            ComputeMode::Default,
            ComputeMode::Unknown(1),
            ComputeMode::Prohibited,
            ComputeMode::ExclusiveProcess,
            ComputeMode::Unknown(-1),
        ];
        assert_eq!(modes, expected);
    }
}
