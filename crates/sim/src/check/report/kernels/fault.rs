//! Faults that end a kernel.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::memory::shadow::{AllocationInfo, Operation};

/// A kernel that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KernelFault {
    /// The kernel.
    pub kernel: String,
    /// The fault.
    pub problem: String,
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The thread, in the block.
    pub thread: [u32; 3],
    /// The instruction, with its modifiers.
    pub instruction: String,
    /// Its line in the PTX.
    pub line: u32,
    /// File and line of the source, where the PTX says it.
    pub source: Option<(String, u32)>,
    /// The address that cannot be accessed so, if it is about one.
    pub address: Option<u64>,
    /// The allocation that the address is in, was in, or is close to.
    pub near: Option<AllocationInfo>,
    /// The call that freed it, if it is no longer there.
    pub freed: Option<Operation>,
}

impl Display for KernelFault {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, problem, block, thread, instruction, line, source, address, near, freed } = self;
        write!(
            formatter,
            "`{kernel}`, block {block:?}, thread {thread:?}: {problem}\n  in `{instruction}`, line {line} of the PTX"
        )?;
        if let Some((file, line)) = source {
            write!(formatter, ", {file}:{line}")?;
        }
        let (Some(address), Some(allocation)) = (address, near) else { return Ok(()) };
        let end = allocation.address + allocation.bytes;
        match *address {
            at if at < allocation.address => {
                write!(formatter, "\n  {} bytes before {allocation}", allocation.address - at)
            }
            at if at >= end => write!(formatter, "\n  {} bytes behind the end of {allocation}", at - end),
            at => write!(formatter, "\n  {} bytes into {allocation}", at - allocation.address),
        }?;
        freed.iter().try_for_each(|free| write!(formatter, ", which {free} has freed"))
    }
}
