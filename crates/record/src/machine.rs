//! The machine of a run: its devices, and its links with their traffic.

use serde::{Deserialize, Serialize};

/// A simulated machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name, such as that of a preset; empty if it has none.
    pub name: String,
    /// The version of its driver, such as 13000.
    pub driver_version: i32,
    /// The order of work: `threads`, `eager`, `lazy`, `sync` or `seeded:7`.
    pub mode: String,
    /// Its devices, in the order of their ordinals.
    pub devices: Vec<Device>,
}

/// A device of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its memory, in bytes.
    pub memory: u64,
    /// The NUMA node that it is attached to.
    pub numa_node: u32,
}

/// An end of a link, or a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The host and its memory.
    Host,
    /// The switch between devices.
    Switch,
    /// A device and its memory, by its ordinal.
    Device(u16),
}

/// One direction of a link, and the bytes that copies sent over it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The end that bytes come from.
    pub from: End,
    /// The end that bytes go to; the same for a device's own memory.
    pub to: End,
    /// Its technology: `pcie`, `c2c`, `nvlink`, `nvswitch` or `memory`.
    pub kind: String,
    /// Bytes per second.
    pub bandwidth: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Virtual time during which it was busy, in nanoseconds.
    pub busy_ns: u64,
}

/// The source and destination of a copy, a fill or a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Way {
    /// The source; a fill has none.
    pub from: Option<End>,
    /// The destination.
    pub to: End,
}

/// Bytes copied from one memory to another, or filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The source; a fill has none.
    pub from: Option<End>,
    /// The destination.
    pub to: End,
    /// Number of copies or fills.
    pub operations: u64,
    /// Number of bytes.
    pub bytes: u64,
}
