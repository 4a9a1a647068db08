//! Chunks of memory pools: physical memory mapped at a pool's addresses.

use super::space::{CHUNK, Piece, Space, State, Tag};

/// The address for an allocation that needs more memory.
pub(crate) struct Growth {
    pub(crate) at: u64,
    /// Offsets of the chunks to back with memory.
    pub(crate) chunks: Vec<u64>,
}

impl Space {
    /// The offset for `len` bytes that needs the least new memory; the lowest of several.
    pub(crate) fn plan_growth(&self, len: u64, usable: &impl Fn(&Tag) -> bool) -> Option<Growth> {
        let may = |piece: &Piece| match &piece.state {
            State::Free | State::Unbacked => true,
            State::Freed(tag) => usable(tag),
            State::Live => false,
        };
        let mut best: Option<Growth> = None;
        // From the end, so that the room after each piece is known.
        let mut room_end = self.len;
        for (at, piece) in self.pieces.iter().rev() {
            if !may(piece) {
                room_end = *at;
                continue;
            }
            if room_end - at < len {
                continue;
            }
            let chunks = self.unbacked_in(*at, at + len);
            if best.as_ref().is_none_or(|best| chunks.len() <= best.chunks.len()) {
                best = Some(Growth { at: *at, chunks });
            }
        }
        best
    }

    fn unbacked_in(&self, start: u64, end: u64) -> Vec<u64> {
        let first = self.pieces.range(..=start).next_back().map_or(0, |(at, _)| *at);
        let mut chunks = Vec::new();
        for (at, piece) in self.pieces.range(first..end) {
            if piece.state == State::Unbacked {
                let from = start.max(*at) / CHUNK * CHUNK;
                let to = end.min(at + piece.len);
                chunks.extend((from..to).step_by(CHUNK as usize));
            }
        }
        chunks
    }

    /// Backs a chunk with memory.
    pub(crate) fn back(&mut self, chunk: u64) {
        self.turn(chunk, State::Free);
        self.reserved += CHUNK;
    }

    /// Releases the memory of an unused chunk.
    pub(crate) fn unback(&mut self, chunk: u64) {
        self.turn(chunk, State::Unbacked);
        self.reserved -= CHUNK;
    }

    /// Changes the state of a chunk, splitting the piece that it lies in.
    fn turn(&mut self, chunk: u64, state: State) {
        let Some((at, piece)) = self.pieces.range(..=chunk).next_back().map(|(at, piece)| (*at, *piece)) else {
            return;
        };
        self.cut(at, piece.len);
        if chunk > at {
            self.put(at, Piece { len: chunk - at, state: piece.state });
        }
        self.put(chunk, Piece { len: CHUNK, state });
        let (end, piece_end) = (chunk + CHUNK, at + piece.len);
        if piece_end > end {
            self.put(end, Piece { len: piece_end - end, state: piece.state });
        }
    }

    /// Unused chunks, the highest first.
    pub(crate) fn idle_chunks(&self) -> Vec<u64> {
        let mut chunks = Vec::new();
        for (len, at) in self.free.range((CHUNK, 0)..) {
            let first = at.next_multiple_of(CHUNK);
            let end = (at + len) / CHUNK * CHUNK;
            chunks.extend((first..end.max(first)).step_by(CHUNK as usize));
        }
        chunks.sort_unstable_by(|left, right| right.cmp(left));
        chunks
    }

    /// `true` if a chunk has memory.
    pub(crate) fn is_backed(&self, chunk: u64) -> bool {
        let piece = self.pieces.range(..=chunk).next_back().map(|(_, piece)| piece);
        piece.is_some_and(|piece| piece.state != State::Unbacked)
    }

    /// All chunks with memory.
    pub(crate) fn backed_chunks(&self) -> Vec<u64> {
        let unbacked = self.unbacked_in(0, self.len);
        (0..self.len).step_by(CHUNK as usize).filter(|chunk| unbacked.binary_search(chunk).is_err()).collect()
    }
}
