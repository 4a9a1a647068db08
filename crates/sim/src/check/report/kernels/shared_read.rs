//! Reads of shared memory that no thread has written.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use serde::Serialize;

use super::thread::{ThreadInfo, Where, times};

/// A read of shared memory that no thread has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SharedRead {
    /// The kernel.
    pub kernel: String,
    /// The thread that reads.
    pub reader: ThreadInfo,
    /// The bytes of the block's shared memory.
    pub bytes: Range<u64>,
    /// Number of such reads by the instruction in the launch.
    pub times: u64,
}

impl Display for SharedRead {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, reader, bytes, .. } = self;
        write!(
            formatter,
            "`{kernel}`: {reader} reads bytes {bytes:?} of the block's shared memory, which no thread of the block has \
             written\n  in {}",
            Where(reader)
        )?;
        times(formatter, self.times)
    }
}
