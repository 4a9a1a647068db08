//! Device heap: malloc and free in kernels, and detection of misuse.
//!
//! On hardware the heap is one piece of memory: an access out of bounds or after `free` does not stop the
//! kernel. The same holds here. Every block has margins, and freed blocks stay mapped for a while; the checks
//! report such accesses. A double free stops the kernel, as on an H200.

use std::collections::VecDeque;
use std::ops::Range;

use warploom_ptx::{Freed, HeapProblem};

use crate::ffi::handle::ContextHandle;
use crate::machine::code::{FreedBlock, KEPT, MARGINS, room};
use crate::machine::world::World;
use crate::memory::{Allocation, Backing};

/// Heap bytes that an allocation takes, with the overhead measured on an H200: more for large allocations,
/// and at least 80 bytes.
fn cost(bytes: u64) -> u64 {
    bytes.saturating_add((bytes / 1024).saturating_mul(225)).max(80)
}

impl World {
    /// Allocates a block of the context's heap for a running kernel, if the heap has room.
    pub(crate) fn take_heap(&mut self, context: ContextHandle, device: u16, bytes: u64) -> Option<u64> {
        let cost = cost(bytes);
        if !self.contexts.get_mut(context)?.take_heap(cost) {
            return None;
        }
        let taken = self.take_variable(Some(context), device, bytes.max(1), false, MARGINS);
        if let (None, Some(context)) = (taken, self.contexts.get_mut(context)) {
            context.give_heap(cost);
        }
        taken
    }

    /// Frees a block of the heap during a kernel. An address that is not a block is not examined further.
    pub(crate) fn give_heap(&mut self, context: ContextHandle, device: u16, address: u64) -> Freed {
        let found = self.memory.at(address).filter(|allocation| is_block(allocation, context));
        let Some((size, host)) = found.map(|found| (found.size, found.host)) else {
            let is_freed = |block: &FreedBlock| block.context == context && block.base == address;
            return if self.code.freed.blocks.iter().any(is_freed) { Freed::Twice } else { Freed::Stray };
        };
        // The memory stays mapped; only its allocation record is removed.
        self.memory.remove(address);
        if let Some(context) = self.contexts.get_mut(context) {
            context.give_heap(cost(size));
        }
        self.code.freed.blocks.push_back(FreedBlock { context, device, base: address, size, host });
        self.code.freed.bytes += size;
        while self.code.freed.blocks.len() > KEPT.0 || self.code.freed.bytes > KEPT.1 {
            let Some(oldest) = self.code.freed.blocks.pop_front() else { break };
            self.let_go(oldest);
        }
        Freed::Done
    }

    fn let_go(&mut self, block: FreedBlock) {
        let room = block.room();
        self.code.freed.bytes -= block.size;
        self.devices[usize::from(block.device)].memory.give(room.start, room.end - room.start);
    }

    /// Releases the freed blocks of a context that is destroyed.
    pub(crate) fn forget_freed_blocks(&mut self, context: ContextHandle) {
        let (gone, kept) = std::mem::take(&mut self.code.freed.blocks).into_iter().partition(|b| b.context == context);
        self.code.freed.blocks = kept;
        let gone: VecDeque<_> = gone;
        gone.into_iter().for_each(|block| self.let_go(block));
    }

    /// Freed blocks of a context's heap that are still mapped.
    pub(crate) fn freed_blocks(&self, context: ContextHandle) -> impl Iterator<Item = &FreedBlock> {
        self.code.freed.blocks.iter().filter(move |block| block.context == context)
    }

    /// The address range that covers a context's heap.
    pub(crate) fn heap_hull(&self, context: ContextHandle) -> Option<Range<u64>> {
        let blocks = self.memory.iter().filter(|allocation| is_block(allocation, context));
        let rooms = blocks.map(|block| room(&(block.base..block.end())));
        let freed = self.freed_blocks(context).map(FreedBlock::room);
        rooms.chain(freed).reduce(|one, other| one.start.min(other.start)..one.end.max(other.end))
    }

    /// The problem with an access to a context's heap, if any.
    pub(crate) fn heap_problem(&self, context: ContextHandle, bytes: Range<u64>) -> Option<HeapProblem> {
        let at = bytes.start;
        let live = |allocation: &&Allocation| is_block(allocation, context);
        let before = self.memory.before(at).filter(live).map(|block| block.base..block.end());
        if let Some(block) = before.clone().filter(|block| at < block.end) {
            let is_outside = bytes.end > block.end;
            return is_outside.then_some(HeapProblem { address: block.end, block, freed: false });
        }
        if let Some(freed) = self.freed_blocks(context).map(FreedBlock::bytes).find(|freed| freed.contains(&at)) {
            return Some(HeapProblem { address: at, block: freed, freed: true });
        }
        let behind = self.memory.before(at + MARGINS[0]).filter(live).map(|block| block.base..block.end());
        let freed = self.freed_blocks(context).map(FreedBlock::bytes);
        let mut near = before.into_iter().chain(behind).chain(freed).filter(|block| room(block).contains(&at));
        near.next().map(|block| HeapProblem { address: at, block, freed: false })
    }
}

/// `true` if an allocation is a block of a context's heap.
fn is_block(allocation: &Allocation, context: ContextHandle) -> bool {
    allocation.context == Some(context)
        && matches!(&allocation.backing, Backing::Variable(memory) if memory.margins == MARGINS)
}
