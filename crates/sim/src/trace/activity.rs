//! Activities: kinds of ops, with the memory and the bytes that they touched.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::memory::Side;

/// A memory: the host's or a device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// The host's memory, page-locked or not.
    Host,
    /// A device's memory, by the device's ordinal.
    Device(u16),
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Host => formatter.write_str("host"),
            Memory::Device(ordinal) => write!(formatter, "device {ordinal}"),
        }
    }
}

/// As its text: `"host"`, `"device 0"`.
impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Side> for Memory {
    fn from(side: Side) -> Self {
        match side {
            Side::Host => Memory::Host,
            Side::Device(ordinal) => Memory::Device(ordinal),
        }
    }
}

/// The kind of op that a [`Span`](super::Span) shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activity {
    /// Bytes went from one place to another.
    Copy {
        /// The memory that they were in.
        from: Memory,
        /// The memory that they were copied to.
        to: Memory,
        /// Number of bytes.
        bytes: u64,
    },
    /// A value was repeated over memory.
    Fill {
        /// The memory that was filled.
        to: Memory,
        /// Number of bytes of it.
        bytes: u64,
    },
    /// Managed pages were asked to be elsewhere.
    Prefetch {
        /// The memory that they are in now.
        to: Memory,
        /// Bytes that were not there before.
        bytes: u64,
    },
    /// The contents of managed pages were discarded.
    Discard {
        /// Number of bytes.
        bytes: u64,
        /// The memory that the pages were prefetched to by the same op.
        to: Option<Memory>,
    },
    /// A word was written by a stream memory operation.
    WriteValue,
    /// A stream waited for a word to have a value.
    WaitValue,
    /// A function of the program's ran.
    HostFunction,
    /// An event was recorded.
    Record {
        /// The event's handle.
        event: u64,
        /// The serial number of the record among the event's, counted from 1.
        serial: u64,
    },
    /// A stream was held up by an event.
    Wait {
        /// The event's handle.
        event: u64,
        /// The serial number of the record that it waited for.
        serial: u64,
    },
    /// A graph was launched; the ops of its nodes lie inside.
    Graph {
        /// The number of the executable graph, which `cuGraphExecGetId` shows.
        executable: u32,
        /// Number of nodes with work.
        nodes: u32,
    },
    /// A kernel ran.
    Kernel {
        /// Its index among [`Timeline::kernels`](super::Timeline::kernels).
        kernel: u32,
        /// The index of its launch shape among [`Timeline::shapes`](super::Timeline::shapes).
        shape: u32,
    },
    /// Other work of a device.
    Task,
}

impl Activity {
    /// Bytes copied, filled, prefetched or discarded.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Activity::Copy { bytes, .. }
            | Activity::Fill { bytes, .. }
            | Activity::Prefetch { bytes, .. }
            | Activity::Discard { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Activity::Copy { from, to, bytes } => write!(formatter, "copy {bytes} B {from}→{to}"),
            Activity::Fill { to, bytes } => write!(formatter, "fill {bytes} B {to}"),
            Activity::Prefetch { to, bytes } => write!(formatter, "prefetch {bytes} B →{to}"),
            Activity::Discard { bytes, to: None } => write!(formatter, "discard {bytes} B"),
            Activity::Discard { bytes, to: Some(to) } => write!(formatter, "discard {bytes} B, prefetch →{to}"),
            Activity::WriteValue => formatter.write_str("write value"),
            Activity::WaitValue => formatter.write_str("wait for value"),
            Activity::HostFunction => formatter.write_str("host function"),
            Activity::Record { event, .. } => write!(formatter, "record event {event:#x}"),
            Activity::Wait { event, .. } => write!(formatter, "wait for event {event:#x}"),
            Activity::Graph { executable, nodes } => write!(formatter, "graph {executable}, {nodes} nodes"),
            Activity::Kernel { kernel, .. } => write!(formatter, "kernel {kernel}"),
            Activity::Task => formatter.write_str("task"),
        }
    }
}
