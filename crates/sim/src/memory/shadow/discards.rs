//! Discarded bytes that have not been written since.
//!
//! The contents of discarded bytes are undefined until they are written. The machine sees the writes of work,
//! but not those of the host. The host may write once it knows that the discard is over; from then on the
//! bytes themselves are compared, a piece at a time: they still hold the fill of the discard, or the host has
//! written. Writes of a host function are not seen either, and may come before the host knows anything, so
//! enqueueing one forgets all discards.

use std::ops::Range;

use warploom_engine::Known;

use super::bytes::Shadow;
use super::operation::AccessKind;
use crate::memory::sim_address::SimAddress;

/// The byte that a discard leaves in memory: any value will do, and this one is seen in a debugger.
pub(crate) const DISCARD_FILL: u8 = 0xdc;
/// The number of bytes of a discarded range that are overwritten and watched: a discard is to make memory
/// cheaper.
pub(crate) const DISCARD_LIMIT: u64 = 256 << 20;
/// The number of bytes that count as written together.
const PIECE: u64 = 4096;

impl Shadow {
    /// `true` if `known` includes every discard of a range.
    fn is_discard_over(&self, bytes: &Range<u64>, known: &Known) -> bool {
        self.accesses(bytes).all(|access| access.kind != AccessKind::Discard || known.includes(access.epoch))
    }

    /// The parts of a range that were discarded and not written since; `start` is the address of its first
    /// byte.
    pub(crate) fn lost(&self, bytes: &Range<u64>, start: SimAddress, host: &Known) -> Vec<Range<u64>> {
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
                if piece.iter().all(|byte| *byte == DISCARD_FILL) {
                    lose(at..end);
                }
                at = end;
            }
        });
        lost
    }
}
