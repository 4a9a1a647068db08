//! Lanes: the ready and parked ops of one executor.

use std::collections::VecDeque;

use crate::id::OpId;

/// Ops that one executor will run.
#[derive(Default)]
pub(crate) struct Lane {
    /// In order of readiness.
    pub(crate) ready: VecDeque<OpId>,
    /// Started and not ended, parked or ready again; in no order.
    pub(crate) running: Vec<OpId>,
    /// Waiting for memory to change.
    pub(crate) parked: Vec<OpId>,
}
