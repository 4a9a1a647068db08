//! Address space of a pool: ranges in use, freed, free, or not backed by memory.
//!
//! ```text
//!   0        32M        64M        96M                                       length
//!   ├─ chunk ──┼─ chunk ──┼─ chunk ──┼─ …                                       ┤
//!   │ live │ freed on A │ free       │ unbacked                                 │
//! ```
//!
//! Addresses are one contiguous range, backed by chunks of memory, so an allocation may span chunks. A freed
//! piece keeps its free, because the rules of reuse depend on it. It becomes *free* once the host has seen
//! that free complete. Offsets count from the pool's first address.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::ContextHandle;

/// Size of a chunk.
pub(crate) const CHUNK: u64 = 32 << 20;

/// The free that made a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) queue: QueueId,
    /// Its position in the queue.
    pub(crate) stamp: u64,
    /// The op of the free, until it completes.
    pub(crate) pending: Option<OpId>,
    pub(crate) done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Live,
    Freed(Tag),
    Free,
    Unbacked,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) len: u64,
    pub(crate) state: State,
}

/// Memory freed by one queue, while the host has not seen the frees complete.
struct Frees {
    context: ContextHandle,
    /// Length and offset.
    by_size: BTreeSet<(u64, u64)>,
    /// Stamp and offset of pending frees.
    pending: BTreeSet<(u64, u64)>,
    /// Stamp and offset of completed frees.
    done: BTreeSet<(u64, u64)>,
}

/// Tags of the freed pieces that an allocation took.
pub(crate) type Tags = SmallVec<[Tag; 2]>;

pub(crate) struct Space {
    /// All pieces by offset, without gaps.
    pub(crate) pieces: BTreeMap<u64, Piece>,
    /// Length and offset of free pieces.
    pub(crate) free: BTreeSet<(u64, u64)>,
    freed: BTreeMap<QueueId, Frees>,
    pub(crate) len: u64,
    pub(crate) reserved: u64,
    live: usize,
}

impl Space {
    /// A space of `len` bytes, rounded up to chunks, without memory.
    pub(crate) fn new(len: u64) -> Self {
        let len = len.next_multiple_of(CHUNK);
        Self {
            pieces: BTreeMap::from([(0, Piece { len, state: State::Unbacked })]),
            free: BTreeSet::new(),
            freed: BTreeMap::new(),
            len,
            reserved: 0,
            live: 0,
        }
    }

    /// `true` if no memory is in use, by allocations or by work before a pending free.
    pub(crate) fn is_idle(&self) -> bool {
        self.live == 0 && self.freed.values().all(|frees| frees.pending.is_empty())
    }

    /// Adds a piece to the index of its state.
    #[inline]
    fn list(&mut self, at: u64, piece: Piece) {
        match piece.state {
            State::Free => {
                self.free.insert((piece.len, at));
            }
            State::Freed(tag) => {
                if let Some(frees) = self.freed.get_mut(&tag.queue) {
                    frees.by_size.insert((piece.len, at));
                    if tag.done { &mut frees.done } else { &mut frees.pending }.insert((tag.stamp, at));
                }
            }
            State::Live => self.live += 1,
            State::Unbacked => {}
        }
    }

    #[inline]
    fn unlist(&mut self, at: u64, piece: Piece) {
        match piece.state {
            State::Free => {
                self.free.remove(&(piece.len, at));
            }
            State::Freed(tag) => {
                if let Some(frees) = self.freed.get_mut(&tag.queue) {
                    frees.by_size.remove(&(piece.len, at));
                    if tag.done { &mut frees.done } else { &mut frees.pending }.remove(&(tag.stamp, at));
                }
            }
            State::Live => self.live -= 1,
            State::Unbacked => {}
        }
    }

    fn insert(&mut self, at: u64, piece: Piece) {
        self.list(at, piece);
        self.pieces.insert(at, piece);
    }

    fn remove(&mut self, at: u64) -> Option<Piece> {
        let piece = self.pieces.remove(&at)?;
        self.unlist(at, piece);
        Some(piece)
    }

    /// Changes the state of a piece. Returns the previous state.
    #[inline]
    fn change(&mut self, at: u64, state: State) -> Option<State> {
        let piece = self.pieces.get_mut(&at)?;
        let before = *piece;
        piece.state = state;
        self.unlist(at, before);
        self.list(at, Piece { state, ..before });
        Some(before.state)
    }

    /// Inserts a piece, joined with neighbours of the same state.
    pub(crate) fn put(&mut self, at: u64, piece: Piece) {
        let (mut start, mut whole) = (at, piece);
        if let Some((before, left)) = self.pieces.range(..at).next_back().map(|(at, piece)| (*at, *piece))
            && before + left.len == at
            && let Some(state) = joined(left.state, whole.state)
        {
            self.remove(before);
            (start, whole) = (before, Piece { len: left.len + whole.len, state });
        }
        let end = start + whole.len;
        if let Some(right) = self.pieces.get(&end).copied()
            && let Some(state) = joined(whole.state, right.state)
        {
            self.remove(end);
            whole = Piece { len: whole.len + right.len, state };
        }
        self.insert(start, whole);
    }

    /// Cuts `len` bytes out of the pieces from `at` on, which is the start of a piece. Returns the tags of
    /// freed pieces.
    pub(crate) fn cut(&mut self, at: u64, len: u64) -> Tags {
        let mut tags = Tags::new();
        let (mut from, end) = (at, at + len);
        while from < end {
            let Some(piece) = self.remove(from) else { break };
            if let State::Freed(tag) = piece.state {
                tags.push(tag);
            }
            let piece_end = from + piece.len;
            if piece_end > end {
                self.insert(end, Piece { len: piece_end - end, state: piece.state });
            }
            from = piece_end;
        }
        tags
    }

    /// Allocates a range that `find` returned.
    pub(crate) fn take_at(&mut self, at: u64, len: u64) -> Tags {
        if self.pieces.get(&at).is_some_and(|piece| piece.len == len) {
            return match self.change(at, State::Live) {
                Some(State::Freed(tag)) => Tags::from_slice(&[tag]),
                _ => Tags::new(),
            };
        }
        let tags = self.cut(at, len);
        self.insert(at, Piece { len, state: State::Live });
        tags
    }

    /// The offset for `len` bytes without more memory, for an allocation on `queue` that may reuse the frees
    /// accepted by `usable`.
    ///
    /// In this order: the queue's own frees, free memory, other frees, several of these side by side.
    pub(crate) fn find(&self, len: u64, queue: QueueId, usable: &impl Fn(&Tag) -> bool) -> Option<u64> {
        let fits = |set: &BTreeSet<(u64, u64)>| set.range((len, 0)..).next().map(|(_, at)| *at);
        let own = self.freed.get(&queue).and_then(|frees| fits(&frees.by_size));
        own.or_else(|| fits(&self.free))
            .or_else(|| self.find_foreign(len, queue, usable))
            .or_else(|| self.find_run(len, usable))
    }

    fn find_foreign(&self, len: u64, queue: QueueId, usable: &impl Fn(&Tag) -> bool) -> Option<u64> {
        self.freed.iter().filter(|(other, _)| **other != queue).find_map(|(_, frees)| {
            // The oldest free is usable if any is, so the others of a blocked stream need no check.
            let oldest = frees.done.first().or(frees.pending.first())?;
            self.usable_at(oldest.1, usable)?;
            frees.by_size.range((len, 0)..).map(|(_, at)| *at).find(|at| self.usable_at(*at, usable).is_some())
        })
    }

    /// The length of a piece that is backed and usable.
    fn usable_at(&self, at: u64, usable: &impl Fn(&Tag) -> bool) -> Option<u64> {
        let piece = self.pieces.get(&at)?;
        let may = match &piece.state {
            State::Free => true,
            State::Freed(tag) => usable(tag),
            State::Live | State::Unbacked => false,
        };
        may.then_some(piece.len)
    }

    /// Adjacent pieces that fit together.
    fn find_run(&self, len: u64, usable: &impl Fn(&Tag) -> bool) -> Option<u64> {
        let mut starts: Vec<u64> =
            self.freed.values().flat_map(|frees| frees.by_size.iter().map(|(_, at)| *at)).collect();
        starts.sort_unstable();
        let mut covered = 0;
        for at in starts {
            if at < covered || self.usable_at(at, usable).is_none() {
                continue;
            }
            let left = self.pieces.range(..at).next_back();
            let start = left.filter(|(_, piece)| piece.state == State::Free).map_or(at, |(start, _)| *start);
            let mut end = start;
            while let Some(more) = self.usable_at(end, usable) {
                end += more;
            }
            if end - start >= len {
                return Some(start);
            }
            covered = end;
        }
        None
    }

    /// Marks a live piece as freed by a pending op.
    pub(crate) fn give(&mut self, at: u64, tag: Tag, context: ContextHandle) {
        if !self.freed.contains_key(&tag.queue) {
            // Drops the entries of queues without frees, so that destroyed streams leave none behind.
            self.freed.retain(|_, frees| !frees.by_size.is_empty());
            let empty = Frees { context, by_size: BTreeSet::new(), pending: BTreeSet::new(), done: BTreeSet::new() };
            self.freed.insert(tag.queue, empty);
        }
        self.change(at, State::Freed(tag));
    }

    /// Sets the op of a pending free.
    pub(crate) fn name_op(&mut self, at: u64, op: OpId) {
        if let Some(Piece { state: State::Freed(tag), .. }) = self.pieces.get_mut(&at)
            && !tag.done
        {
            tag.pending = Some(op);
        }
    }

    /// Makes a live piece free at once.
    pub(crate) fn give_now(&mut self, at: u64) {
        let Some(piece) = self.remove(at) else { return };
        self.put(at, Piece { len: piece.len, state: State::Free });
    }

    /// Notes that a queue has completed its frees up to this stamp.
    #[inline]
    pub(crate) fn reached(&mut self, queue: QueueId, stamp: u64) {
        while let Some(at) = self.freed.get(&queue).and_then(|frees| up_to(&frees.pending, stamp)) {
            let Some(piece) = self.remove(at) else { break };
            if let State::Freed(tag) = piece.state {
                let tag = Tag { pending: None, done: true, ..tag };
                self.put(at, Piece { len: piece.len, state: State::Freed(tag) });
            }
        }
    }

    /// Makes the memory of frees free for all queues, once the host has seen them complete according to
    /// `seen`.
    pub(crate) fn observe(&mut self, seen: impl Fn(QueueId, ContextHandle, u64) -> bool) {
        let queues: SmallVec<[(QueueId, ContextHandle); 4]> =
            self.freed.iter().filter(|(_, frees)| !frees.done.is_empty()).map(|(id, it)| (*id, it.context)).collect();
        for (queue, context) in queues {
            while let Some((stamp, at)) = self.freed.get(&queue).and_then(|frees| frees.done.first().copied()) {
                if !seen(queue, context, stamp) {
                    break;
                }
                let Some(piece) = self.remove(at) else { break };
                self.put(at, Piece { len: piece.len, state: State::Free });
            }
        }
    }
}

fn up_to(set: &BTreeSet<(u64, u64)>, stamp: u64) -> Option<u64> {
    set.first().filter(|(first, _)| *first <= stamp).map(|(_, at)| *at)
}

/// The common state of two neighbours, if they can be joined. Pending frees stay apart: an event between two
/// of them makes one usable before the other.
fn joined(left: State, right: State) -> Option<State> {
    match (left, right) {
        (State::Free, State::Free) => Some(State::Free),
        (State::Unbacked, State::Unbacked) => Some(State::Unbacked),
        (State::Freed(left), State::Freed(right)) if left.queue == right.queue && left.done && right.done => {
            Some(State::Freed(if left.stamp > right.stamp { left } else { right }))
        }
        _ => None,
    }
}
