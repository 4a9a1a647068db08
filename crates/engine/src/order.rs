//! The point in time before a queue's next op.

use crate::clock::{Epoch, VectorClock};
use crate::id::QueueId;
use crate::known::Known;

/// Everything that is before a point: ops by the order of queues, and what a program may rely on to be over.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// A timeline for each queue.
    order: VectorClock,
    /// Steps that a program may rely on to be over.
    pub known: Known,
}

impl Moment {
    /// The start of a queue that continues the count of the retired one whose place it takes.
    pub(crate) fn of_queue(index: u32, count: u64, known: Known) -> Self {
        Self { order: VectorClock::of(Epoch { timeline: index, count }), known }
    }

    /// One more op of the own queue.
    pub(crate) fn advance(&mut self) {
        self.order.advance();
        self.known.advance();
    }

    /// Ops of the own queue so far: the stamp of the newest.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        self.order.newest().count
    }

    /// Everything before `other` is now before this, too.
    pub fn join(&mut self, other: &Moment) {
        self.join_order(other);
        self.known.join(&other.known);
    }

    /// As a join, for the engine alone: nothing was enqueued or waited for that a program could rely on.
    pub(crate) fn join_order(&mut self, other: &Moment) {
        self.order.join(&other.order);
    }

    /// The op with this stamp in that queue, and those before it there, are now before this, too.
    pub fn include(&mut self, queue: QueueId, stamp: u64) {
        self.order.include(Epoch { timeline: queue.number(), count: stamp });
    }

    /// Takes over another moment and keeps the own heap memory.
    pub fn copy_from(&mut self, other: &Moment) {
        self.order.copy_from(&other.order);
        self.known.copy_from(&other.known);
    }

    /// `true` if the op with this stamp in that queue is before.
    #[must_use]
    pub fn includes(&self, queue: QueueId, stamp: u64) -> bool {
        self.order.includes(Epoch { timeline: queue.number(), count: stamp })
    }
}

/// A span of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The start, in virtual time.
    pub start: u64,
    /// The end, in virtual time.
    pub end: u64,
}
