//! Journal of a shared object: the newest accesses of all processes to its memory, for checks of their order.
//!
//! A process whose machine checks adds an entry for each access, and compares it with the entries of others.
//! An entry is over once the host of its process knows the work to be complete: a message that the simulator
//! does not see may have told others since. There is room for [`ENTRIES`]; older ones are overwritten, so
//! that a race may be missed and none is invented.
//!
//! Entries are written and read without a lock, because a process may be killed in between: each has a
//! sequence number, odd while it is written. All of it is input from other processes, and checked.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use warploom_engine::Epoch;
use warploom_sys::Function;

use super::operation::{AccessKind, StreamInfo, StreamKind};
use crate::memory::shared_object::{ORDER_WORDS, OrderWords, ProcessId, SharedKind, SharedObject};

/// Number of entries.
pub(crate) const ENTRIES: u64 = 256;

/// Words of an entry: sequence, sequence when over, and [`FACTS`] of them.
const STRIDE: u64 = 2 + FACTS as u64;
const FACTS: usize = 11;

/// Words of a journal: the number of the next entry, and the entries.
const LEN: u64 = 1 + ENTRIES * STRIDE;
const _: () = assert!(LEN <= ORDER_WORDS, "a journal fits");

/// An access to the memory of a shared object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalEntry {
    /// The machine, by a random number.
    pub(crate) machine: u64,
    pub(crate) process: ProcessId,
    /// Its step of a timeline of that machine.
    pub(crate) epoch: Epoch,
    pub(crate) kind: AccessKind,
    pub(crate) stream: Option<StreamInfo>,
    /// The number of the call among the machine's calls, and its function; none if it was no call.
    pub(crate) call: Option<(u64, Function)>,
    /// Offsets in the memory of the object.
    pub(crate) bytes: Range<u64>,
}

/// The place of an entry, for the process that wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    index: u64,
    sequence: u64,
}

/// A journal in the words of a shared object.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    words: OrderWords,
}

/// Attempts to find an entry that nobody writes.
const ATTEMPTS: u64 = 4;

impl Journal {
    /// The journal of a shared object; none for an event.
    pub(crate) fn of(object: &SharedObject) -> Option<Self> {
        match object.header().kind {
            SharedKind::Physical | SharedKind::Pool | SharedKind::Allocation => Some(Self { words: object.order() }),
            SharedKind::Event => None,
        }
    }

    /// The number of entries so far.
    fn next(&self) -> &AtomicU64 {
        &self.words.words()[0]
    }

    fn entry(&self, index: u64) -> (&AtomicU64, &AtomicU64, &[AtomicU64]) {
        let start = (1 + index % ENTRIES * STRIDE) as usize;
        let words = &self.words.words()[start..start + STRIDE as usize];
        (&words[0], &words[1], &words[2..])
    }

    /// Adds an entry; none if all that were tried are being written.
    pub(crate) fn add(&self, entry: &JournalEntry) -> Option<Ticket> {
        for _ in 0..ATTEMPTS {
            let index = self.next().fetch_add(1, Ordering::Relaxed);
            let (sequence, _, facts) = self.entry(index);
            let before = sequence.load(Ordering::Relaxed);
            // An odd number is that of a process that writes it, or was killed while it did.
            let is_free = before.is_multiple_of(2)
                && sequence.compare_exchange(before, before + 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if is_free {
                fence(Ordering::Release);
                for (word, fact) in facts.iter().zip(encode(entry)) {
                    word.store(fact, Ordering::Relaxed);
                }
                sequence.store(before.wrapping_add(2), Ordering::Release);
                return Some(Ticket { index, sequence: before.wrapping_add(2) });
            }
        }
        None
    }

    /// Notes that an entry is over. One that was overwritten is left alone.
    pub(crate) fn end(&self, ticket: Ticket) {
        // Readers compare it with the sequence of the entry they read.
        let (_, over, _) = self.entry(ticket.index);
        over.fetch_max(ticket.sequence, Ordering::Release);
    }

    /// `true` until an entry is overwritten.
    pub(crate) fn has(&self, ticket: Ticket) -> bool {
        self.entry(ticket.index).0.load(Ordering::Relaxed) == ticket.sequence
    }

    /// The entries of other machines that are not over.
    pub(crate) fn others(&self, machine: u64) -> impl Iterator<Item = JournalEntry> {
        let used = self.next().load(Ordering::Acquire).min(ENTRIES);
        (0..used).filter_map(|index| self.read(index)).filter(move |entry| entry.machine != machine)
    }

    fn read(&self, index: u64) -> Option<JournalEntry> {
        let (sequence, over, words) = self.entry(index);
        let before = sequence.load(Ordering::Acquire);
        if before == 0 || !before.is_multiple_of(2) || over.load(Ordering::Acquire) >= before {
            return None;
        }
        let mut facts = [0; FACTS];
        for (fact, word) in facts.iter_mut().zip(words) {
            *fact = word.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        (sequence.load(Ordering::Relaxed) == before).then(|| decode(&facts))?
    }
}

/// The kinds of accesses that are written down, by their numbers.
const KINDS: [AccessKind; 7] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::WaitValue,
    AccessKind::WriteValue,
    AccessKind::Free,
    AccessKind::Prefetch,
    AccessKind::Discard,
];

const STREAMS: [StreamKind; 4] =
    [StreamKind::Created, StreamKind::NonBlocking, StreamKind::LegacyDefault, StreamKind::PerThreadDefault];

/// The number of a value in a list; the list's length if it is none of them.
fn number<T: PartialEq>(all: &[T], value: &T) -> u64 {
    all.iter().position(|one| one == value).unwrap_or(all.len()) as u64
}

fn at<T: Copy>(all: &[T], number: u64) -> Option<T> {
    usize::try_from(number).ok().and_then(|number| all.get(number)).copied()
}

fn encode(entry: &JournalEntry) -> [u64; FACTS] {
    let (stream, stream_kind, device) = match entry.stream {
        Some(StreamInfo { id, kind, device }) => (id, number(&STREAMS, &kind), u64::from(device)),
        None => (0, STREAMS.len() as u64, 0),
    };
    let (call, function) = match entry.call {
        Some((call, function)) => (call, function.index() as u64),
        None => (0, u64::MAX),
    };
    [
        entry.machine,
        u64::from(entry.process.pid),
        entry.process.started,
        u64::from(entry.epoch.timeline),
        entry.epoch.count,
        number(&KINDS, &entry.kind) | stream_kind << 8 | device << 16,
        stream,
        call,
        function,
        entry.bytes.start,
        entry.bytes.end,
    ]
}

/// The entry of some words; none if they are not one.
fn decode(facts: &[u64; FACTS]) -> Option<JournalEntry> {
    let [machine, pid, started, timeline, count, kinds, stream, call, function, start, end] = *facts;
    let kind = at(&KINDS, kinds & 0xff)?;
    let device = u16::try_from(kinds >> 16).ok()?;
    let stream = at(&STREAMS, kinds >> 8 & 0xff).map(|kind| StreamInfo { id: stream, kind, device });
    let epoch = Epoch { timeline: u32::try_from(timeline).ok()?, count };
    let call = at(Function::ALL, function).map(|function| (call, function));
    let (process, bytes) = (ProcessId { pid: u32::try_from(pid).ok()?, started }, start..end);
    (!bytes.is_empty()).then_some(JournalEntry { machine, process, epoch, kind, stream, call, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Result<Journal, Box<dyn std::error::Error>> {
        Ok(Journal { words: OrderWords::detached()? })
    }

    fn entry(machine: u64, count: u64) -> JournalEntry {
        JournalEntry {
            machine,
            process: ProcessId { pid: 77, started: 5 },
            epoch: Epoch { timeline: 3, count },
            kind: AccessKind::Write,
            stream: Some(StreamInfo { id: 9, kind: StreamKind::NonBlocking, device: 2 }),
            call: Some((41, Function::ALL[5])),
            bytes: count * 8..count * 8 + 8,
        }
    }

    #[test]
    fn entries_of_others_are_seen_until_they_are_over() -> Result<(), Box<dyn std::error::Error>> {
        let journal = journal()?;
        let host = JournalEntry { stream: None, call: None, ..entry(1, 1) };
        let first = journal.add(&host).ok_or("room")?;
        journal.add(&entry(1, 2)).ok_or("room")?;
        journal.add(&entry(2, 3)).ok_or("room")?;
        assert_eq!(journal.others(2).collect::<Vec<_>>(), [host, entry(1, 2)]);
        assert_eq!(journal.others(1).collect::<Vec<_>>(), [entry(2, 3)]);
        journal.end(first);
        assert_eq!(journal.others(2).collect::<Vec<_>>(), [entry(1, 2)]);
        Ok(())
    }

    #[test]
    fn old_entries_are_overwritten_and_their_end_is_nobody_elses() -> Result<(), Box<dyn std::error::Error>> {
        let journal = journal()?;
        let first = journal.add(&entry(1, 1)).ok_or("room")?;
        assert!(journal.has(first));
        for count in 2..=ENTRIES + 1 {
            journal.add(&entry(1, count)).ok_or("room")?;
        }
        assert!(!journal.has(first));
        journal.end(first);
        let mut counts: Vec<u64> = journal.others(0).map(|entry| entry.epoch.count).collect();
        counts.sort_unstable();
        assert_eq!(counts, (2..=ENTRIES + 1).collect::<Vec<_>>());
        Ok(())
    }

    #[test]
    fn an_entry_that_its_writer_left_unfinished_is_passed_over() -> Result<(), Box<dyn std::error::Error>> {
        let journal = journal()?;
        journal.entry(0).0.store(1, Ordering::Relaxed);
        journal.add(&entry(1, 1)).ok_or("room")?;
        assert_eq!(journal.others(0).collect::<Vec<_>>(), [entry(1, 1)]);
        Ok(())
    }

    #[test]
    fn words_that_are_no_entry_are_left_out() -> Result<(), Box<dyn std::error::Error>> {
        let journal = journal()?;
        journal.add(&entry(1, 1)).ok_or("room")?;
        for fact in [1, 3, 5, 10] {
            let word = &journal.entry(0).2[fact];
            let before = word.swap(if fact == 10 { 0 } else { u64::MAX }, Ordering::Relaxed);
            assert_eq!(journal.others(0).count(), 0, "fact {fact}");
            word.store(before, Ordering::Relaxed);
        }
        assert_eq!(journal.others(0).count(), 1);
        journal.next().store(u64::MAX, Ordering::Relaxed);
        assert_eq!(journal.others(0).count(), 1);
        Ok(())
    }
}
