//! Data races between threads of a kernel.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use serde::Serialize;
use warploom_ptx::{Actor, Deed, MemorySpace};

use super::thread::{RacedMemory, ThreadAccess, ThreadInfo, Where, times, write_bytes};

/// Two threads of one kernel that touch the same bytes without an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KernelRace {
    /// The kernel.
    pub kernel: String,
    /// The thread that came first in this run.
    pub first: ThreadInfo,
    /// The access of the first.
    pub first_access: ThreadAccess,
    /// The thread that came later.
    pub second: ThreadInfo,
    /// The access of the second.
    pub second_access: ThreadAccess,
    /// The memory that both touch.
    pub memory: RacedMemory,
    /// The bytes of it that both use.
    pub bytes: Range<u64>,
    /// The order that is missing between the two.
    pub missing: MissingOrder,
    /// Number of races between these two instructions in the launch.
    pub times: u64,
}

/// The order that is missing between two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingOrder {
    /// Lanes of one instruction write the same place: nothing can order them.
    OwnPlace,
    /// One of the two is atomic and the other is not.
    BothAtomic,
    /// They are of one warp.
    WarpBarrier,
    /// They are of one block.
    BlockBarrier,
    /// They are of different blocks of one cluster, and meet in shared memory.
    ClusterBarrier,
    /// They are of different blocks.
    GridOrder,
    /// The second is a bulk copy, behind the first but in another proxy.
    ProxyFence,
}

impl MissingOrder {
    /// The order that is missing between two accesses; `warp` gives the warp of a thread.
    pub(super) fn between(
        space: MemorySpace,
        [first, second]: [&Actor; 2],
        [first_does, second_does]: [Deed; 2],
        warp: impl Fn([u32; 3]) -> u32,
    ) -> Self {
        let is_strong = |deed| matches!(deed, Deed::StrongRead | Deed::StrongWrite | Deed::Update);
        let is_near = first.block == second.block;
        let is_one_warp = is_near && warp(first.thread) == warp(second.thread);
        match () {
            () if is_strong(first_does) != is_strong(second_does) => Self::BothAtomic,
            () if is_one_warp && first.place == second.place => Self::OwnPlace,
            () if is_one_warp => Self::WarpBarrier,
            () if is_near => Self::BlockBarrier,
            () if matches!(space, MemorySpace::Cluster { .. }) => Self::ClusterBarrier,
            () => Self::GridOrder,
        }
    }
}

impl Display for KernelRace {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernel, first, second, first_access, second_access, memory, bytes, missing, .. } = self;
        write!(formatter, "`{kernel}`: {second} {second_access} ")?;
        write_bytes(formatter, memory, bytes)?;
        write!(
            formatter,
            ", and {} behind {first}, which {first_access} them\n  first: {}\n  second: {}\n  missing: {missing}",
            if *missing == MissingOrder::ProxyFence { "no proxy fence orders its copy" } else { "nothing orders that" },
            Where(first),
            Where(second)
        )?;
        times(formatter, self.times)
    }
}

impl Display for MissingOrder {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            MissingOrder::OwnPlace => {
                "lanes of one instruction have no order: give each thread a place of its own, or use atomics"
            }
            MissingOrder::BothAtomic => {
                "make both accesses atomic (or volatile), or put a barrier, or a fence and a flag, between the two"
            }
            MissingOrder::WarpBarrier => {
                "both are in one warp, whose lanes do not keep step by themselves: put __syncwarp() between the two"
            }
            MissingOrder::BlockBarrier => "put __syncthreads() between the two, which all threads of the block reach",
            MissingOrder::ClusterBarrier => {
                "put cluster.sync() between the two, which all threads of the cluster reach"
            }
            MissingOrder::ProxyFence => {
                "bulk copies read past the caches of threads: let the writing threads run fence.proxy.async \
                 (cuda::ptx::fence_proxy_async) behind their writes, before the barrier that the copying thread waits for"
            }
            MissingOrder::GridOrder => {
                "blocks have no order: do the second in a launch of its own, or launch cooperatively and put grid.sync() \
                 between the two, or pass the data on with __threadfence() and an atomic flag, or use atomics"
            }
        })
    }
}
