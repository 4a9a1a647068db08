//! Memory in use over time.

use serde::{Deserialize, Serialize};

use crate::delta;

/// The memory that a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// All memory of a device that is not free.
    Device,
    /// Bytes of a pool that are allocated.
    PoolUsed,
    /// Bytes that a pool holds, allocated or kept for later.
    PoolReserved,
}

/// Memory in use over virtual time.
///
/// Many changes within a short time are one sample: the largest number of bytes among them, and the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySeries {
    /// The memory in words, such as `device 0` or `default pool of device 0`.
    pub name: String,
    /// The memory.
    pub kind: MemoryKind,
    /// The ordinal of its device; none for memory of the host.
    pub device: Option<u16>,
    /// The most bytes it can have; 0 if there is no such limit.
    pub capacity: u64,
    /// The time of each sample, in nanoseconds of virtual time.
    #[serde(with = "delta")]
    pub time_ns: Vec<u64>,
    /// The most bytes in use around the sample.
    pub peak: Vec<u64>,
    /// The bytes in use from then until the next sample.
    pub last: Vec<u64>,
}
