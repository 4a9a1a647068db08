//! Traps: the ways in which a kernel fails.

use std::fmt;

use crate::error::Place;

/// A kernel that has failed: the kind of failure, the instruction and the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The kind of failure.
    pub kind: TrapKind,
    /// The kernel.
    pub kernel: String,
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The thread, in the block.
    pub thread: [u32; 3],
    /// The instruction: opcode and modifiers.
    pub instruction: String,
    /// Where that stands in the text.
    pub place: Place,
    /// File and line of the source, where the text says it.
    pub source: Option<(String, u32)>,
}

/// The kinds of failures of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrapKind {
    /// Global memory that is not there.
    #[error("global memory at {0:#x} cannot be accessed")]
    Global(u64),
    /// Shared memory that the block does not have.
    #[error("shared memory at {address:#x} lies outside of the block's {size} bytes")]
    Shared {
        /// The first byte that is wrong.
        address: u64,
        /// The bytes that the block has.
        size: u64,
    },
    /// Shared memory of a block that is not in the cluster, or not any more.
    #[error("shared memory of block {rank} of a cluster of {count}, which is not there or has ended")]
    Cluster {
        /// Which block of the cluster.
        rank: u32,
        /// How many it has.
        count: u32,
    },
    /// Memory of the heap that is given back once more.
    #[error("memory of the heap at {0:#x} is freed twice")]
    FreedTwice(u64),
    /// Local memory that the thread does not have.
    #[error("local memory at {0:#x} lies outside of what the thread has")]
    Local(u64),
    /// Arguments that the kernel does not have.
    #[error("arguments at {0:#x} lie outside of what was passed")]
    Parameter(u64),
    /// An address that is not aligned to the size of the access.
    #[error("address {address:#x} is no multiple of {alignment}")]
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment that the access needs.
        alignment: u64,
    },
    /// `trap`
    #[error("trap")]
    Trap,
    /// `assert` that failed.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// The asserted expression.
        message: String,
        /// Where, in the source.
        file: String,
        /// Where in that file.
        line: u32,
        /// In which function.
        function: String,
    },
    /// A barrier that threads wait for, and that will never be complete.
    #[error("threads wait for each other: {0}")]
    Deadlock(&'static str),
    /// A barrier's number, or its count of threads, that there cannot be.
    #[error(
        "barrier {barrier} with {threads} threads; there are 16, and counts are multiples of 32 up to the block's size"
    )]
    Barrier {
        /// Its number.
        barrier: u32,
        /// Its count of threads.
        threads: u32,
    },
    /// Calls inside of calls that need more memory than a thread has.
    #[error("the stack of a thread needs more than {limit} bytes")]
    Stack {
        /// The bytes that a thread has.
        limit: u32,
    },
    /// A call through an address that is no function.
    #[error("{0:#x} is no function")]
    Call(u64),
    /// A function whose parameters or results differ from the call's prototype.
    #[error("the call does not fit the function")]
    Signature,
    /// `brx.idx` beyond its list.
    #[error("branch target {index} of {count}")]
    BranchIndex {
        /// Which one was asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
}

impl fmt::Display for Trap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trap { kind, kernel, block, thread, instruction, place, source } = self;
        write!(formatter, "{kernel}: {kind}; block {block:?}, thread {thread:?}, `{instruction}` at {place}")?;
        match source {
            Some((file, line)) => write!(formatter, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Trap {}
