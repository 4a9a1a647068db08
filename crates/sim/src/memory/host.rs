//! Page-locked host memory that the simulator owns.

use std::io;

use super::arena::Arena;
use super::blocks::{Block, Spacing};
use super::in_flight::InFlight;
use super::span::SpanKind;

/// The pages that `cuMemHostAlloc` hands out.
pub(crate) struct HostMemory {
    arena: Arena,
}

impl HostMemory {
    pub(crate) fn new(spacing: Spacing) -> Self {
        Self { arena: Arena::new(SpanKind::Real, spacing) }
    }

    pub(crate) fn take(&mut self, bytes: u64, in_flight: &impl InFlight) -> io::Result<u64> {
        self.arena.take(bytes, in_flight)
    }

    pub(crate) fn give(&mut self, address: u64, bytes: u64, in_flight: &impl InFlight) {
        self.arena.give(address, bytes, in_flight);
    }

    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        self.arena.block_of(address)
    }
}
