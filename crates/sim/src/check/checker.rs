//! The checker of a machine: its findings, and the kernels that have not ended.

use std::sync::Arc;

use warploom_engine::Timelines;

use super::pending_kernels::PendingKernels;
use super::processes::Processes;
use super::report::Findings;
use crate::memory::{Registry, VirtualMemory};

/// The state of a machine's checks.
pub(crate) struct Checker {
    pub(super) findings: Arc<Findings>,
    pub(super) pending: PendingKernels,
}

/// The parts of a machine that checks compare an access with.
pub(crate) struct Parts<'a> {
    pub(crate) memory: &'a mut Registry,
    pub(crate) virtual_memory: &'a mut VirtualMemory,
    pub(crate) timelines: &'a mut Timelines,
    pub(crate) processes: &'a mut Processes,
}

impl Checker {
    pub(crate) fn new(findings: Arc<Findings>) -> Self {
        Self { findings, pending: PendingKernels::default() }
    }

    /// `true` if the machine checks at all.
    pub(crate) fn is_on(&self) -> bool {
        self.findings.is_on()
    }

    pub(crate) fn findings(&self) -> &Findings {
        &self.findings
    }
}
