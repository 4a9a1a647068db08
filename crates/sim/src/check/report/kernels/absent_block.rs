//! Accesses to shared memory of a block of the cluster that may not have started, or may have ended.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::thread::{ThreadInfo, Where, times};

/// Shared memory of a block of a cluster that another accesses, and nothing makes sure that the block is
/// there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AbsentBlock {
    /// The kernel.
    pub kernel: String,
    /// The thread that accesses it.
    pub visitor: ThreadInfo,
    /// The block that it belongs to, in the grid.
    pub block: [u32; 3],
    /// The time at which the block may be absent.
    pub when: Absence,
    /// Number of such accesses by the instruction in the launch.
    pub times: u64,
}

/// The time at which a block may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Absence {
    /// It may not have started.
    NotStarted,
    /// It may have ended.
    Ended,
}

impl Display for AbsentBlock {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, visitor, block, when, .. } = self;
        let (order, missing) = match when {
            Absence::NotStarted => ("behind the start", "before the first access to another block's shared memory"),
            Absence::Ended => ("before the end", "behind the last access to another block's shared memory"),
        };
        write!(
            formatter,
            "`{kernel}`: {visitor} accesses the shared memory of block {block:?} of its cluster, and nothing orders that {order} of \
             that block\n  in {}\n  missing: put cluster.sync() {missing}, which all threads of the cluster reach",
            Where(visitor)
        )?;
        times(formatter, self.times)
    }
}
