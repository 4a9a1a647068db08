//! The order between the streams of a capture, and the memory of its graph that depends on it.
//!
//! A node that uses memory of a graph has to come after the node that allocates it, and before the one that
//! frees it. Allocations and uses are numbered by stream. Each stream has a clock: the numbers of all streams up
//! to which its next node comes after them. A record copies the clock of its stream, and a wait for the event
//! merges the copy into the clock of the stream that waits. So a stream is made to wait only where there is no
//! order yet. Records and waits made by calling the driver are not seen, and can only lead to a wait too many.

use std::collections::BTreeMap;

use crate::Stream;

/// The numbers of the streams, by their index; a stream that is missing at the end has number 0.
#[derive(Clone, Default)]
struct Clock(Vec<u64>);

impl Clock {
    fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    fn set(&mut self, stream: usize, number: u64) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] = number;
    }

    fn merge(&mut self, other: &Clock) {
        for (stream, number) in other.0.iter().enumerate() {
            self.set(stream, self.of(stream).max(*number));
        }
    }
}

/// An allocation of the graph, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphMemoryId(usize);

/// Memory that the graph allocates.
struct GraphMemory {
    /// The index of the stream that allocates and frees it.
    home: usize,
    /// The number of the allocation on that stream.
    number: u64,
    /// The streams that use it, with the numbers of their last uses.
    uses: Vec<(usize, u64)>,
}

/// The order between the streams of a capture, since its graph first allocated memory.
#[derive(Default)]
pub(super) struct Order {
    streams: Vec<(Stream, Clock)>,
    /// The clocks at which events were recorded, by the event's handle.
    records: BTreeMap<usize, Clock>,
    memory: Vec<GraphMemory>,
}

impl Order {
    fn index(&mut self, stream: &Stream) -> usize {
        let known = self.streams.iter().position(|(known, _)| known == stream);
        known.unwrap_or_else(|| {
            self.streams.push((stream.clone(), Clock::default()));
            self.streams.len() - 1
        })
    }

    /// Numbers the next allocation or use of a stream.
    fn number(&mut self, stream: usize) -> u64 {
        let clock = &mut self.streams[stream].1;
        let number = clock.of(stream) + 1;
        clock.set(stream, number);
        number
    }

    /// A stream has captured a node that allocates memory.
    pub(super) fn allocated(&mut self, stream: &Stream) -> GraphMemoryId {
        let home = self.index(stream);
        let number = self.number(home);
        self.memory.push(GraphMemory { home, number, uses: Vec::new() });
        GraphMemoryId(self.memory.len() - 1)
    }

    /// The stream that another has to wait for before it uses memory, unless it comes after the allocation.
    pub(super) fn missing_before_use(&mut self, memory: GraphMemoryId, stream: &Stream) -> Option<Stream> {
        let user = self.index(stream);
        let GraphMemory { home, number, .. } = self.memory[memory.0];
        (self.streams[user].1.of(home) < number).then(|| self.streams[home].0.clone())
    }

    /// A stream that comes after the allocation is about to use memory.
    pub(super) fn used(&mut self, memory: GraphMemoryId, stream: &Stream) {
        let user = self.index(stream);
        let number = self.number(user);
        self.note_use(memory, user, number);
    }

    /// A stream uses memory from now on in ways that are not seen here: it is always waited for.
    pub(super) fn used_from_now_on(&mut self, memory: GraphMemoryId, stream: &Stream) {
        let user = self.index(stream);
        self.note_use(memory, user, u64::MAX);
    }

    fn note_use(&mut self, memory: GraphMemoryId, user: usize, number: u64) {
        let uses = &mut self.memory[memory.0].uses;
        match uses.iter_mut().find(|(known, _)| *known == user) {
            Some((_, last)) => *last = number.max(*last),
            None => uses.push((user, number)),
        }
    }

    /// The streams that the home has to wait for before it frees memory.
    pub(super) fn missing_before_free(&self, memory: GraphMemoryId) -> Vec<Stream> {
        let GraphMemory { home, uses, .. } = &self.memory[memory.0];
        let clock = &self.streams[*home].1;
        let missing = uses.iter().filter(|(stream, number)| stream != home && clock.of(*stream) < *number);
        missing.map(|(stream, _)| self.streams[*stream].0.clone()).collect()
    }

    /// A stream is about to record an event, which leaves the point that it marked before.
    pub(super) fn forget_record(&mut self, event: usize) {
        self.records.remove(&event);
    }

    /// A stream has recorded an event.
    pub(super) fn recorded(&mut self, stream: &Stream, event: usize) {
        if !self.memory.is_empty() {
            let stream = self.index(stream);
            self.records.insert(event, self.streams[stream].1.clone());
        }
    }

    /// A stream has waited for an event that was recorded in this capture.
    pub(super) fn waited(&mut self, stream: &Stream, event: usize) {
        if self.records.contains_key(&event) {
            let stream = self.index(stream);
            self.streams[stream].1.merge(&self.records[&event]);
        }
    }
}
