//! Memory budgets of a plan.

use crate::memory::Side;

/// A limit on the bytes that are allocated at once: an allocation beyond it answers
/// `CUDA_ERROR_OUT_OF_MEMORY`, and freed bytes can be allocated again.
///
/// It counts requested bytes of every live allocation, of all threads, made before or after the plan: plain,
/// pitched, managed and pool memory, and physical allocations. Memory that contexts take for themselves is
/// not counted, nor memory that a pool holds without an allocation, nor registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// Memory of one device; managed memory belongs to the device it was allocated for.
    Device {
        /// The device.
        device: u32,
        /// The limit.
        bytes: u64,
    },
    /// Page-locked memory, and pools and physical allocations of the host.
    Host {
        /// The limit.
        bytes: u64,
    },
    /// All of it together.
    All {
        /// The limit.
        bytes: u64,
    },
}

impl Budget {
    /// The device whose memory it limits.
    pub(super) fn device(&self) -> Option<u32> {
        if let Budget::Device { device, .. } = self { Some(*device) } else { None }
    }

    /// The limit.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Budget::Device { bytes, .. } | Budget::Host { bytes } | Budget::All { bytes } => bytes,
        }
    }

    /// `true` if it limits memory on this side.
    pub(crate) fn covers(self, side: Side) -> bool {
        match (self, side) {
            (Budget::All { .. }, _) | (Budget::Host { .. }, Side::Host) => true,
            (Budget::Device { device, .. }, Side::Device(other)) => device == u32::from(other),
            _ => false,
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.bytes();
        match self {
            Budget::Device { device, .. } => write!(formatter, "{bytes} bytes on device {device}"),
            Budget::Host { .. } => write!(formatter, "{bytes} bytes of host memory"),
            Budget::All { .. } => write!(formatter, "{bytes} bytes of all memory"),
        }
    }
}
