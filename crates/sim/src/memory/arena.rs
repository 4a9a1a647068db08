//! Memory at one address for host and devices: pages of the simulator that the program reads and writes
//! itself.
//!
//! Address space is reserved when it is first needed, opened block by block as allocations ask for it, and
//! closed again behind the last one. A block that an unfinished op may still touch rests until the op is
//! done: freed memory may be stale, never a fault inside the simulator.

use std::io;

use warploom_engine::OpId;

use super::BLOCK;
use super::blocks::{Block, Blocks, Spacing};
use super::in_flight::InFlight;
use super::span::{Span, SpanKind};

pub(crate) struct Arena<Op = OpId> {
    kind: SpanKind,
    spans: Vec<Span>,
    blocks: Blocks,
    resting: Vec<(Block, Vec<Op>)>,
}

/// Address space reserved at a time, unless one allocation needs more.
const ROOM: u64 = 256 << 30;

impl<Op: Copy> Arena<Op> {
    pub(crate) fn new(kind: SpanKind, spacing: Spacing) -> Self {
        Self { kind, spans: Vec::new(), blocks: Blocks::new(spacing), resting: Vec::new() }
    }

    /// Takes memory for one allocation, readable and writable.
    pub(crate) fn take(&mut self, bytes: u64, in_flight: &impl InFlight<Op>) -> io::Result<u64> {
        self.close_rested(in_flight);
        if Blocks::is_large(bytes) {
            return Ok(self.open_block(bytes)?.base);
        }
        if let Some(address) = self.blocks.take_shared(bytes) {
            return Ok(address);
        }
        let block = self.open_block(BLOCK)?;
        self.blocks.share(block);
        self.blocks.take_shared(bytes).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn open_block(&mut self, bytes: u64) -> io::Result<Block> {
        let len = bytes.checked_next_multiple_of(BLOCK).ok_or(io::ErrorKind::OutOfMemory)?;
        let block = match self.blocks.take(len) {
            Some(block) => block,
            None => {
                let room = len.checked_add(BLOCK).ok_or(io::ErrorKind::OutOfMemory)?.max(ROOM);
                let span = Span::closed(room, BLOCK, self.kind)?;
                self.blocks.add_room(span.address(), span.len());
                self.spans.push(span);
                self.blocks.take(len).ok_or(io::ErrorKind::OutOfMemory)?
            }
        };
        let opened = self.span_of(block).map_or(Ok(()), |span| span.unlock(block.base, block.len));
        if let Err(error) = opened {
            self.blocks.give(block.base, block.len);
            return Err(error);
        }
        Ok(block)
    }

    fn span_of(&self, block: Block) -> Option<&Span> {
        self.spans.iter().find(|span| span.contains(block.base))
    }

    /// Gives back what `take` gave for the same size. Ops that are enqueued now may still touch it.
    pub(crate) fn give(&mut self, address: u64, bytes: u64, in_flight: &impl InFlight<Op>) {
        self.close_rested(in_flight);
        let unused = if Blocks::is_large(bytes) {
            self.blocks.containing(address)
        } else {
            self.blocks.give_shared(address, bytes)
        };
        if let Some(block) = unused {
            let unfinished: Vec<Op> = in_flight.newest().collect();
            if unfinished.is_empty() {
                self.close(block);
            } else {
                self.resting.push((block, unfinished));
            }
        }
    }

    fn close_rested(&mut self, in_flight: &impl InFlight<Op>) {
        let mut at = 0;
        while at < self.resting.len() {
            if self.resting[at].1.iter().all(|op| in_flight.is_done(*op)) {
                let (block, _) = self.resting.swap_remove(at);
                self.close(block);
            } else {
                at += 1;
            }
        }
    }

    fn close(&mut self, block: Block) {
        let closed = self.span_of(block).map_or(Ok(()), |span| span.lock(block.base, block.len));
        // The system may be out of mappings; then the block stays open, and its addresses unused.
        if closed.is_ok() {
            self.blocks.give(block.base, block.len);
        }
    }

    /// The block an address is in.
    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        self.blocks.containing(address)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::ffi::host_memory::is_mapped;

    /// Operations in flight, by number.
    struct Unfinished(Vec<u32>);

    impl InFlight<u32> for Unfinished {
        fn newest(&self) -> impl Iterator<Item = u32> {
            self.0.iter().copied()
        }

        fn is_done(&self, op: u32) -> bool {
            !self.0.contains(&op)
        }
    }

    const IDLE: Unfinished = Unfinished(Vec::new());

    #[test]
    fn an_arena_costs_nothing_until_it_is_used() -> io::Result<()> {
        let mut arena = Arena::new(SpanKind::Virtual, Spacing::Dense);
        assert!(arena.spans.is_empty());
        let address = arena.take(100, &IDLE)?;
        assert_eq!(arena.spans.len(), 1);
        assert!(is_mapped(address, 100));
        Ok(())
    }

    #[test]
    fn an_allocation_larger_than_the_room_gets_room_of_its_own() -> io::Result<()> {
        let mut arena = Arena::new(SpanKind::Virtual, Spacing::Dense);
        let small = arena.take(1, &IDLE)?;
        let large = arena.take(ROOM, &IDLE)?;
        assert_eq!(arena.spans.len(), 2);
        assert_eq!(arena.block_of(large + ROOM - 1).map(|block| block.base), Some(large));
        arena.give(large, ROOM, &IDLE);
        arena.give(small, 1, &IDLE);
        assert_eq!(arena.take(ROOM, &IDLE)?, large);
        Ok(())
    }

    #[test]
    fn a_freed_block_rests_while_an_op_may_touch_it() -> io::Result<()> {
        let mut arena = Arena::new(SpanKind::Virtual, Spacing::Dense);
        let busy = Unfinished(vec![1]);
        let address = arena.take(BLOCK, &busy)?;
        arena.give(address, BLOCK, &busy);
        let second = arena.take(BLOCK, &busy)?;
        assert_ne!(second, address, "the block is still resting");
        assert_eq!(arena.take(BLOCK, &IDLE)?, address);
        Ok(())
    }
}
