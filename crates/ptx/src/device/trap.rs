//! Traps: the ways in which a kernel fails.

use std::fmt;

use crate::error::Position;

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
    /// Its position in the text.
    pub place: Position,
    /// File and line of the source, where the text says it.
    pub source: Option<(String, u32)>,
}

/// The kinds of failures of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrapKind {
    /// An access to global memory that does not exist.
    #[error("global memory at {0:#x} cannot be accessed")]
    Global(u64),
    /// An out-of-bounds access to shared memory.
    #[error("shared memory at {address:#x} lies outside of the block's {size} bytes")]
    Shared {
        /// The first byte that cannot be accessed.
        address: u64,
        /// The bytes that the block has.
        size: u64,
    },
    /// An access to shared memory of a block that is not in the cluster, or has ended.
    #[error("shared memory of block {rank} of a cluster of {count} blocks, which does not exist or has ended")]
    Cluster {
        /// The rank of the block.
        rank: u32,
        /// The number of blocks in the cluster.
        count: u32,
    },
    /// A double free on the heap.
    #[error("memory of the heap at {0:#x} is freed twice")]
    FreedTwice(u64),
    /// An out-of-bounds access to local memory.
    #[error("local memory at {0:#x} is out of bounds for the thread")]
    Local(u64),
    /// An out-of-bounds access to kernel parameters.
    #[error("kernel parameter at {0:#x} is out of bounds")]
    Parameter(u64),
    /// An address that is not aligned to the size of the access.
    #[error("address {address:#x} is no multiple of {alignment}")]
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment that the access needs.
        alignment: u64,
    },
    /// An `st.async` or `red.async` beyond the shared memory of a block of the cluster.
    #[error("shared memory at {address:#x} lies outside of the {size} bytes of the block in the cluster")]
    ClusterShared {
        /// The first byte of the access.
        address: u64,
        /// The bytes that the block has.
        size: u64,
    },
    /// An `mbarrier` that would have to count more bytes than it can.
    #[error("mbarrier with {bytes} bytes outstanding; it counts up to 1048575")]
    BarrierBytes {
        /// The bytes that were expected and have not come, negative for those that came first.
        bytes: i64,
    },
    /// `trap`
    #[error("trap")]
    Trap,
    /// `assert` that failed.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// The asserted expression.
        message: String,
        /// The source file.
        file: String,
        /// The line in that file.
        line: u32,
        /// The function.
        function: String,
    },
    /// A deadlock: threads wait for a barrier that will never be complete.
    #[error("deadlock: {0}")]
    Deadlock(&'static str),
    /// An invalid barrier number or count of threads.
    #[error(
        "barrier {barrier} for {threads} threads; barriers are 0 to 15, counts are multiples of 32 up to the block's size"
    )]
    Barrier {
        /// Its number.
        barrier: u32,
        /// Its count of threads.
        threads: u32,
    },
    /// A stack overflow.
    #[error("stack overflow: a thread has {limit} bytes of stack")]
    Stack {
        /// The bytes that a thread has.
        limit: u32,
    },
    /// A `cudaGraphSetConditional` of a condition that the launch does not have: the handle is wrong, or the
    /// kernel does not run in a graph.
    #[error("condition {0:#x} is set, which no graph that runs this kernel has")]
    Condition(u64),
    /// A call through an address that is no function.
    #[error("call through {0:#x}, which is not the address of a function")]
    Call(u64),
    /// A function whose parameters or results differ from the call's prototype.
    #[error("the called function has other parameters or results than the call")]
    Signature,
    /// A `brx.idx` beyond its list.
    #[error("branch index {index} is out of bounds for a list of {count} targets")]
    BranchIndex {
        /// The index.
        index: u32,
        /// The length of the list.
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
