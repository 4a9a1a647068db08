//! Accesses to bytes that an asynchronous copy (`cp.async`, `cp.async.bulk`, `st.async`) is still copying.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use serde::Serialize;

use super::thread::{RacedMemory, ThreadAccess, ThreadInfo, Where, times, write_bytes};

/// A copy (`cp.async`, `cp.async.bulk`, `st.async`) without a wait, and the thread that touches its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnfinishedCopy {
    /// The kernel.
    pub kernel: String,
    /// The thread that asked for the copy.
    pub copier: ThreadInfo,
    /// The side of the copy that is touched.
    pub side: CopySide,
    /// The thread that touches it; the same one, perhaps.
    pub other: ThreadInfo,
    /// The access of that thread.
    pub access: ThreadAccess,
    /// The memory that both touch.
    pub memory: RacedMemory,
    /// The bytes of it that both use.
    pub bytes: Range<u64>,
    /// Number of conflicts between these two instructions in the launch.
    pub times: u64,
}

/// One of the two sides of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CopySide {
    /// The bytes that it reads; no thread may write them.
    Source,
    /// The bytes that it writes; no thread may touch them.
    Destination,
}

impl UnfinishedCopy {
    /// The wait that is missing.
    fn missing(&self) -> &'static str {
        let copies = |word| self.copier.instruction.split('.').any(|found| found == word);
        match self.side {
            _ if copies("mbarrier::complete_tx::bytes") => {
                "let every thread that touches these bytes wait for the mbarrier that counts them first \
                 (mbarrier.try_wait, cuda::barrier::wait), or put __syncthreads() behind such a wait"
            }
            CopySide::Source if copies("bulk_group") => {
                "let the thread that copies wait for its group first (cp.async.bulk.commit_group and \
                 cp.async.bulk.wait_group.read), and put __syncthreads() behind that if other threads write these bytes"
            }
            CopySide::Destination if copies("bulk_group") => {
                "let the thread that copies wait for its group first (cp.async.bulk.commit_group and \
                 cp.async.bulk.wait_group, without .read), and order other threads behind that"
            }
            _ => {
                "let the thread that copies wait for its copy first (cp.async.wait_group or cp.async.wait_all, \
                 __pipeline_wait_prior), and put __syncthreads() behind that if other threads touch these bytes"
            }
        }
    }
}

impl Display for UnfinishedCopy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, copier, side, other, access, memory, bytes, .. } = self;
        write!(formatter, "`{kernel}`: {other} {access} ")?;
        write_bytes(formatter, memory, bytes)?;
        let by = if copier.block == other.block && copier.thread == other.thread {
            "it has asked for itself".to_owned()
        } else {
            format!("{copier} has asked for")
        };
        let way = if *side == CopySide::Source { "from" } else { "to" };
        write!(
            formatter,
            ", {way} which a copy is under way that {by} and not waited for\n  copy: {}\n  other: {}\n  missing: {}",
            Where(copier),
            Where(other),
            self.missing()
        )?;
        times(formatter, self.times)
    }
}
