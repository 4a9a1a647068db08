//! Records of an event that several processes share.
//!
//! Each record that is not reached takes an entry in the words of a shared object, with the process that made
//! it. A record is reached when its entry no longer holds its token. The record of a process that was killed
//! before is never reached, as on hardware; a wait for it is a deadlock.
//!
//! ```text
//!   word 0   number of records made          word 2, 5, …   token of a record that is not reached, or 0
//!   word 1   token of the newest record      word 3, 6, …   pid of its process
//!                                            word 4, 7, …   start time of its process
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::shared_object::{Details, Locator, NewObject, OpenError, ProcessId, SharedDevice, SharedKind, SharedObject};

/// The records of one event that can be in flight at a time.
const ENTRIES: u64 = 1024;
const WORDS_OF_ENTRY: u64 = 3;
const NUMBER: u64 = 0;
const NEWEST: u64 = 1;
const FIRST: u64 = 2;
/// An entry that a process is about to fill.
const CLAIMED: u64 = u64::MAX;

/// A record of a shared event: its number, and its entry in the low bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordToken(u64);

impl RecordToken {
    /// No record.
    pub(crate) const NONE: RecordToken = RecordToken(0);
}

/// Progress of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordState {
    Reached,
    /// An op of this process.
    PendingHere,
    /// Work of another process, which is alive.
    PendingIn(u32),
    /// Work of a process that has ended; nothing reaches it.
    Lost(u32),
}

/// The records of an event, as all processes that opened it see them.
#[derive(Debug)]
pub(crate) struct SharedRecords {
    object: SharedObject,
    own: ProcessId,
}

impl SharedRecords {
    /// An event without a record.
    pub(crate) fn create(machine: u128, device: Option<SharedDevice>) -> io::Result<Arc<Self>> {
        let object = SharedObject::create(&NewObject {
            kind: SharedKind::Event,
            size: 0,
            words: FIRST + ENTRIES * WORDS_OF_ENTRY,
            machine,
            device,
            details: Details::default(),
        })?;
        Ok(Arc::new(Self { object, own: ProcessId::own()? }))
    }

    /// The event of another process.
    pub(crate) fn open(locator: &Locator, machine: u128) -> Result<Arc<Self>, OpenError> {
        let object = SharedObject::open_at(locator, SharedKind::Event, machine)?;
        if object.header().words != FIRST + ENTRIES * WORDS_OF_ENTRY {
            return Err(OpenError::Damaged);
        }
        Ok(Arc::new(Self { object, own: ProcessId::own()? }))
    }

    /// The shared object.
    pub(crate) fn object(&self) -> &SharedObject {
        &self.object
    }

    fn word(&self, index: u64) -> &AtomicU64 {
        // The number of words is checked when the object is opened.
        static NO_WORD: AtomicU64 = AtomicU64::new(0);
        self.object.word(index).unwrap_or(&NO_WORD)
    }

    /// A word of the entry with a number.
    fn entry(&self, slot: u64, word: u64) -> &AtomicU64 {
        self.word(FIRST + slot % ENTRIES * WORDS_OF_ENTRY + word)
    }

    fn owner(&self, slot: u64) -> ProcessId {
        let pid = u32::try_from(self.entry(slot, 1).load(Ordering::Relaxed)).unwrap_or(0);
        ProcessId { pid, started: self.entry(slot, 2).load(Ordering::Relaxed) }
    }

    /// The newest record of any process.
    pub(crate) fn newest(&self) -> RecordToken {
        RecordToken(self.word(NEWEST).load(Ordering::Acquire))
    }

    /// Progress of a record.
    pub(crate) fn state(&self, token: RecordToken) -> RecordState {
        if self.is_reached(token) {
            return RecordState::Reached;
        }
        match self.owner(token.0) {
            owner if owner == self.own => RecordState::PendingHere,
            owner if owner.is_alive() => RecordState::PendingIn(owner.pid),
            owner => RecordState::Lost(owner.pid),
        }
    }

    /// `true` if a record's process has said that the record is reached.
    pub(crate) fn is_reached(&self, token: RecordToken) -> bool {
        token == RecordToken::NONE || self.entry(token.0, 0).load(Ordering::Acquire) != token.0
    }

    /// Makes a record, the newest from now on. `None` if too many are in flight.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<PendingRecord> {
        let number = self.word(NUMBER).fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let slot = self.claim(number)?;
        self.entry(slot, 1).store(self.own.pid.into(), Ordering::Relaxed);
        self.entry(slot, 2).store(self.own.started, Ordering::Relaxed);
        let token = RecordToken(number.wrapping_mul(ENTRIES) | slot);
        self.entry(slot, 0).store(token.0, Ordering::Release);
        self.word(NEWEST).fetch_max(token.0, Ordering::AcqRel);
        Some(PendingRecord { records: Arc::clone(self), token })
    }

    /// Takes an entry: a free one or, if there is none, one of a process that has ended.
    fn claim(&self, number: u64) -> Option<u64> {
        let slots = || (0..ENTRIES).map(|step| number.wrapping_add(step) % ENTRIES);
        let take = |slot: &u64, held: u64| {
            self.entry(*slot, 0).compare_exchange(held, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        slots().find(|slot| take(slot, 0)).or_else(|| {
            slots().find(|slot| {
                let held = self.entry(*slot, 0).load(Ordering::Acquire);
                held != CLAIMED && !self.owner(*slot).is_alive() && take(slot, held)
            })
        })
    }
}

/// A record of this process that is not reached; dropping it says that it is.
#[derive(Debug)]
pub(crate) struct PendingRecord {
    records: Arc<SharedRecords>,
    token: RecordToken,
}

impl PendingRecord {
    pub(crate) fn token(&self) -> RecordToken {
        self.token
    }
}

impl Drop for PendingRecord {
    fn drop(&mut self) {
        // Fails if the entry was taken by a process that thinks this one has ended.
        let entry = self.records.entry(self.token.0, 0);
        entry.compare_exchange(self.token.0, 0, Ordering::AcqRel, Ordering::Relaxed).unwrap_or_default();
    }
}

/// A wait for a record of another process.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedRecord {
    records: Arc<SharedRecords>,
    token: RecordToken,
    /// Nothing waits for it any more.
    given_up: Arc<AtomicBool>,
}

impl AwaitedRecord {
    pub(crate) fn new(records: Arc<SharedRecords>, token: RecordToken) -> Self {
        Self { records, token, given_up: Arc::default() }
    }

    /// Set by a waiter that gives up.
    pub(crate) fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    /// `true` if the wait is over.
    pub(crate) fn is_over(&self) -> bool {
        self.records.is_reached(self.token) || self.given_up.load(Ordering::Relaxed)
    }

    /// Progress of the record, with its process.
    pub(crate) fn state(&self) -> RecordState {
        self.records.state(self.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Arc<SharedRecords> {
        SharedRecords::create(7, None).expect("the system makes files")
    }

    /// The same event as another process sees it, with that process's identity.
    fn seen_by(records: &SharedRecords, own: ProcessId) -> Arc<SharedRecords> {
        let locator = records.object.locator().expect("this process is there");
        let object = SharedObject::open_at(&locator, SharedKind::Event, 7).expect("it is open here");
        Arc::new(SharedRecords { object, own })
    }

    #[test]
    fn each_record_is_reached_on_its_own() {
        let records = records();
        assert_eq!((records.newest(), records.state(RecordToken::NONE)), (RecordToken::NONE, RecordState::Reached));
        let (first, second) = (records.begin().expect("room"), records.begin().expect("room"));
        assert_eq!(records.newest(), second.token());
        let (early, late) = (first.token(), second.token());
        drop(second);
        assert_eq!((records.state(early), records.state(late)), (RecordState::PendingHere, RecordState::Reached));
        drop(first);
        assert_eq!(records.state(early), RecordState::Reached);
    }

    #[test]
    fn a_record_of_another_process_is_pending_while_that_lives() {
        let records = records();
        let parent = ProcessId::of(std::os::unix::process::parent_id()).expect("there is a parent");
        let elsewhere = seen_by(&records, parent);
        let pending = elsewhere.begin().expect("room");
        let awaited = AwaitedRecord::new(Arc::clone(&records), records.newest());
        assert!(!awaited.is_over());
        assert_eq!(awaited.state(), RecordState::PendingIn(parent.pid));
        drop(pending);
        assert!(awaited.is_over());
        let gone = seen_by(&records, ProcessId { pid: parent.pid, started: parent.started + 1 });
        let pending = gone.begin().expect("room");
        assert_eq!(records.newest(), pending.token());
        assert_eq!(records.state(pending.token()), RecordState::Lost(parent.pid));
    }

    #[test]
    fn entries_of_processes_that_ended_are_used_again() {
        let records = records();
        let gone = seen_by(&records, ProcessId { pid: u32::MAX, started: 1 });
        let lost: Vec<PendingRecord> = (0..ENTRIES).map_while(|_| gone.begin()).collect();
        assert_eq!(lost.len() as u64, ENTRIES);
        let own: Vec<PendingRecord> = (0..ENTRIES).map_while(|_| records.begin()).collect();
        assert_eq!(own.len() as u64, ENTRIES);
        assert!(records.begin().is_none(), "all entries belong to a process that is alive");
        drop(lost);
        assert!(records.begin().is_none(), "a late end does not free the entry of another record");
        drop(own);
        assert!(records.begin().is_some());
    }
}
