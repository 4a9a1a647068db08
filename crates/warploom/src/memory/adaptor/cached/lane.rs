//! Lanes: the free blocks of one stream, in whose order they may be used again.
//!
//! A block that is freed goes to a *quick* list by its size, from which the next allocation of the same size
//! takes it as it is. If there is none, all quick blocks of the lane are coalesced with their neighbours and
//! go to the [lists](FreeLists) by size class.

use std::ptr::NonNull;
use std::sync::Arc;

use super::blocks::{BlockState, Blocks, NONE};
use super::free_lists::FreeLists;
use super::size::{GRANULE, Kind};
use crate::Stream;

/// Quick lists of a lane; sizes share them.
const QUICK: usize = 64;
/// Blocks of a quick list that are compared with a size.
const COMPARED: usize = 4;

/// The free blocks of a stream.
pub(super) struct Lane {
    home: Arc<Home>,
    /// Leases of blocks that were allocated on the stream; the lane stays while it has any.
    pub(super) leases: usize,
    /// Heads of quick lists.
    quick: [usize; QUICK],
    has_quick: bool,
    /// The coalesced blocks of segments of each kind.
    lists: [FreeLists; 2],
    /// Bytes of free blocks.
    pub(super) free: usize,
    /// The time up to which the stream has waited for each of the others, by lane.
    seen: Vec<(usize, u64)>,
}

/// The stream of a lane. Leases have pointers to it, and it is never changed.
pub(super) struct Home {
    pub(super) stream: Stream,
    /// The position of the lane.
    pub(super) lane: usize,
}

/// The quick list of a size.
#[inline]
fn quick_list(bytes: usize) -> usize {
    let granules = (bytes / GRANULE) as u64;
    (granules.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % QUICK
}

impl Lane {
    pub(super) fn new(stream: &Stream, at: usize) -> Lane {
        Lane {
            home: Arc::new(Home { stream: stream.clone(), lane: at }),
            leases: 0,
            quick: [NONE; QUICK],
            has_quick: false,
            lists: <[FreeLists; 2]>::default(),
            free: 0,
            seen: Vec::new(),
        }
    }

    /// `true` if it is the lane of the stream.
    #[inline]
    pub(super) fn is_of(&self, stream: &Stream) -> bool {
        self.stream().as_raw() == stream.as_raw() && self.stream() == stream
    }

    #[inline]
    pub(super) fn stream(&self) -> &Stream {
        &self.home.stream
    }

    /// `true` if only the cache still holds its stream.
    pub(super) fn is_forsaken(&self) -> bool {
        self.leases == 0 && self.stream().is_only_handle()
    }

    /// Counts a lease, which may use the home until it is uncounted.
    #[inline]
    pub(super) fn lease(&mut self) -> NonNull<Home> {
        self.leases += 1;
        NonNull::from(&*self.home)
    }

    /// Frees a block for the next allocation of its size.
    #[inline]
    pub(super) fn push_quick(&mut self, blocks: &mut Blocks, at: usize) {
        let block = &mut blocks[at];
        self.free += block.bytes;
        self.has_quick = true;
        block.state = BlockState::Quick;
        block.list_after = std::mem::replace(&mut self.quick[quick_list(block.bytes)], at);
    }

    /// Takes a block of exactly so many bytes that was freed not long ago.
    #[inline]
    pub(super) fn pop_quick(&mut self, blocks: &mut Blocks, bytes: usize) -> Option<usize> {
        let list = quick_list(bytes);
        let (mut before, mut at) = (NONE, self.quick[list]);
        for _ in 0..COMPARED {
            if at == NONE {
                return None;
            }
            let (found, after) = (blocks[at].bytes, blocks[at].list_after);
            if found == bytes {
                match before {
                    NONE => self.quick[list] = after,
                    before => blocks[before].list_after = after,
                }
                self.free -= bytes;
                return Some(at);
            }
            (before, at) = (at, after);
        }
        None
    }

    /// The coalesced blocks of segments of a kind.
    pub(super) fn lists(&self, kind: Kind) -> &FreeLists {
        &self.lists[kind as usize]
    }

    /// The coalesced blocks of segments of a kind, to be changed.
    pub(super) fn lists_mut(&mut self, kind: Kind) -> &mut FreeLists {
        &mut self.lists[kind as usize]
    }

    /// A coalesced block, taken out of its list.
    pub(super) fn pop_listed(&mut self, blocks: &mut Blocks) -> Option<usize> {
        let at = self.lists.iter().find_map(FreeLists::first)?;
        self.lists_mut(blocks[at].kind).remove(blocks, at);
        Some(at)
    }

    /// Takes any quick block out, to be coalesced.
    pub(super) fn drain_quick(&mut self, blocks: &Blocks) -> Option<usize> {
        if !self.has_quick {
            return None;
        }
        let head = self.quick.iter_mut().find(|head| **head != NONE);
        self.has_quick = head.is_some();
        head.map(|head| std::mem::replace(head, blocks[*head].list_after))
    }

    /// The time up to which its stream has waited for that of another lane.
    pub(super) fn seen(&self, other: usize) -> u64 {
        self.seen.iter().find(|(lane, _)| *lane == other).map_or(0, |(_, time)| *time)
    }

    /// Takes note that its stream has waited for that of another lane.
    pub(super) fn see(&mut self, other: usize, now: u64) {
        match self.seen.iter_mut().find(|(lane, _)| *lane == other) {
            Some((_, time)) => *time = now.max(*time),
            None => self.seen.push((other, now)),
        }
    }
}
