//! Running out of memory early.

use crate::ffi::status::{OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::Side;
use crate::process::thread::{self, ThreadKey};

/// A limit on the bytes that are allocated at once: an allocation beyond it answers `CUDA_ERROR_OUT_OF_MEMORY`, and what is
/// freed can be allocated again.
///
/// It counts bytes as they were asked for, of everything that lives, whoever allocated it and when: plain, pitched, managed
/// and pool memory, and physical allocations. What contexts take for themselves is not counted, nor what a pool holds
/// without an allocation, nor memory that is only registered.
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
    /// The device it is about.
    pub(super) fn device(&self) -> Option<u32> {
        if let Budget::Device { device, .. } = self { Some(*device) } else { None }
    }

    fn bytes(self) -> u64 {
        match self {
            Budget::Device { bytes, .. } | Budget::Host { bytes } | Budget::All { bytes } => bytes,
        }
    }

    fn covers(self, side: Side) -> bool {
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

/// A budget that is in force.
pub(crate) struct Allowance {
    /// Whose it is.
    pub(super) plan: u64,
    pub(super) thread: Option<ThreadKey>,
    pub(super) budget: Budget,
}

impl World {
    /// Refuses an allocation that is beyond a budget.
    pub(crate) fn afford(&self, call: &Call<'_>, side: Side, bytes: u64) -> Status {
        let mine = |allowance: &&Allowance| allowance.thread.is_none_or(|thread| thread == thread::key());
        for Allowance { plan, budget, .. } in self.allowances.iter().filter(mine) {
            if !budget.covers(side) {
                continue;
            }
            let held: u64 = self.held_bytes().filter(|(side, _)| budget.covers(*side)).map(|(_, bytes)| bytes).sum();
            if held.saturating_add(bytes) > budget.bytes() {
                let reason = format!("the budget is {budget}; {held} are allocated, and {bytes} more do not fit");
                call.core().faults.over_budget(*plan, call.function());
                return Err(call.injected(OUT_OF_MEMORY, reason));
            }
        }
        Ok(())
    }

    /// Bytes that are allocated, by where they are.
    fn held_bytes(&self) -> impl Iterator<Item = (Side, u64)> {
        let physical = self.physical.iter().map(|(_, physical)| (physical.side, physical.size));
        self.memory.held().chain(physical)
    }
}
