//! What an executor has to do.

use std::collections::VecDeque;

use super::OpId;

/// Ops that one executor will run: one for each device and one for its host functions, or one for everything.
#[derive(Default)]
pub(super) struct Lane {
    /// In order of readiness.
    pub(super) ready: VecDeque<OpId>,
    /// Waiting for memory to change.
    pub(super) parked: Vec<OpId>,
}
