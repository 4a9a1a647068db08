//! Misuse of the kernels' heap: use after free, out of bounds, invalid frees.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use serde::Serialize;

use super::thread::{ThreadAccess, ThreadInfo, Where, times};

/// A misuse of heap memory by a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HeapMisuse {
    /// The kernel.
    pub kernel: String,
    /// The thread.
    pub thread: ThreadInfo,
    /// The problem.
    pub problem: HeapProblem,
    /// The first byte outside of the block, or the address that was to be freed.
    pub address: u64,
    /// Number of bytes from there on; none for a free.
    pub bytes: u64,
    /// The block that they are in, or are near to: its addresses.
    pub block: Option<Range<u64>>,
    /// The thread that freed the block, if it was in this launch.
    pub freed_by: Option<ThreadInfo>,
    /// Number of occurrences at the instruction in the launch.
    pub times: u64,
}

/// A kind of misuse of heap memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", content = "access", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HeapProblem {
    /// It is touched after it was freed.
    AfterFree(ThreadAccess),
    /// It is touched beside the block.
    Outside(ThreadAccess),
    /// It is freed when it was freed already.
    FreedTwice,
    /// The freed address is no block of the heap.
    NotABlock,
}

impl Display for HeapMisuse {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, thread, problem, address, bytes, block, freed_by, .. } = self;
        write!(formatter, "`{kernel}`: {thread} ")?;
        let of = |formatter: &mut Formatter<'_>| match block {
            Some(Range { start, end }) => {
                write!(formatter, " the {} bytes that malloc gave at {start:#x}", end - start)
            }
            None => Ok(()),
        };
        match problem {
            HeapProblem::AfterFree(access) => {
                let start = address - block.as_ref().map_or(*address, |block| block.start);
                write!(formatter, "{access} bytes {start}..{} of", start + bytes)?;
                of(formatter)?;
                formatter.write_str(", which have been freed")?;
            }
            HeapProblem::Outside(access) => {
                let (before, behind) = block
                    .as_ref()
                    .map_or((0, 0), |block| (block.start.saturating_sub(*address), address.saturating_sub(block.end)));
                match before {
                    0 => write!(formatter, "{access} {bytes} bytes {behind} bytes behind the end of")?,
                    _ => write!(formatter, "{access} {bytes} bytes {before} bytes before")?,
                }
                of(formatter)?;
            }
            HeapProblem::FreedTwice => write!(formatter, "frees {address:#x}, which has been freed already")?,
            HeapProblem::NotABlock => write!(formatter, "frees {address:#x}, which malloc has not given")?,
        }
        write!(formatter, "\n  in {}", Where(thread))?;
        if let Some(by) = freed_by {
            write!(formatter, "\n  freed by {by}, {}", Where(by))?;
        }
        times(formatter, self.times)
    }
}
