//! Bytes that were discarded, and who may have written them since.
//!
//! A discard leaves nothing that anyone may rely on, until someone writes. The machine sees what work writes, but not what
//! the host does. The host may write once it knows that the discard is over; from then on the bytes themselves are asked, a
//! piece at a time: they still hold what the discard left there, or someone has been there. What a host function does is not
//! seen either, and might come before the host knows anything, so that one that is enqueued ends all suspicion.

use std::ops::Range;

use super::AccessKind;
use super::ranges::Ranges;
use super::shadow::Shadow;
use super::watch::shadow_mut;
use crate::api::managed::LEFT;
use crate::machine::world::World;
use crate::memory::SimAddress;
use warploom_engine::Known;

/// What is taken to be written as a whole.
const PIECE: u64 = 4096;

impl Shadow {
    /// Whether whoever knows `known` comes behind every discard of a stretch.
    fn is_discard_over(&self, bytes: &Range<u64>, known: &Known) -> bool {
        self.accesses(bytes).all(|access| access.kind != AccessKind::Discard || known.includes(access.epoch))
    }

    /// The parts of a stretch that were discarded and that nobody has written since; `start` is where its first byte is.
    pub(super) fn lost(&self, bytes: &Range<u64>, start: SimAddress, host: &Known) -> Vec<Range<u64>> {
        let mut lost: Vec<Range<u64>> = Vec::new();
        let mut lose = |part: Range<u64>| match lost.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => lost.push(part),
        };
        self.discarded.parts(bytes, |part| {
            if !self.is_discard_over(&part, host) {
                return lose(part);
            }
            let mut at = part.start;
            while at < part.end {
                let end = (at / PIECE + 1).saturating_mul(PIECE).min(part.end);
                let piece = start.offset(at - bytes.start).take(end - at);
                if piece.iter().all(|byte| *byte == LEFT) {
                    lose(at..end);
                }
                at = end;
            }
        });
        lost
    }
}

impl World {
    /// Someone whom nobody sees may write what was discarded.
    pub(super) fn forget_discards(&mut self) {
        if !self.managed_memory.is_used() {
            return;
        }
        let World { memory, virtual_memory, .. } = self;
        for allocation in memory.iter_mut().filter(|allocation| allocation.is_managed()) {
            if let Some(shadow) = shadow_mut(allocation, virtual_memory) {
                shadow.discarded = Ranges::default();
            }
        }
    }
}
