//! What goes wrong inside a kernel, in words.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use super::in_kernel::{
    BarrierDivergence, Instead, KernelFault, KernelRace, MissingOrder, RacedMemory, SharedRead, ThreadAccess,
    ThreadInfo,
};

/// Where an instruction stands.
pub(super) struct Where<'a>(pub(super) &'a ThreadInfo);

impl Display for Where<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let ThreadInfo { instruction, line, source, .. } = self.0;
        write!(formatter, "`{instruction}`, line {line} of the PTX")?;
        match source {
            Some((file, line)) => write!(formatter, ", {file}:{line}"),
            None => Ok(()),
        }
    }
}

/// Block and thread.
impl Display for ThreadInfo {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { block, thread, .. } = self;
        write!(formatter, "block {block:?}, thread {thread:?}")
    }
}

impl Display for ThreadAccess {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ThreadAccess::Read => "reads",
            ThreadAccess::Write => "writes",
            ThreadAccess::StrongRead => "atomically reads",
            ThreadAccess::StrongWrite => "atomically writes",
            ThreadAccess::Atomic => "atomically changes",
        })
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
            MissingOrder::GridOrder => {
                "blocks have no order: do the second in a launch of its own, or launch cooperatively and put grid.sync() \
                 between the two, or pass the data on with __threadfence() and an atomic flag, or use atomics"
            }
        })
    }
}

pub(super) fn times(formatter: &mut Formatter<'_>, times: u64) -> fmt::Result {
    if times > 1 { write!(formatter, "\n  {times} times in this launch") } else { Ok(()) }
}

pub(super) fn write_bytes(formatter: &mut Formatter<'_>, memory: &RacedMemory, bytes: &Range<u64>) -> fmt::Result {
    match memory {
        RacedMemory::Shared => write!(formatter, "bytes {bytes:?} of the block's shared memory"),
        RacedMemory::Cluster { block } => write!(formatter, "bytes {bytes:?} of the shared memory of block {block:?}"),
        RacedMemory::Allocation(allocation) => write!(formatter, "bytes {bytes:?} of {allocation}"),
        RacedMemory::Global => {
            write!(formatter, "{} bytes of global memory at {:#x}", bytes.end - bytes.start, bytes.start)
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
            ", and nothing orders that behind {first}, which {first_access} them\n  first: {}\n  second: {}\n  missing: {missing}",
            Where(first),
            Where(second)
        )?;
        times(formatter, self.times)
    }
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
