//! Results of the tour.

use serde::Serialize;
use warploom::leaks::Total;
use warploom_sim::Finding;

use super::{DevicesReport, DriverReport};

#[derive(Debug, Serialize)]
pub(crate) struct Tour {
    pub(crate) driver: DriverReport,
    pub(crate) steps: Vec<Step>,
    /// Calls of this driver; those of other machines a step started are not among them.
    pub(crate) driver_calls: u64,
    /// `true` if every step came to its end and every check held.
    pub(crate) passed: bool,
}

impl Tour {
    /// The graph of the tour as DOT text.
    pub(crate) fn dot(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| match &step.findings {
            Some(Findings::Graphs { dot, .. }) => Some(dot.as_str()),
            _ => None,
        })
    }
}

/// One thing the library does.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) findings: Option<Findings>,
    pub(crate) checks: Vec<Check>,
    /// The error that ended the step early.
    pub(crate) error: Option<String>,
}

impl Step {
    pub(crate) fn passed(&self) -> bool {
        self.error.is_none() && self.checks.iter().all(|check| check.held)
    }
}

/// A claim that was compared with what really came out.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) claim: &'static str,
    pub(crate) held: bool,
}

impl Check {
    pub(crate) fn new(claim: &'static str, held: bool) -> Self {
        Self { claim, held }
    }
}

/// Number of live objects of one kind on a device.
#[derive(Debug, Serialize)]
pub(crate) struct Alive {
    pub(crate) what: String,
    /// `None` for what belongs to no device.
    pub(crate) device: Option<u32>,
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

impl Alive {
    pub(crate) fn of(total: &Total) -> Self {
        Self { what: total.kind.to_string(), device: total.device, count: total.count, bytes: total.bytes }
    }
}

/// The rows that one device drew.
#[derive(Debug, Serialize)]
pub(crate) struct Band {
    pub(crate) device: u32,
    pub(crate) rows: Vec<String>,
}

/// A launch of a graph that counts the steps of a sequence until it reaches 1.
#[derive(Debug, Serialize)]
pub(crate) struct Launch {
    pub(crate) start: u32,
    pub(crate) steps: u32,
}

/// The findings of a step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Findings {
    Devices(DevicesReport),
    RoundTrip {
        bytes: usize,
    },
    Ordering {
        bytes: usize,
        fill_ms: f32,
        total_ms: f32,
        /// `true` if the times are those of a simulated clock.
        virtual_time: bool,
    },
    Pool {
        rounds: u32,
        bytes_per_round: usize,
        reserved_bytes: u64,
        used_high_bytes: u64,
    },
    Copies {
        pinned_bytes: usize,
        /// Rows of that many bytes, that many of them, each that far behind the one before.
        width: usize,
        height: usize,
        pitch: usize,
        /// Number of copies in the batch, and of driver calls it took.
        batch: usize,
        batch_calls: u64,
    },
    /// A cache on a pool.
    Cache {
        /// Allocations from kept memory.
        hits: u64,
        /// Allocations that took memory from the pool.
        misses: u64,
        /// Driver calls of a hundred allocations and drops on one stream.
        driver_calls: u64,
        /// Bytes given back to the pool.
        released_bytes: u64,
    },
    /// Memory that other processes read.
    Processes {
        workers: usize,
        bytes: u64,
        /// The bytes that describe the memory to a worker.
        descriptor_bytes: usize,
    },
    Resources {
        limit_bytes: u64,
        live_bytes: u64,
        peak_bytes: u64,
        /// The answer to asking for too much, in words.
        message: String,
    },
    Lifetimes {
        /// The driver functions that dropping a buffer called.
        drop_calls: Vec<&'static str>,
        /// Resources that were live then, by kind.
        alive: Vec<Alive>,
    },
    Managed {
        buffers: usize,
        /// Of each.
        bytes: usize,
        /// The calls that moved all of them to the device.
        prefetch_calls: u64,
    },
    Journey {
        /// The devices that were given access to the pool of the first.
        granted: Vec<u32>,
        grant_calls: u64,
        /// Groups of devices between which there is no access at all.
        islands: usize,
        /// Ordered pairs of devices.
        pairs: usize,
        /// Those with access from one's context to the other's memory.
        enabled_pairs: usize,
        bytes: usize,
        /// The devices, in the order of the visits.
        route: Vec<u32>,
        /// Number of direct copies.
        direct: usize,
    },
    Kernels {
        kernel: String,
        pixels: usize,
        /// The picture, from top to bottom.
        bands: Vec<Band>,
    },
    Graphs {
        /// Nodes of the graph that was built, of those that it runs, and of the captured one.
        nodes: usize,
        inner_nodes: usize,
        captured_nodes: usize,
        /// Driver calls of a launch.
        launch_calls: u64,
        /// The results of the launches.
        launches: Vec<Launch>,
        /// A picture, line by line.
        picture: Vec<String>,
        /// The graph as the driver writes it.
        dot: String,
    },
    Capture {
        nodes: usize,
        /// Of each of its buffers.
        bytes: usize,
    },
    Fault {
        asked_bytes: u64,
        message: String,
    },
    Orders {
        operations: usize,
        streams: usize,
        /// The orders the program ran in.
        orders: Vec<String>,
    },
    Races {
        /// The findings of a checking machine in the wrong program.
        findings: Vec<Finding>,
    },
    Barrier {
        /// The first findings of a checking machine in the wrong kernel.
        findings: Vec<Finding>,
    },
    WhatIf {
        /// Number of driver calls the program makes: each failed once.
        calls: u64,
        /// Number of these failures that the program was told of.
        errors: u64,
        /// The first of them, in words.
        first: String,
    },
}
