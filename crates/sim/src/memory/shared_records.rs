//! Records of an event that several processes share.
//!
//! Each record that is not reached takes an entry in the words of a shared object, with the opener that made
//! it: a process and the number of the event there. A record is reached when its entry no longer holds its
//! token. An event is reached when the newest record of every opener is, as on hardware. The record of a
//! process that was killed is never reached, on hardware, too; a wait for it is a deadlock.
//!
//! ```text
//!   word 0   number of records made     word 1, 5, …   token of a record that is not reached, or 0
//!                                       word 2, 6, …   pid of its process
//!                                       word 3, 7, …   start time of its process
//!                                       word 4, 8, …   number of the event in its process
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use smallvec::SmallVec;

use super::shared_object::{Details, Locator, NewObject, OpenError, ProcessId, SharedDevice, SharedKind, SharedObject};

/// The records of one event that can be in flight at a time.
const ENTRIES: u64 = 1024;
const WORDS_OF_ENTRY: u64 = 4;
const NUMBER: u64 = 0;
const FIRST: u64 = 1;
const WORDS: u64 = FIRST + ENTRIES * WORDS_OF_ENTRY;
/// An entry that a process is about to fill.
const CLAIMED: u64 = u64::MAX;

/// An event of a process that is one with events of other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opener {
    process: ProcessId,
    /// Tells the events of a process apart.
    number: u64,
}

impl Opener {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Self { process: ProcessId::own()?, number: NEXT.fetch_add(1, Ordering::Relaxed) })
    }
}

/// A record of a shared event: its number, and its entry in the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RecordToken(u64);

/// The records of an event, as all processes that opened it see them.
#[derive(Debug)]
pub(crate) struct SharedRecords {
    object: SharedObject,
    own: Opener,
}

impl SharedRecords {
    /// An event without a record.
    pub(crate) fn create(machine: u128, device: Option<SharedDevice>) -> io::Result<Arc<Self>> {
        let (kind, details) = (SharedKind::Event, Details::default());
        let object = SharedObject::create(&NewObject { kind, size: 0, words: WORDS, machine, device, details })?;
        Ok(Arc::new(Self { object, own: Opener::new()? }))
    }

    /// The event of another process, or one more of this process that is the same.
    pub(crate) fn open(locator: &Locator, machine: u128) -> Result<Arc<Self>, OpenError> {
        let object = SharedObject::open_at(locator, SharedKind::Event, machine)?;
        if object.header().words != WORDS {
            return Err(OpenError::Damaged);
        }
        Ok(Arc::new(Self { object, own: Opener::new()? }))
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

    fn opener(&self, slot: u64) -> Opener {
        let [pid, started, number] = [1, 2, 3].map(|word| self.entry(slot, word).load(Ordering::Relaxed));
        Opener { process: ProcessId { pid: u32::try_from(pid).unwrap_or(0), started }, number }
    }

    fn is_reached(&self, token: RecordToken) -> bool {
        self.entry(token.0, 0).load(Ordering::Acquire) != token.0
    }

    /// Makes a record. `None` if too many are in flight.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<PendingRecord> {
        let number = self.word(NUMBER).fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let is_free =
            |slot: &u64| self.entry(*slot, 0).compare_exchange(0, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let slot = (0..ENTRIES).map(|step| number.wrapping_add(step) % ENTRIES).find(is_free)?;
        let Opener { process, number: event } = self.own;
        for (word, value) in [(1, process.pid.into()), (2, process.started), (3, event)] {
            self.entry(slot, word).store(value, Ordering::Relaxed);
        }
        let token = RecordToken(number.wrapping_mul(ENTRIES) | slot);
        self.entry(slot, 0).store(token.0, Ordering::Release);
        Some(PendingRecord { records: Arc::clone(self), token })
    }

    /// The newest record of each other opener, where it is not reached.
    pub(crate) fn pending_elsewhere(self: &Arc<Self>) -> Option<AwaitedRecords> {
        let mut pending: SmallVec<[(Opener, RecordToken); 2]> = SmallVec::new();
        for slot in 0..ENTRIES {
            let token = RecordToken(self.entry(slot, 0).load(Ordering::Acquire));
            let opener = self.opener(slot);
            if matches!(token.0, 0 | CLAIMED) || opener == self.own {
                continue;
            }
            match pending.iter_mut().find(|(known, _)| *known == opener) {
                Some((_, newest)) => *newest = token.max(*newest),
                None => pending.push((opener, token)),
            }
        }
        let records = pending.into_iter().map(|(opener, token)| (opener.process, token)).collect();
        let awaited = AwaitedRecords { of: Arc::clone(self), records, given_up: Arc::default() };
        (!awaited.is_over()).then_some(awaited)
    }
}

/// A record of this process that is not reached; dropping it says that it is.
#[derive(Debug)]
pub(crate) struct PendingRecord {
    records: Arc<SharedRecords>,
    token: RecordToken,
}

impl Drop for PendingRecord {
    fn drop(&mut self) {
        // A child of `fork` has a copy of this value, and not the work.
        if std::process::id() == self.records.own.process.pid {
            self.records.entry(self.token.0, 0).store(0, Ordering::Release);
        }
    }
}

/// Records of other openers that are waited for.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedRecords {
    of: Arc<SharedRecords>,
    records: SmallVec<[(ProcessId, RecordToken); 2]>,
    /// Nothing waits for them any more.
    given_up: Arc<AtomicBool>,
}

/// The process whose record is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorder {
    /// This process, through another handle of the event.
    Own,
    Living(u32),
    /// A process that ended before its record was reached. Nothing reaches it.
    Ended(u32),
}

impl AwaitedRecords {
    /// Ends the wait.
    pub(crate) fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    /// `true` if all records are reached, or the wait was given up.
    pub(crate) fn is_over(&self) -> bool {
        self.records.iter().all(|(_, token)| self.of.is_reached(*token)) || self.given_up.load(Ordering::Relaxed)
    }

    /// The processes whose records are not reached.
    pub(crate) fn recorders(&self) -> impl Iterator<Item = Recorder> {
        let pending = self.records.iter().filter(|(_, token)| !self.of.is_reached(*token));
        pending.map(|(process, _)| match process {
            process if *process == self.of.own.process => Recorder::Own,
            process if process.is_alive() => Recorder::Living(process.pid),
            process => Recorder::Ended(process.pid),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Arc<SharedRecords> {
        SharedRecords::create(7, None).expect("the system makes files")
    }

    /// The same event as another opener sees it.
    fn seen_by(records: &SharedRecords, process: ProcessId) -> Arc<SharedRecords> {
        let locator = records.object.locator().expect("this process is there");
        let object = SharedObject::open_at(&locator, SharedKind::Event, 7).expect("it is open here");
        Arc::new(SharedRecords { object, own: Opener { process, number: 1 << 40 } })
    }

    fn parent() -> ProcessId {
        ProcessId::of(std::os::unix::process::parent_id()).expect("there is a parent")
    }

    #[test]
    fn the_newest_record_of_each_opener_is_awaited() {
        let here = records();
        assert!(here.pending_elsewhere().is_none());
        let own = here.begin().expect("room");
        assert!(here.pending_elsewhere().is_none(), "an opener knows of its own records");
        let elsewhere = seen_by(&here, here.own.process);
        let awaited = elsewhere.pending_elsewhere().expect("a record is pending");
        let (old, new) = (elsewhere.begin().expect("room"), elsewhere.begin().expect("room"));
        let theirs = here.pending_elsewhere().expect("two are pending");
        assert_eq!(theirs.recorders().collect::<Vec<_>>(), [Recorder::Own]);
        drop(new);
        assert!(theirs.is_over(), "an older record does not count");
        assert!(!awaited.is_over());
        drop(own);
        assert!(awaited.is_over());
        drop(old);
        assert!(here.pending_elsewhere().is_none());
        let other = seen_by(&here, parent()).begin().expect("room");
        let theirs = here.pending_elsewhere().expect("it is pending");
        assert_eq!(theirs.recorders().collect::<Vec<_>>(), [Recorder::Living(parent().pid)]);
        drop(other);
    }

    #[test]
    fn a_record_of_a_process_that_ended_is_never_reached() {
        let records = records();
        let gone = seen_by(&records, ProcessId { started: parent().started + 1, ..parent() });
        let pending = gone.begin().expect("room");
        let awaited = records.pending_elsewhere().expect("it is pending");
        assert_eq!(awaited.recorders().collect::<Vec<_>>(), [Recorder::Ended(parent().pid)]);
        assert!(!awaited.is_over());
        awaited.given_up().store(true, Ordering::Relaxed);
        assert!(awaited.is_over());
        drop(pending);
    }

    #[test]
    fn a_copy_of_another_process_does_not_end_a_record() {
        let records = records();
        let copied = seen_by(&records, parent()).begin().expect("room");
        drop(copied);
        assert!(records.pending_elsewhere().is_some());
    }

    #[test]
    fn records_in_flight_have_a_limit() {
        let records = records();
        let pending: Vec<PendingRecord> = (0..2 * ENTRIES).map_while(|_| records.begin()).collect();
        assert_eq!(pending.len() as u64, ENTRIES);
        drop(pending);
        assert!(records.begin().is_some());
    }
}
