//! Blocks that a program hands out itself, by memory annotations.

use std::ops::Range;

use warploom_engine::QueueId;

use crate::ffi::status::Status;
use crate::machine::checks::stream_info;
use crate::machine::world::World;

impl World {
    /// Lends bytes of an allocation in the order of a queue, whose next op this is.
    pub(crate) fn lend_block(&mut self, queue: QueueId, addresses: &Range<u64>) -> Status {
        self.catch_up(queue);
        let (known, stream) = (self.known_before_next(queue), stream_info(&self.engine, queue));
        let (checker, mut parts) = self.checked_parts();
        checker.check_lend(&mut parts, addresses, stream, &known)
    }

    /// Takes a block back in the order of a queue, whose next op this is.
    pub(crate) fn release_block(&mut self, queue: QueueId, address: u64) -> Status {
        self.catch_up(queue);
        let (known, stream) = (self.known_before_next(queue), stream_info(&self.engine, queue));
        let (checker, mut parts) = self.checked_parts();
        checker.check_release(&mut parts, address, stream, &known)
    }
}
