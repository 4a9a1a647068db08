//! Records of runs on a simulated machine: data that one process leaves behind, and that `warploom-page`
//! makes a page of.
//!
//! A [`Record`] is one process's: its ops in virtual time, its driver calls in real time, kernels, memory in
//! use, traffic of links, and findings. Ops and calls are columns and not a list of objects, so that a
//! hundred thousand of each take a few megabytes of JSON.
//!
//! ```
//! use warploom_record::{Op, OpKind, Record, Stream};
//!
//! let mut record = Record::default();
//! record.process.id = 4711;
//! record.machine.name = "h200".to_owned();
//! record.streams.push(Stream { device: 0, id: 7 });
//! record.ops.push(Op { kind: OpKind::Fill, start_ns: 1_500, time_ns: 2_000, stream: 0, call: 3, subject: 0, amount: 4096 });
//! record.ways.push(warploom_record::Way { from: None, to: warploom_record::End::Device(0) });
//!
//! let json = record.to_json()?;
//! assert_eq!(Record::from_json(&json)?, record);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Processes write their records into one folder ([`Record::write_into`]), and [`read_folder`] collects them.

mod calls;
mod check;
mod delta;
mod file;
mod finding;
mod kernel;
mod machine;
mod memory;
mod ops;
pub mod variables;

use serde::{Deserialize, Serialize};

pub use calls::{Call, Calls};
pub use file::{EXTENSION, RecordError, read_folder};
pub use finding::{Finding, Frame, Site, Source, SourceLine};
pub use kernel::{KernelCount, KernelWork, LaunchShape};
pub use machine::{Device, End, Link, Machine, Moved, Way};
pub use memory::{MemoryKind, MemorySeries};
pub use ops::{Op, OpKind, Ops};

/// The version of the format. A record of another version is refused.
pub const VERSION: u32 = 1;

/// A run of one process on a simulated machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format, [`VERSION`].
    pub version: u32,
    /// The process.
    pub process: Process,
    /// The machine that it ran on.
    pub machine: Machine,
    /// The streams that ops name by their index.
    pub streams: Vec<Stream>,
    /// The ops, in the order of their starts.
    pub ops: Ops,
    /// Sources and destinations that copies, fills and prefetches name by their index.
    pub ways: Vec<Way>,
    /// The kernels that ops name by their index.
    pub kernels: Vec<KernelCount>,
    /// The launch shapes that ops name by their index.
    pub shapes: Vec<LaunchShape>,
    /// The driver calls, in the order of their starts.
    pub calls: Calls,
    /// Counts of calls by function, complete even where the calls themselves were dropped.
    pub functions: Vec<FunctionCount>,
    /// Memory in use over time.
    pub memory: Vec<MemorySeries>,
    /// The machine's links with the bytes that went over them.
    pub links: Vec<Link>,
    /// Bytes copied, prefetched and filled, by source and destination.
    pub moved: Vec<Moved>,
    /// Findings of the checks.
    pub findings: Vec<Finding>,
    /// Reasons of refused calls, the newest last.
    pub refused: Vec<String>,
    /// Events and findings that were not kept.
    pub dropped: Dropped,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Its command line.
    pub command: Vec<String>,
}

/// A stream that ops are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// The ordinal of its device.
    pub device: u16,
    /// The number that `cuStreamGetId` shows.
    pub id: u64,
}

/// Number of calls of a driver function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCount {
    /// The function.
    pub name: String,
    /// Its calls, failed ones included.
    pub calls: u64,
    /// Failed calls, by the name of their code.
    pub failed: Vec<(String, u64)>,
}

/// Events and findings beyond those that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Ops and calls.
    pub events: u64,
    /// Findings.
    pub findings: u64,
}

impl Default for Record {
    /// A record of nothing, in the current version.
    fn default() -> Self {
        Self {
            version: VERSION,
            process: Process::default(),
            machine: Machine::default(),
            streams: Vec::new(),
            ops: Ops::default(),
            ways: Vec::new(),
            kernels: Vec::new(),
            shapes: Vec::new(),
            calls: Calls::default(),
            functions: Vec::new(),
            memory: Vec::new(),
            links: Vec::new(),
            moved: Vec::new(),
            findings: Vec::new(),
            refused: Vec::new(),
            dropped: Dropped::default(),
        }
    }
}
