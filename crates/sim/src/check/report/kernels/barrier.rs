//! Barriers that the threads of a block do not reach together.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::thread::{ThreadInfo, Where, times};

/// A barrier that not all come to in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BarrierDivergence {
    /// The kernel.
    pub kernel: String,
    /// The barrier's number; `__syncthreads` has 0.
    pub barrier: u32,
    /// A thread that waits at it.
    pub waits: ThreadInfo,
    /// Number of threads that have.
    pub waiting: u32,
    /// A thread that does not.
    pub other: ThreadInfo,
    /// The state of that thread.
    pub did: Instead,
    /// Number of occurrences in the launch.
    pub times: u64,
}

/// The state of a thread that does not reach a barrier as others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "instead", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Instead {
    /// It has ended.
    Ended {
        /// Number of threads that have.
        threads: u32,
    },
    /// It waits at another barrier.
    WaitsAt {
        /// The other barrier.
        barrier: u32,
        /// Number of threads that wait there.
        threads: u32,
    },
    /// It is of the same warp, and came by another instruction.
    OtherInstruction,
    /// It expects another number of threads; 0 is all.
    OtherCount {
        /// The number that it expects.
        expects: u32,
        /// The number that the first expects.
        first: u32,
    },
}

impl Display for BarrierDivergence {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, barrier, waits, waiting, other, did, .. } = self;
        write!(formatter, "`{kernel}`: {waits} waits at barrier {barrier} ({waiting} threads do), and ")?;
        let all = |count: u32| if count == 0 { "all".to_owned() } else { count.to_string() };
        match did {
            Instead::Ended { threads } => {
                write!(formatter, "thread {:?} has ended ({threads} threads have)", other.thread)
            }
            Instead::WaitsAt { barrier, threads } => {
                write!(formatter, "thread {:?} waits at barrier {barrier} ({threads} threads do)", other.thread)
            }
            Instead::OtherInstruction => {
                write!(formatter, "thread {:?} of the same warp came to it by another instruction", other.thread)
            }
            Instead::OtherCount { expects, first } => write!(
                formatter,
                "thread {:?} expects {} threads there where the first expects {}",
                other.thread,
                all(*expects),
                all(*first)
            ),
        }?;
        write!(
            formatter,
            "\n  waits: {}\n  other: {}\n  missing: let every thread that the barrier is for reach the same one; put it outside of \
             branches, and end threads behind the last barrier",
            Where(waits),
            Where(other)
        )?;
        times(formatter, self.times)
    }
}
