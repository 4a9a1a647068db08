//! The list of all operations of the interpreter.
//!
//! An instruction is an operation, a guard and up to six slots. Each operation lists its slots: `d` is the
//! destination, and `a`, `b`, `c` are the sources.

use super::atomic::{Atom, Change};
use super::bulk_copy::{AsyncStore, BulkCopy};
use super::compute::Compute;
use super::slot::{Guard, Slot};
use super::space::Space;

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) guard: Guard,
    pub(crate) slots: [Slot; 6],
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Registers to registers, lane by lane.
    Compute(Compute),
    /// Memory to registers: up to four `d`, then the address and the offset to it.
    Load(AccessForm),
    /// Registers to memory: up to four values, then the address and the offset to it.
    Store(AccessForm),
    /// The same as a load and a store of two longs, 16 bytes at once.
    LoadWhole(AccessForm),
    StoreWhole(AccessForm),
    /// Reads, changes and writes back at once: `d`, address, offset, `b`, `c`.
    Atomic(Atomic),
    /// The same for 16 bytes; `d`, `b` and `c` are the first of two longs each.
    AtomicPair(PairAtomic),
    /// A special register: `d`.
    Special(Special),
    /// The address of a variable of the thread: `d`, and the offset in the function's own memory.
    FrameAddress,
    /// Memory of the thread until the function is left: `d`, the bytes `a`, the alignment.
    StackAllocate {
        /// Addresses of 64 bits, or of 32.
        long: bool,
    },
    /// The end of the thread's stack: `d`.
    StackSave {
        long: bool,
    },
    /// Gives memory of the stack back: its new end `a`.
    StackRestore {
        long: bool,
    },
    /// Goes on elsewhere: the target.
    Branch,
    /// Goes on at one of several: the index `a`, where the list starts, its length.
    BranchIndexed,
    /// Enters a function: which call.
    Call,
    /// Enters the function whose address is `a`: which call.
    CallIndirect,
    /// Leaves the function, or the kernel.
    Return,
    /// Leaves the kernel.
    Exit,
    /// Stops the grid.
    Trap,
    /// Waits for other threads of the block: `d`, the barrier, the count of threads, the predicate.
    Barrier(Barrier),
    /// Waits for lanes of the warp: the mask.
    WarpBarrier,
    /// Values of other lanes: `d`, which lanes had a source, `a`, `b`, `c`, the mask.
    Shuffle(Shuffle),
    /// Predicates of all lanes: `d`, `a` (negated where raw `b` is 1), the mask.
    Vote(Vote),
    /// The mask of active lanes: `d`.
    ActiveMask,
    /// Lanes with the same value: `d`, a predicate for all, `a`, the mask.
    Match {
        /// All lanes, or any.
        all: bool,
        /// 64 bits, or 32.
        long: bool,
    },
    /// One value of all lanes: `d`, `a`, the mask.
    Reduce(Reduction),
    /// The lowest lane of a mask: `d`, a predicate for this lane, the mask.
    Elect,
    /// Lets time pass: `a` nanoseconds.
    Sleep,
    /// Orders memory accesses; here they are in order.
    Fence,
    /// The address of the same place in another block's shared memory, in registers of 64 bits or of 32.
    MapShared {
        long: bool,
    },
    /// The rank of the block that an address of shared memory belongs to.
    SharedRank {
        long: bool,
    },
    /// `true` if a generic address is one of the block's own shared memory.
    OwnShared,
    /// Nothing that could be observed.
    Nothing,
    /// A product of matrices: where the slots lie in the program's lists.
    Multiply(super::matrix::Product),
    /// Four products of matrices, eight lanes each: where the slots lie in the program's lists.
    MultiplyQuads(super::matrix::Quads),
    /// A matrix of the warp's, rows for columns: `d`, `a`.
    Transpose,
    /// A fragment of a matrix between memory and registers: the slots in the lists, the address, the offset,
    /// how far lines are apart.
    Fragment(super::matrix::Fragment),
    /// Matrices between shared memory and registers: the slots in the lists, the address, the offset.
    Matrix(super::matrix::Transfer),
    /// A barrier that lies in shared memory: `d`, the address and the offset to it, up to two more operands.
    MemoryBarrier(MemoryBarrier, bool),
    /// A copy from global to shared memory: both addresses and offsets, and the bytes to read.
    CopyAsync {
        /// Bytes to write.
        bytes: u8,
        /// `true` if the addresses are 64 bits wide: shared, then global.
        long: [bool; 2],
    },
    /// Copies that were asked for are a group.
    CommitCopies,
    /// Waits for all copies, or for all groups but the last: how many those are.
    AwaitCopies {
        all: bool,
    },
    /// A copy of many bytes: where to, where from, how many, the barrier that counts them, the mask of blocks.
    CopyBulk(BulkCopy),
    /// Registers to shared memory of the cluster: up to four values, the address, the barrier.
    StoreAsync(AsyncStore),
    /// Bulk copies that were asked for are a group.
    CommitBulk,
    /// Waits for all groups of bulk copies but the last: how many those are.
    AwaitBulk {
        /// Until the sources have been read, or until the destinations are written, too.
        reads: bool,
    },
}

/// The form of a load or a store: its space and its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessForm {
    pub(crate) space: Space,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    /// `true` if elements are extended by their sign.
    pub(crate) signed: bool,
    /// `true` if registers hold 64 bits, and longer elements are cut.
    pub(crate) long: bool,
    /// Elements: 1, 2 or 4.
    pub(crate) count: u8,
    /// `true` if the address is 64 bits wide.
    pub(crate) wide: bool,
    /// `true` if other threads may be expected to do the same at the same time: volatile, relaxed and
    /// stronger.
    pub(crate) strong: bool,
    /// `true` for constants, which no store changes.
    pub(crate) constant: bool,
}

impl AccessForm {
    /// Bytes of global memory that some lanes access, if it is not known to be another memory.
    #[inline(always)]
    pub(crate) fn global_bytes(&self, lanes: u32) -> u64 {
        let is_global = matches!(self.space, Space::Global | Space::Generic);
        if is_global { u64::from(self.bytes) * u64::from(self.count) * u64::from(lanes.count_ones()) } else { 0 }
    }
}

/// The form of an atomic operation: its operation, type and space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) change: Change,
    pub(crate) scalar: Atom,
    /// `true` if the address is 64 bits wide.
    pub(crate) wide: bool,
}

/// The form of an atomic operation on 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairAtomic {
    pub(crate) space: Space,
    /// `atom.cas`, or `atom.exch`.
    pub(crate) is_swap: bool,
    /// `true` if the address is 64 bits wide.
    pub(crate) wide: bool,
}

/// The kinds of barrier instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// Waits.
    Sync,
    /// Counts as arrived, and goes on.
    Arrive,
    /// Waits, and counts the threads whose predicate holds.
    Count,
    /// Waits; true if the predicate holds for all.
    All,
    /// Waits; true if it holds for any.
    Any,
    /// Counts as arrived at the barrier of the cluster, and goes on; the number and the count are not asked.
    ClusterArrive,
    /// Waits for the cluster, if it has arrived.
    ClusterWait,
}

/// An operation on an `mbarrier`; the width of its address is given beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryBarrier {
    /// Expects so many arrivals in each phase.
    Initialize,
    /// Arrives so many times, and gives the phase that is left by that.
    Arrive {
        /// Bytes are expected first: the second operand.
        expects: bool,
        /// Later phases expect as many fewer.
        drops: bool,
    },
    /// Expects bytes.
    Expect,
    /// Bytes have come.
    Complete,
    /// `true` if the phase of a state is over.
    Test,
    /// `true` if the phase of a parity is over.
    TestParity,
    /// Arrivals that a state still misses.
    Pending,
}

/// Whose value a lane gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The kinds of votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// The operator of a reduction over a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Add,
    And,
    Or,
    Xor,
    MinimumUnsigned,
    MaximumUnsigned,
    MinimumSigned,
    MaximumSigned,
}

/// Registers that the machine fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Of the thread in its block: x, y, z.
    Thread(u8),
    /// Threads of a block.
    BlockSize(u8),
    /// Of the block in the grid.
    Block(u8),
    /// Blocks of the grid.
    GridSize(u8),
    Lane,
    Warp,
    Warps,
    WarpSize,
    Processor,
    Processors,
    Grid,
    Clock,
    ClockHigh,
    Clock64,
    Timer,
    TimerLow,
    TimerHigh,
    LanesEqual,
    LanesLess,
    LanesLessEqual,
    LanesGreater,
    LanesGreaterEqual,
    DynamicShared,
    TotalShared,
    /// The start of dynamic shared memory.
    DynamicBase,
    /// Registers that the driver fills.
    Environment(u8),
    /// The index of the cluster in the grid, and the number of clusters.
    Cluster(u8),
    Clusters(u8),
    /// The index of the block in its cluster, and the number of blocks there.
    ClusterBlock(u8),
    ClusterSize(u8),
    ClusterRank,
    ClusterRanks,
    /// `true` if the launch has said that there are clusters: a predicate.
    ExplicitCluster,
}

impl Special {
    /// `true` if it has 64 bits.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Special::Clock64 | Special::Timer | Special::Grid)
    }

    /// `true` if it tells the time.
    pub(crate) fn is_time(self) -> bool {
        use Special::{Clock, Clock64, ClockHigh, Timer, TimerHigh, TimerLow};
        matches!(self, Clock | ClockHigh | Clock64 | Timer | TimerLow | TimerHigh)
    }

    /// The register of a name, and of an element where it has some.
    pub(crate) fn named(name: &str, element: Option<&str>) -> Option<Special> {
        let axis = match element {
            None => None,
            Some("x") => Some(0),
            Some("y") => Some(1),
            Some("z") => Some(2),
            Some(_) => return None,
        };
        if let Some(axis) = axis {
            return Some(match name {
                "%tid" => Special::Thread(axis),
                "%ntid" => Special::BlockSize(axis),
                "%ctaid" => Special::Block(axis),
                "%nctaid" => Special::GridSize(axis),
                "%clusterid" => Special::Cluster(axis),
                "%nclusterid" => Special::Clusters(axis),
                "%cluster_ctaid" => Special::ClusterBlock(axis),
                "%cluster_nctaid" => Special::ClusterSize(axis),
                _ => return None,
            });
        }
        Some(match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%smid" => Special::Processor,
            "%nsmid" => Special::Processors,
            "%gridid" => Special::Grid,
            "%clock" => Special::Clock,
            "%clock_hi" => Special::ClockHigh,
            "%clock64" => Special::Clock64,
            "%globaltimer" => Special::Timer,
            "%globaltimer_lo" => Special::TimerLow,
            "%globaltimer_hi" => Special::TimerHigh,
            "%lanemask_eq" => Special::LanesEqual,
            "%lanemask_lt" => Special::LanesLess,
            "%lanemask_le" => Special::LanesLessEqual,
            "%lanemask_gt" => Special::LanesGreater,
            "%lanemask_ge" => Special::LanesGreaterEqual,
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%cluster_ctarank" => Special::ClusterRank,
            "%cluster_nctarank" => Special::ClusterRanks,
            "WARP_SZ" => Special::WarpSize,
            _ => {
                let index = name.strip_prefix("%envreg")?.parse().ok()?;
                return (index < 32).then_some(Special::Environment(index));
            }
        })
    }
}
