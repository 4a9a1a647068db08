//! Peer access between devices.

use serde::Serialize;

use super::DriverReport;

#[derive(Debug, Serialize)]
pub(crate) struct TopologyReport {
    pub(crate) driver: DriverReport,
    /// Devices joined by access in any direction.
    pub(crate) islands: Vec<Vec<u32>>,
    /// Devices joined by access in both.
    pub(crate) mutual_islands: Vec<Vec<u32>>,
    /// Every ordered pair.
    pub(crate) pairs: Vec<PairReport>,
}

/// An ordered pair of devices.
#[derive(Debug, Serialize)]
pub(crate) struct PairReport {
    pub(crate) accessor: u32,
    pub(crate) owner: u32,
    pub(crate) can_access: Option<bool>,
    /// The error of the query, if it failed.
    pub(crate) error: Option<String>,
    pub(crate) performance_rank: Option<i32>,
    pub(crate) atomics: Option<&'static str>,
    pub(crate) array_access: Option<bool>,
}
