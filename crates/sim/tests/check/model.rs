//! A second opinion: what happens before what, by looking at every path.

use std::ops::Range;

/// A step of a program: an op of a stream, or something the host does.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Every node that is certain to be over before this one.
    before: Vec<bool>,
    accesses: Vec<Access>,
    /// The number of its call; none for the host's own accesses.
    pub(crate) call: Option<u64>,
}

#[derive(Clone, Debug)]
struct Access {
    buffer: usize,
    bytes: Range<u64>,
    writes: bool,
}

pub(crate) const LEGACY: usize = 0;

/// Streams 0 to 5: the legacy default one, two that block and two that do not, and the thread's own default
/// stream.
pub(crate) const STREAMS: usize = 6;

fn is_blocking(stream: usize) -> bool {
    matches!(stream, 1 | 2 | 5)
}

/// The accesses of a program, and the happens-before order between them.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<Node>,
    newest: [Option<usize>; STREAMS],
    host: Option<usize>,
    records: [Option<usize>; 3],
    /// The newest nodes of streams that were destroyed.
    gone: Vec<usize>,
    gone_blocking: Vec<usize>,
}

impl Model {
    fn add(&mut self, behind: impl IntoIterator<Item = usize>) -> usize {
        let index = self.nodes.len();
        let mut before = vec![false; index];
        for node in behind {
            before[node] = true;
            for (mine, theirs) in before.iter_mut().zip(&self.nodes[node].before) {
                *mine |= theirs;
            }
        }
        self.nodes.push(Node { before, ..Node::default() });
        index
    }

    /// The nodes that the next work of the legacy default stream comes after.
    fn blocking(&self) -> Vec<usize> {
        let newest = self.newest.iter().enumerate().filter(|(stream, _)| is_blocking(*stream));
        newest.filter_map(|(_, node)| *node).chain(self.gone_blocking.iter().copied()).collect()
    }

    /// Enqueues work in a stream, behind `other`, too.
    pub(crate) fn enqueue(&mut self, stream: usize, other: Option<usize>) -> usize {
        let mut behind: Vec<usize> = self.newest[stream].into_iter().chain(self.host).chain(other).collect();
        match stream {
            LEGACY => behind.extend(self.blocking()),
            _ if is_blocking(stream) => behind.extend(self.newest[LEGACY]),
            _ => {}
        }
        let node = self.add(behind);
        self.newest[stream] = Some(node);
        node
    }

    pub(crate) fn touch(&mut self, node: usize, buffer: usize, bytes: Range<u64>, writes: bool) {
        self.nodes[node].accesses.push(Access { buffer, bytes, writes });
    }

    /// The host does something itself, or has seen that `over` is.
    pub(crate) fn host(&mut self, over: impl IntoIterator<Item = usize>) -> usize {
        let behind: Vec<usize> = self.host.into_iter().chain(over).collect();
        let node = self.add(behind);
        self.host = Some(node);
        node
    }

    /// The host has seen that a stream is idle.
    pub(crate) fn idle(&mut self, stream: usize) {
        let mut over: Vec<usize> = self.newest[stream].into_iter().collect();
        if stream == LEGACY {
            over.extend(self.blocking());
        }
        self.host(over);
    }

    pub(crate) fn all_idle(&mut self) {
        let over: Vec<usize> = self.newest.into_iter().flatten().chain(self.gone.iter().copied()).collect();
        self.host(over);
    }

    pub(crate) fn record(&mut self, event: usize, stream: usize) {
        self.records[event] = Some(self.enqueue(stream, None));
    }

    pub(crate) fn wait(&mut self, stream: usize, event: usize) {
        match self.records[event] {
            Some(record) if stream == LEGACY => _ = self.enqueue(stream, Some(record)),
            // Elsewhere a wait is nothing that the legacy default stream would hold up.
            Some(record) => {
                let behind: Vec<usize> = self.newest[stream].into_iter().chain(self.host).chain([record]).collect();
                self.newest[stream] = Some(self.add(behind));
            }
            None => {}
        }
    }

    pub(crate) fn reached(&mut self, event: usize) {
        let record = self.records[event];
        self.host(record);
    }

    pub(crate) fn destroy(&mut self, stream: usize) {
        if let Some(newest) = self.newest[stream].take() {
            self.gone.push(newest);
            if is_blocking(stream) {
                self.gone_blocking.push(newest);
            }
        }
    }

    pub(crate) fn is_before(&self, first: usize, second: usize) -> bool {
        self.nodes[second].before.get(first).copied().unwrap_or(false)
    }

    /// Every pair of nodes that touch a common byte, one of them to write it, without an order.
    pub(crate) fn races(&self) -> Vec<(usize, usize)> {
        let conflict = |one: &Access, other: &Access| {
            one.buffer == other.buffer
                && (one.writes || other.writes)
                && one.bytes.start < other.bytes.end
                && other.bytes.start < one.bytes.end
        };
        let mut races = Vec::new();
        for second in 0..self.nodes.len() {
            for first in (0..second).filter(|first| !self.is_before(*first, second)) {
                let (one, other) = (&self.nodes[first].accesses, &self.nodes[second].accesses);
                if one.iter().any(|one| other.iter().any(|other| conflict(one, other))) {
                    races.push((first, second));
                }
            }
        }
        races
    }
}
