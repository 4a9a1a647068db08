//! The ledger of a communicator's operations, for ranks in this process.
//!
//! NCCL trusts its ranks to do the same in the same order. Those that do not wait for each other for ever, or
//! write past the end of each other's memory. Operations of another process cannot be seen here, and joining
//! its ranks is `unsafe`; ranks of this one keep a common list, and the first that differs from it is refused
//! before NCCL is called.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::raw::ncclDataType_t;
use super::{NcclError, Reduction, UniqueId};
use crate::Device;

/// An operation of a rank, as far as all ranks have to agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) kind: Kind,
    pub(super) count: usize,
    pub(super) of: ncclDataType_t,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Broadcast { root: u32 },
    AllReduce(Reduction),
    Reduce(Reduction, u32),
    AllGather,
    ReduceScatter(Reduction),
    Send { peer: u32 },
    Receive { peer: u32 },
}

impl fmt::Display for Task {
    /// `broadcast 4 values of type 7 from rank 0`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { kind, count, of } = self;
        let values = format_args!("{count} values of NCCL's type {of}");
        match kind {
            Kind::Broadcast { root } => write!(formatter, "broadcast {values} from rank {root}"),
            Kind::AllReduce(reduction) => write!(formatter, "all-reduce {values} to their {reduction}"),
            Kind::Reduce(reduction, root) => write!(formatter, "reduce {values} to their {reduction} at rank {root}"),
            Kind::AllGather => write!(formatter, "all-gather {values}"),
            Kind::ReduceScatter(reduction) => write!(formatter, "reduce-scatter {values} to their {reduction}"),
            Kind::Send { peer } => write!(formatter, "send {values} to rank {peer}"),
            Kind::Receive { peer } => write!(formatter, "receive {values} from rank {peer}"),
        }
    }
}

/// The list that ranks of one process have in common.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// The number of collective operations of each rank.
    done: BTreeMap<u32, u64>,
    /// Collective operations that some rank has done and another has not, and how many came before them.
    ahead: VecDeque<Task>,
    before: u64,
    /// Sends without a receive, by sender and receiver; and receives without a send.
    sent: BTreeMap<(u32, u32), VecDeque<Task>>,
    awaited: BTreeMap<(u32, u32), VecDeque<Task>>,
    /// The devices of the ranks.
    devices: BTreeMap<u32, Device>,
}

/// Ledgers that are in use.
static LEDGERS: Mutex<Vec<(UniqueId, Weak<Ledger>)>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// The ledger of a communicator in this process.
    fn of(id: &UniqueId) -> Arc<Ledger> {
        let mut ledgers = lock(&LEDGERS);
        ledgers.retain(|(_, ledger)| ledger.strong_count() > 0);
        let known = ledgers.iter().find(|(known, _)| known == id).and_then(|(_, ledger)| ledger.upgrade());
        known.unwrap_or_else(|| {
            let ledger = Arc::default();
            ledgers.push((*id, Arc::downgrade(&ledger)));
            ledger
        })
    }

    /// Compares an operation of a rank with those of the others, and records it.
    fn note(&self, rank: u32, task: Task) -> Result<(), NcclError> {
        let lists = &mut *lock(&self.0);
        match task.kind {
            Kind::Send { peer } => lists.pass((rank, peer), peer, rank, task),
            Kind::Receive { peer } => lists.pass((peer, rank), peer, rank, task),
            _ => lists.collective(rank, task),
        }
    }
}

impl Lists {
    fn collective(&mut self, rank: u32, task: Task) -> Result<(), NcclError> {
        let Some(done) = self.done.get_mut(&rank) else { return Ok(()) };
        let place = usize::try_from(*done - self.before).unwrap_or(usize::MAX);
        match self.ahead.get(place) {
            Some(expected) if *expected != task => return Err(mismatch(rank, task, *expected)),
            Some(_) => {}
            None => self.ahead.push_back(task),
        }
        *done += 1;
        self.forget();
        Ok(())
    }

    /// Forgets operations that every rank has done.
    fn forget(&mut self) {
        let all = self.done.values().min().copied().unwrap_or(self.before);
        while self.before < all && self.ahead.pop_front().is_some() {
            self.before += 1;
        }
    }

    /// One end of a message; the other end is in this process, or nothing is known of it.
    fn pass(&mut self, between: (u32, u32), peer: u32, rank: u32, task: Task) -> Result<(), NcclError> {
        if !self.done.contains_key(&peer) {
            return Ok(());
        }
        let is_send = matches!(task.kind, Kind::Send { .. });
        let (mine, other) =
            if is_send { (&mut self.sent, &mut self.awaited) } else { (&mut self.awaited, &mut self.sent) };
        let waiting = other.entry(between).or_default();
        match waiting.front() {
            Some(expected) if (expected.count, expected.of) != (task.count, task.of) => {
                return Err(mismatch(rank, task, *expected));
            }
            Some(_) => drop(waiting.pop_front()),
            None => mine.entry(between).or_default().push_back(task),
        }
        Ok(())
    }
}

fn mismatch(rank: u32, given: Task, expected: Task) -> NcclError {
    NcclError::Mismatch { rank, given: given.to_string(), expected: format!("begun to {expected}") }
}

/// A rank's share of the ledger; it leaves when this is dropped.
pub(super) struct Share {
    ledger: Arc<Ledger>,
    rank: u32,
}

impl Share {
    /// Joins, before the rank does: after it, all ranks of the process are here.
    pub(super) fn new(id: &UniqueId, rank: u32) -> Result<Share, NcclError> {
        let ledger = Ledger::of(id);
        {
            let lists = &mut *lock(&ledger.0);
            if lists.done.contains_key(&rank) {
                return Err(NcclError::RankTaken { rank });
            }
            lists.done.insert(rank, lists.before);
        }
        Ok(Share { ledger, rank })
    }

    /// Has the devices of all ranks remember that each may use the others' memory: NCCL reads and writes the
    /// buffers of other devices of a process where it can.
    pub(super) fn open(&self, device: &Device) {
        let devices = &mut lock(&self.ledger.0).devices;
        for other in devices.values() {
            other.note_accessor(device);
            device.note_accessor(other);
        }
        devices.insert(self.rank, device.clone());
    }

    /// As [`Ledger::note`].
    pub(super) fn note(&self, task: Task) -> Result<(), NcclError> {
        self.ledger.note(self.rank, task)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut lists = lock(&self.ledger.0);
        lists.done.remove(&self.rank);
        lists.devices.remove(&self.rank);
        lists.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(count: usize) -> Task {
        Task { kind: Kind::AllGather, count, of: 7 }
    }

    fn send(peer: u32, count: usize) -> Task {
        Task { kind: Kind::Send { peer }, count, of: 7 }
    }

    fn receive(peer: u32, count: usize) -> Task {
        Task { kind: Kind::Receive { peer }, count, of: 7 }
    }

    fn pair(number: u8) -> [Share; 2] {
        let id = UniqueId::from_bytes([number; 128]);
        [0, 1].map(|rank| Share::new(&id, rank).expect("nobody has it"))
    }

    #[test]
    fn ranks_that_do_the_same_are_left_alone_and_nothing_is_kept_of_it() {
        let [first, second] = pair(1);
        for count in 0..10 {
            assert_eq!(first.note(gather(count)), Ok(()));
        }
        for count in 0..10 {
            assert_eq!(second.note(gather(count)), Ok(()));
        }
        let lists = lock(&first.ledger.0);
        assert!(lists.ahead.is_empty());
        assert_eq!(lists.before, 10);
    }

    #[test]
    fn a_rank_that_differs_is_refused_and_may_do_the_right_thing_then() {
        let [first, second] = pair(2);
        assert_eq!(first.note(gather(4)), Ok(()));
        let error = second.note(gather(5)).expect_err("it differs");
        assert_eq!(
            error.to_string(),
            "rank 1 was to all-gather 5 values of NCCL's type 7, where another rank of this process had begun to all-gather 4 \
             values of NCCL's type 7; all ranks do the same, in the same order"
        );
        assert_eq!(second.note(gather(4)), Ok(()));
    }

    #[test]
    fn messages_are_matched_in_their_order_and_direction() {
        let [first, second] = pair(3);
        assert_eq!(
            (first.note(send(1, 4)), first.note(send(1, 5)), first.note(receive(1, 6))),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(second.note(send(0, 6)), Ok(()));
        assert_eq!(second.note(receive(0, 4)), Ok(()));
        assert!(second.note(receive(0, 4)).is_err());
        assert_eq!(second.note(receive(0, 5)), Ok(()));
    }

    #[test]
    fn ranks_elsewhere_are_not_guessed_at() {
        let alone = Share::new(&UniqueId::from_bytes([4; 128]), 3).expect("nobody has it");
        assert_eq!(
            (alone.note(gather(1)), alone.note(send(0, 1)), alone.note(receive(1, 2))),
            (Ok(()), Ok(()), Ok(()))
        );
        let lists = lock(&alone.ledger.0);
        assert!(lists.ahead.is_empty() && lists.sent.is_empty() && lists.awaited.is_empty());
    }

    #[test]
    fn a_rank_is_taken_until_it_leaves() {
        let (id, [first, second]) = (UniqueId::from_bytes([6; 128]), pair(6));
        assert!(matches!(Share::new(&id, 1), Err(NcclError::RankTaken { rank: 1 })));
        drop(second);
        assert!(Share::new(&id, 1).is_ok());
        drop(first);
    }

    #[test]
    fn a_rank_that_has_left_holds_nothing_back() {
        let [first, second] = pair(5);
        assert_eq!(first.note(gather(1)), Ok(()));
        drop(second);
        assert!(lock(&first.ledger.0).ahead.is_empty());
    }
}
