//! The blocks, segments and lanes of a cache: no driver call is made here.
//!
//! Every free, new segment and takeover of blocks has a *time*, a number that only grows. A stream that waits
//! for another at a time may use all blocks that the other's lane got until then.

use warploom_driver::sys::types::CUdeviceptr;

use super::blocks::{Block, BlockState, Blocks, NONE};
use super::lane::Lane;
use super::lease::Holders;
use super::size::{Kind, segment_size};
use super::statistics::CacheStatistics;
use crate::Stream;

/// The part of the peak demand that a cache may keep beyond it.
const ALLOWANCE: usize = 16;
/// Bytes that a cache may keep in any case.
const LITTLE: usize = 64 << 20;

/// The most streams with free blocks that only the cache still holds.
const FORSAKEN: usize = 8;

/// The state of a cache, under its lock.
#[derive(Default)]
pub(super) struct State {
    pub(super) blocks: Blocks,
    segments: Vec<Option<Segment>>,
    pub(super) lanes: Vec<Option<Box<Lane>>>,
    /// The lane of the last allocation.
    recent: usize,
    now: u64,
    pub(super) statistics: CacheStatistics,
    pub(super) holders: Holders,
}

/// Memory of the resource below.
struct Segment {
    bytes: usize,
    kind: Kind,
    first: usize,
    /// Blocks in the hands of buffers.
    used: usize,
}

/// A block that was taken for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) address: CUdeviceptr,
    pub(super) block: usize,
}

/// A search among the blocks of other streams.
pub(super) enum Search {
    Found(Taken),
    /// There is a block behind the work of that stream.
    Behind(Other),
    Nothing,
}

/// The stream of another lane, and the time up to which a wait for it counts.
pub(super) struct Other {
    pub(super) lane: usize,
    pub(super) stream: Stream,
    /// `true` if only the cache still holds the stream.
    pub(super) is_forsaken: bool,
    time: u64,
}

/// A segment that no buffer uses, taken out to be given back.
pub(super) struct Unused {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: usize,
    kind: Kind,
    /// Its blocks, by address.
    parts: Vec<Part>,
}

/// A free block of an unused segment.
struct Part {
    bytes: usize,
    stream: Stream,
}

impl Unused {
    /// The streams that freed parts of it, the last one often repeated.
    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.parts.iter().map(|part| &part.stream)
    }
}

impl State {
    /// Takes a block of the stream's own: one that is as large, or a part of a larger one.
    pub(super) fn take(&mut self, bytes: usize, stream: &Stream) -> Option<Taken> {
        let lane = self.lane_of(stream)?;
        self.take_of(bytes, lane)
    }

    /// The same, by the lane of the stream.
    #[inline]
    pub(super) fn take_of(&mut self, bytes: usize, at: usize) -> Option<Taken> {
        let lane = self.lanes[at].as_mut()?;
        match lane.pop_quick(&mut self.blocks, bytes) {
            Some(block) => {
                self.statistics.hits += 1;
                Some(self.hand_out(block))
            }
            None => self.take_listed(bytes, at),
        }
    }

    #[inline]
    fn hand_out(&mut self, at: usize) -> Taken {
        let block = &mut self.blocks[at];
        block.state = BlockState::Used;
        if let Some(segment) = &mut self.segments[block.segment] {
            segment.used += 1;
        }
        self.statistics.takes(block.bytes);
        Taken { address: block.address, block: at }
    }

    #[cold]
    fn take_listed(&mut self, bytes: usize, lane: usize) -> Option<Taken> {
        self.coalesce(lane);
        let kind = Kind::of(bytes);
        let found = self.lanes[lane].as_ref()?.lists(kind).find(&self.blocks, bytes, kind.most(bytes))?;
        self.cut_off(found, bytes);
        self.statistics.hits += 1;
        Some(self.hand_out(found))
    }

    /// Takes a listed block out of its list; all but so many bytes of it stay there.
    fn cut_off(&mut self, at: usize, bytes: usize) {
        let State { blocks, lanes, statistics, .. } = self;
        let Some(lane) = lanes[blocks[at].lane].as_mut() else { return };
        let lists = lane.lists_mut(blocks[at].kind);
        lists.remove(blocks, at);
        if blocks[at].bytes > bytes {
            let rest = blocks.cut(at, bytes);
            lists.insert(blocks, rest);
            statistics.splits += 1;
        }
        lane.free -= bytes;
    }

    /// Frees a block in the order of a stream. `false` if no buffer has one there.
    pub(super) fn give(&mut self, address: CUdeviceptr, hint: usize, stream: &Stream) -> bool {
        let Some(at) = self.blocks.used_at(address, hint) else { return false };
        let lane = match self.blocks[at].lane {
            lane if self.lanes.get(lane).and_then(Option::as_ref).is_some_and(|lane| lane.is_of(stream)) => lane,
            _ => self.lane_for(stream),
        };
        self.give_to(address, at, lane)
    }

    /// The same, by the lane of the stream.
    #[inline]
    pub(super) fn give_to(&mut self, address: CUdeviceptr, hint: usize, lane: usize) -> bool {
        let Some(at) = self.blocks.used_at(address, hint) else { return false };
        self.now += 1;
        let block = &mut self.blocks[at];
        (block.lane, block.freed_at) = (lane, self.now);
        if let Some(segment) = &mut self.segments[block.segment] {
            segment.used -= 1;
        }
        self.statistics.gives(block.bytes);
        if let Some(lane) = &mut self.lanes[lane] {
            lane.push_quick(&mut self.blocks, at);
        }
        true
    }

    /// Coalesces the quick blocks of a lane with their neighbours.
    fn coalesce(&mut self, at: usize) {
        let State { blocks, lanes, statistics, .. } = self;
        let Some(lane) = lanes[at].as_deref_mut() else { return };
        while let Some(mut block) = lane.drain_quick(blocks) {
            let is_free = |blocks: &Blocks, other: usize| {
                other != NONE && blocks[other].state == BlockState::Listed && blocks[other].lane == at
            };
            let Block { before, after, kind, .. } = blocks[block];
            let lists = lane.lists_mut(kind);
            if is_free(blocks, after) {
                lists.remove(blocks, after);
                blocks.join(block);
                statistics.merges += 1;
            }
            if is_free(blocks, before) {
                lists.remove(blocks, before);
                blocks.join(before);
                block = before;
                statistics.merges += 1;
            }
            lists.insert(blocks, block);
        }
    }

    /// The lane of a stream, if it has one.
    #[inline]
    pub(super) fn lane_of(&mut self, stream: &Stream) -> Option<usize> {
        let is_its = |lane: &Option<Box<Lane>>| lane.as_ref().is_some_and(|lane| lane.is_of(stream));
        if self.lanes.get(self.recent).is_some_and(is_its) {
            return Some(self.recent);
        }
        self.recent = self.lanes.iter().position(is_its)?;
        Some(self.recent)
    }

    /// The lane of a stream, made if it has none.
    pub(super) fn lane_for(&mut self, stream: &Stream) -> usize {
        self.lane_of(stream).unwrap_or_else(|| {
            let vacant = self.lanes.iter().position(Option::is_none).unwrap_or(self.lanes.len());
            if vacant == self.lanes.len() {
                self.lanes.push(None);
            }
            self.lane_at(vacant, stream);
            vacant
        })
    }

    /// The lane at a position, which is the stream's or vacant.
    #[inline]
    pub(super) fn lane_at(&mut self, at: usize, stream: &Stream) -> &mut Lane {
        self.lanes[at].get_or_insert_with(|| Box::new(Lane::new(stream, at)))
    }

    /// Takes a block that another stream has freed, if the stream has waited for that; the lanes of
    /// `declined` are left alone.
    pub(super) fn take_from_others(&mut self, bytes: usize, stream: &Stream, declined: &[usize]) -> Search {
        let (own, kind) = (self.lane_for(stream), Kind::of(bytes));
        let mut best: Option<(bool, usize, usize)> = None;
        for other in 0..self.lanes.len() {
            let is_meant = self.lanes[other].as_ref().is_some_and(|lane| lane.free >= bytes);
            if other == own || !is_meant || declined.contains(&other) {
                continue;
            }
            self.coalesce(other);
            let (Some(lane), Some(mine)) = (&self.lanes[other], &self.lanes[own]) else { continue };
            if let Some(found) = lane.lists(kind).find(&self.blocks, bytes, kind.most(bytes)) {
                let block = &self.blocks[found];
                let candidate = (block.freed_at > mine.seen(other), block.bytes, found);
                best = Some(best.map_or(candidate, |best| best.min(candidate)));
            }
        }
        let Some((needs_wait, _, found)) = best else { return Search::Nothing };
        if needs_wait {
            let lane = self.blocks[found].lane;
            return self.other(lane).map_or(Search::Nothing, Search::Behind);
        }
        self.cut_off(found, bytes);
        self.blocks[found].lane = own;
        self.statistics.hits += 1;
        self.statistics.crossings += 1;
        Search::Found(self.hand_out(found))
    }

    fn other(&self, lane: usize) -> Option<Other> {
        let found = self.lanes[lane].as_ref()?;
        let is_forsaken = found.is_forsaken();
        Some(Other { lane, stream: found.stream().clone(), is_forsaken, time: self.now })
    }

    /// Takes note that a stream has waited for another.
    pub(super) fn saw(&mut self, stream: &Stream, other: &Other) {
        let own = self.lane_for(stream);
        if let Some(lane) = &mut self.lanes[own] {
            lane.see(other.lane, other.time);
        }
    }

    /// The streams whose free blocks a stream would have to take over so that they can be coalesced: those
    /// that only the cache still holds, and all of them if the cache keeps much.
    pub(super) fn others(&mut self, bytes: usize, stream: &Stream) -> Vec<Other> {
        let own = self.lane_of(stream);
        let keeps_much = self.statistics.cached >= bytes && self.exceeds_allowance(bytes);
        let is_meant = |at: usize, lane: &Lane| Some(at) != own && (lane.is_forsaken() || keeps_much && lane.free > 0);
        let lanes = self.lanes.iter().enumerate();
        let meant = lanes.filter(|(at, lane)| lane.as_ref().is_some_and(|lane| is_meant(*at, lane)));
        meant.filter_map(|(at, _)| self.other(at)).collect()
    }

    /// The streams that only the cache still holds and that have free blocks, if there are many.
    pub(super) fn forsaken(&self) -> Vec<Other> {
        let is_meant = |lane: &&Option<Box<Lane>>| lane.as_ref().is_some_and(|lane| lane.is_forsaken());
        if self.lanes.iter().filter(is_meant).count() <= FORSAKEN {
            return Vec::new();
        }
        let lanes = self.lanes.iter().enumerate();
        lanes.filter(|(_, lane)| is_meant(lane)).filter_map(|(at, _)| self.other(at)).collect()
    }

    /// `true` if a new segment for a block would make the cache keep too much: then memory of all streams is
    /// coalesced, and unused memory is given back before more is taken.
    pub(super) fn exceeds_allowance(&self, block: usize) -> bool {
        let CacheStatistics { reserved, in_use, in_use_peak, .. } = self.statistics;
        let peak = in_use_peak.max(in_use.saturating_add(block));
        let allowance = peak.saturating_add(peak / ALLOWANCE).max(LITTLE);
        reserved.saturating_add(segment_size(block, reserved)) > allowance
    }

    /// Moves the blocks of another lane to that of a stream which has waited for it.
    pub(super) fn adopt(&mut self, stream: &Stream, other: &Other) {
        let own = self.lane_for(stream);
        self.coalesce(other.lane);
        // The blocks come after a wait of this stream, of which those that waited for it before know nothing.
        self.now += 1;
        let State { blocks, lanes, now, .. } = self;
        let Some(mut from) = lanes[other.lane].take() else { return };
        let mut late = Vec::new();
        while let Some(block) = from.pop_listed(blocks) {
            match &mut lanes[own] {
                Some(to) if blocks[block].freed_at <= other.time => {
                    (blocks[block].lane, blocks[block].freed_at) = (own, *now);
                    from.free -= blocks[block].bytes;
                    to.push_quick(blocks, block);
                }
                _ => late.push(block),
            }
        }
        late.into_iter().for_each(|block| from.lists_mut(blocks[block].kind).insert(blocks, block));
        lanes[other.lane] = Some(from);
    }

    /// Counts the bytes of a new segment for a block, before they are asked for: as many as are good, or as
    /// few as needed if a limit leaves no more. `Err` with the bytes that are there if that is too much.
    pub(super) fn reserve(&mut self, block: usize, limit: usize, is_exact: bool) -> Result<usize, usize> {
        let reserved = self.statistics.reserved;
        let fits = |bytes: &usize| reserved.checked_add(*bytes).is_some_and(|all| all <= limit);
        let wanted = if is_exact { block } else { segment_size(block, reserved) };
        let bytes = Some(wanted).filter(fits).or(Some(block).filter(fits)).ok_or(reserved)?;
        self.statistics.reserves(bytes);
        Ok(bytes)
    }

    /// Adds a segment whose bytes were counted before, allocated in the order of a stream, and takes a block
    /// from its start.
    pub(super) fn add_segment(&mut self, memory: (CUdeviceptr, usize), bytes: usize, stream: &Stream) -> Taken {
        let lane = self.lane_for(stream);
        let block = self.add_free(memory, Kind::of(bytes), lane);
        let State { blocks, lanes, .. } = self;
        if let Some(lane) = &mut lanes[lane] {
            lane.lists_mut(blocks[block].kind).insert(blocks, block);
        }
        self.statistics.misses += 1;
        self.cut_off(block, bytes);
        self.hand_out(block)
    }

    /// A segment of one block, which counts as free but is in no list yet.
    fn add_free(&mut self, (address, bytes): (CUdeviceptr, usize), kind: Kind, lane: usize) -> usize {
        let at = self.segments.iter().position(Option::is_none).unwrap_or(self.segments.len());
        let first = self.blocks.add((address, bytes), (at, kind), lane);
        self.now += 1;
        self.blocks[first].freed_at = self.now;
        let segment = Some(Segment { bytes, kind, first, used: 0 });
        match self.segments.get_mut(at) {
            Some(vacant) => *vacant = segment,
            None => self.segments.push(segment),
        }
        self.statistics.segments += 1;
        self.statistics.cached += bytes;
        if let Some(lane) = &mut self.lanes[lane] {
            lane.free += bytes;
        }
        first
    }

    /// Takes segments out that no buffer uses, the largest first, until they have so many bytes. The bytes
    /// still count as reserved.
    pub(super) fn take_unused(&mut self, enough: usize) -> Vec<Unused> {
        (0..self.lanes.len()).for_each(|lane| self.coalesce(lane));
        let size_if_unused = |segment: &Option<Segment>| {
            segment.as_ref().filter(|segment| segment.used == 0).map(|segment| segment.bytes)
        };
        let all = self.segments.iter().enumerate();
        let mut found: Vec<_> = all.filter_map(|(at, segment)| Some((size_if_unused(segment)?, at))).collect();
        found.sort_unstable_by(|first, second| second.cmp(first));
        let (mut unused, mut bytes) = (Vec::new(), 0);
        for (size, at) in found {
            if bytes >= enough {
                break;
            }
            if let Some(segment) = self.segments[at].take() {
                unused.push(self.dissolve(&segment));
                bytes += size;
            }
        }
        unused
    }

    fn dissolve(&mut self, segment: &Segment) -> Unused {
        let State { blocks, lanes, statistics, .. } = self;
        let (address, mut parts, mut at) = (blocks[segment.first].address, Vec::new(), segment.first);
        while at != NONE {
            let Block { bytes, after, lane, .. } = blocks[at];
            if let Some(lane) = &mut lanes[lane] {
                lane.lists_mut(segment.kind).remove(blocks, at);
                lane.free -= bytes;
                parts.push(Part { bytes, stream: lane.stream().clone() });
            }
            blocks.remove(at);
            at = after;
        }
        statistics.segments -= 1;
        statistics.cached -= segment.bytes;
        Unused { address, bytes: segment.bytes, kind: segment.kind, parts }
    }

    /// Puts a segment back that could not be given back, as it was.
    pub(super) fn restore(&mut self, unused: &Unused) {
        let Some(first) = unused.parts.first() else { return };
        let lane = self.lane_for(&first.stream);
        let mut at = self.add_free((unused.address, unused.bytes), unused.kind, lane);
        for (index, part) in unused.parts.iter().enumerate() {
            let rest = (index + 1 < unused.parts.len()).then(|| self.blocks.cut(at, part.bytes));
            let lane = self.lane_for(&part.stream);
            let former = std::mem::replace(&mut self.blocks[at].lane, lane);
            if let Some(former) = &mut self.lanes[former] {
                former.free -= part.bytes;
            }
            let State { blocks, lanes, .. } = self;
            if let Some(lane) = &mut lanes[lane] {
                lane.push_quick(blocks, at);
            }
            at = rest.unwrap_or(NONE);
        }
    }

    /// The streams that have free blocks.
    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.lanes.iter().flatten().filter(|lane| lane.free > 0).map(|lane| lane.stream())
    }

    /// Takes the lanes out whose streams only the cache still holds, and that have no free blocks.
    pub(super) fn take_idle_lanes(&mut self) -> Vec<Box<Lane>> {
        let is_idle = |lane: &mut Box<Lane>| lane.free == 0 && lane.is_forsaken();
        self.lanes.iter_mut().filter_map(|lane| lane.take_if(is_idle)).collect()
    }
}
