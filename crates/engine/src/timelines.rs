//! Timelines: one for each queue, and one for the host or for each of its threads.

use std::thread::ThreadId;

use rustc_hash::FxHashMap;

use crate::clock::Epoch;
use crate::known::Known;

/// Numbers for timelines, and what the host knows.
#[derive(Debug)]
pub struct Timelines {
    checking: bool,
    order: HostOrder,
    next: u32,
    /// Timelines of streams that are gone. One can be another stream's once the host knows all its steps:
    /// then every later stream knows them, too.
    retired: Vec<Epoch>,
    hosts: FxHashMap<Option<ThreadId>, Host>,
    /// Knowledge of all queues that wrote a value which others may wait for.
    released: Known,
}

/// Knowledge of a host thread, or of all of them together.
#[derive(Debug)]
struct Host {
    known: Known,
    /// Counts the changes of `known`, so that a stream can tell whether it has seen the newest. Unique among
    /// all hosts.
    version: u64,
    /// Its accesses so far, those included that go on: they do not race with each other.
    own: Known,
    /// Timelines of accesses that are over.
    spare: Vec<Epoch>,
}

/// The key of all host threads together, when their order is observed.
const EVERYBODY: Option<ThreadId> = None;

/// Assumed order between the threads of a program. Calls are seen; locks, channels and joins are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostOrder {
    /// As they were seen: a call that came later counts as ordered behind those that came before it,
    /// whichever threads made them. Every finding is real; a race of two threads that took turns by luck is
    /// missed.
    Observed,
    /// Threads know of each other only what is handed over explicitly (`Machine::hand_over` of the
    /// simulator). Finds races between threads, too, in a program that announces every hand-over.
    HandOvers,
}

impl Timelines {
    /// No timelines yet. Without `checking` all knowledge stays empty, and costs nothing.
    pub fn new(checking: bool, order: HostOrder) -> Self {
        Self { checking, order, next: 0, retired: Vec::new(), hosts: FxHashMap::default(), released: Known::default() }
    }

    fn fresh(&mut self) -> Epoch {
        self.next += 1;
        Epoch { timeline: self.next - 1, count: 0 }
    }

    /// The clock of a new timeline, if knowledge is tracked.
    pub fn start(&mut self) -> Known {
        if !self.checking {
            return Known::default();
        }
        let reusable = match (self.order, self.hosts.get(&EVERYBODY)) {
            (HostOrder::Observed, Some(host)) => self.retired.iter().position(|last| host.known.includes(*last)),
            _ => None,
        };
        let last = reusable.map(|at| self.retired.swap_remove(at)).unwrap_or_else(|| self.fresh());
        Known::of(last)
    }

    /// The number of a timeline that others count, another process's for example. It is nobody else's.
    pub fn add_foreign(&mut self) -> u32 {
        self.fresh().timeline
    }

    /// A timeline ends; its number will be another's.
    pub fn end(&mut self, known: &Known) {
        if !known.is_off() {
            self.retired.push(known.newest());
        }
    }

    fn key(&self) -> Option<ThreadId> {
        match self.order {
            HostOrder::Observed => EVERYBODY,
            HostOrder::HandOvers => Some(std::thread::current().id()),
        }
    }

    fn host_mut(&mut self) -> &mut Host {
        let key = self.key();
        let Self { hosts, next, .. } = self;
        hosts.entry(key).or_insert_with(|| {
            let timeline = *next;
            *next += 1;
            // A stream that two threads use tells their versions apart.
            let (known, version) = (Known::of(Epoch { timeline, count: 1 }), u64::from(timeline) << 32);
            Host { known, version, own: Known::default(), spare: Vec::new() }
        })
    }

    /// Knowledge of the calling thread.
    pub fn host(&mut self) -> &Known {
        &self.host_mut().known
    }

    /// The calling thread takes a step of its own: what others have seen of it so far does not include that.
    pub fn host_steps(&mut self) -> Epoch {
        let host = self.host_mut();
        host.known.advance();
        host.version += 1;
        host.known.newest()
    }

    /// The calling thread begins an access of its own, a step of a timeline beside its own: what it enqueues
    /// meanwhile is not behind that. Gives what is before the access, and the step.
    pub fn host_begins(&mut self) -> (Known, Known) {
        let last = self.host_mut().spare.pop();
        let mut step = Known::of(last.unwrap_or_else(|| self.fresh()));
        step.advance();
        let host = self.host_mut();
        let mut before = host.known.clone();
        before.join(&host.own);
        host.own.join(&step);
        (before, step)
    }

    /// An access of the host's is over, and the calling thread knows it.
    pub fn host_ends(&mut self, step: &Known) {
        if !step.is_off() {
            self.host_learns(step);
            self.host_mut().spare.push(step.newest());
        }
    }

    /// Knowledge that every later call has, if the order of host threads is observed.
    pub fn over(&self) -> Option<&Known> {
        match self.order {
            HostOrder::Observed => self.hosts.get(&EVERYBODY).map(|host| &host.known),
            HostOrder::HandOvers => None,
        }
    }

    /// The newest step of the calling thread, from which something exists.
    pub fn host_makes(&mut self) -> Epoch {
        match self.order {
            // Every later call is behind this one anyway.
            HostOrder::Observed => self.host_mut().known.newest(),
            HostOrder::HandOvers => self.host_steps(),
        }
    }

    /// The calling thread has seen that something is over.
    pub fn host_learns(&mut self, what: &Known) {
        if what.is_off() {
            return;
        }
        let released = what.is_unsure().then(|| self.released.clone());
        let host = self.host_mut();
        host.known.join(what);
        if let Some(released) = released {
            host.known.join(&released);
        }
        // A pending wait for a value, if there was one, is over.
        host.known.trust();
        host.version += 1;
    }

    /// A stream is about to write a value that others may wait for.
    pub fn release(&mut self, known: &Known) {
        self.released.join(known);
        self.released.trust();
    }

    /// A stream's wait for a value is over: it may have been for any that was written. That is more than is
    /// certain, so a race may be missed where streams wait for values, and none is invented.
    pub fn acquire(&self, known: &mut Known) {
        known.join(&self.released);
        known.trust();
    }

    /// Tells a stream what the calling thread knows; `seen` is what it was told last.
    #[inline]
    pub fn tell(&mut self, known: &mut Known, seen: &mut u64) {
        if !self.checking {
            return;
        }
        let host = self.host_mut();
        if *seen != host.version + 1 {
            known.join(&host.known);
            *seen = host.version + 1;
        }
    }
}
