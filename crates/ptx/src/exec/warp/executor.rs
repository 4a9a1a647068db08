//! Everything that a running warp reaches: its block, the cluster around that, and the grid.

use super::Warp;
use super::barriers::Barriers;
use crate::device::access::Access;
use crate::device::host::{Event, Host};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::context::Context;
use crate::exec::memory::range_cache::RangeCache;
use crate::exec::memory::traffic::Traffic;
use crate::exec::registers::File;

/// The surroundings of a running warp: its block, and the grid.
#[derive(Debug)]
pub(crate) struct Executor<'b, M> {
    pub(crate) context: &'b Context<M>,
    pub(crate) block: [u32; 3],
    pub(crate) shared: &'b mut [u8],
    pub(crate) barriers: &'b mut Barriers,
    pub(crate) ranges: &'b mut RangeCache,
    pub(crate) traffic: &'b mut Traffic,
    pub(crate) others: ClusterMemory<'b>,
}

/// The group that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) index: usize,
    pub(crate) lanes: u32,
    pub(crate) pc: u32,
    pub(crate) frame: usize,
}

/// The next step of a group after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next one.
    Following,
    /// Another one.
    Jump(u32),
    /// The groups have changed: which goes next is to be asked again.
    Regroup,
    /// The same, after others have run.
    Yield,
}

/// Shared memory of the blocks of a cluster beside one's own.
#[derive(Debug)]
pub(crate) struct ClusterMemory<'b> {
    /// Of the blocks of lower rank, and of those of higher.
    pub(crate) before: &'b mut [u8],
    pub(crate) after: &'b mut [u8],
    pub(crate) rank: u32,
    /// Blocks of the cluster.
    pub(crate) count: u32,
    /// Ranks of blocks all of whose threads have ended.
    pub(crate) ended: u32,
}

impl<M: Memory + Host> Executor<'_, M> {
    pub(crate) fn file<'f>(&'f self, warp: &'f mut Warp, at: Current) -> File<'f> {
        File { registers: &mut warp.frames.get(at.frame).registers, constants: &self.context.program.constants }
    }

    /// Tells the host of a synchronisation event, if it observes them.
    pub(crate) fn tell(&self, warp: &Warp, at: Current, lanes: u32, event: Event) {
        if M::WATCHES_SHARED {
            self.context.memory.event(&self.access(warp, at, lanes, false), event);
        }
    }

    /// The access of some lanes, as memory sees it.
    pub(crate) fn access(&self, warp: &Warp, at: Current, lanes: u32, strong: bool) -> Access {
        Access { block: self.block, warp: warp.index, lanes, readers: lanes, instruction: at.pc, strong }
    }
}

/// A failed instruction; boxed, so that results without one stay small.
pub(crate) type Stop = Box<Halt>;

/// A failed instruction by its number: the trap before its position in the text is looked up.
#[derive(Debug)]
pub(crate) struct Halt {
    pub(crate) kind: TrapKind,
    pub(crate) lane: usize,
    pub(crate) pc: u32,
    pub(crate) warp: u32,
}

pub(crate) fn stop(warp: &Warp, at: Current, lanes: u32, kind: TrapKind) -> Stop {
    Box::new(Halt { kind, lane: lanes.trailing_zeros() as usize, pc: at.pc, warp: warp.index })
}
