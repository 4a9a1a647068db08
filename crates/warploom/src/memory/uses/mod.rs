//! The streams that used an allocation, and how often each read and wrote it.
//!
//! Two things hang on it. Memory may only go when every stream that met it is done with it; for that, the
//! streams are remembered, before anything is enqueued. And a copy that orders itself ([`order`]) waits for
//! exactly the streams whose work conflicts with it; for that, it is counted how often each stream read and
//! wrote, after that was enqueued, and remembered up to which counts another stream has waited.
//!
//! Memory that stays on its home stream has none of this: one load says so. It starts with the first other
//! stream, and then takes a lock a use. No driver call is made under the lock: a simulated machine may run a
//! host function in it, which uses the same memory.
//!
//! The streams are [weak](WeakStream): once the program has let go of one, an event stands for its work, and
//! with each new stream a few of those are dropped whose work is done. So the list is as long as there are
//! streams with a handle or with work.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::allocation_ref::AllocationRef;
use crate::stream::WeakStream;
use crate::{CaptureError, Result, Stream};

// They start a simulated machine, whose memory Miri cannot map.
#[cfg(all(test, not(miri)))]
mod tests;

/// Kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The streams that met an allocation. There is nothing as long as the home, if there is one, is the only
/// stream.
#[derive(Default)]
pub(super) struct Uses(OnceLock<Box<Mutex<Known>>>);

/// The state once uses are counted.
#[derive(Default)]
struct Known {
    /// The home is the first, if there is one.
    all: Vec<Use>,
    /// The number of the next in the list.
    next: u64,
    /// The stream that frees the memory, if not the home stream.
    order: Option<Stream>,
    /// Goes with the allocation; observers hold it weakly.
    watched: Option<Arc<()>>,
    /// The driver's export data, once the memory was described for other processes.
    #[cfg(target_os = "linux")]
    export: Option<Box<[u8; 64]>>,
}

struct Use {
    /// Tells it from all that are or were in the list.
    id: u64,
    stream: WeakStream,
    counts: Counts,
    /// `true` if the stream launches graphs that use the memory. Their launches are not counted one by one,
    /// so that there may always be another.
    is_launching: bool,
    /// The counts up to which the stream has waited for each of the others, by their numbers.
    seen: Vec<(u64, Counts)>,
}

/// The most streams that are dropped from the list when one is added: more than one, so that it becomes
/// shorter after a time with many.
const DROPPED: usize = 4;

/// The numbers of reads and writes of a stream; they are only compared for equality, so that they may wrap.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    reads: u32,
    writes: u32,
}

impl Counts {
    /// `true` if work up to here, of which up to `seen` has been waited for, conflicts with an access.
    fn conflicts(self, seen: Counts, access: Access) -> bool {
        self.writes != seen.writes || access == Access::Write && self.reads != seen.reads
    }
}

impl Use {
    fn new(stream: WeakStream) -> Use {
        Use { id: 0, stream, counts: Counts::default(), is_launching: false, seen: Vec::new() }
    }

    fn seen(&self, id: u64) -> Counts {
        self.seen.iter().find(|(seen, _)| *seen == id).map(|(_, counts)| *counts).unwrap_or_default()
    }

    fn see(&mut self, id: u64, counts: Counts) {
        match self.seen.iter_mut().find(|(seen, _)| *seen == id) {
            Some((_, seen)) => *seen = counts,
            None => self.seen.push((id, counts)),
        }
    }
}

impl Uses {
    #[inline]
    pub(super) fn is_counted(&self) -> bool {
        self.0.get().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.get_or_init(Box::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees in the order of another stream than the home.
    pub(super) fn set_order(&self, stream: &Stream) {
        let before = self.lock().order.replace(stream.clone());
        drop(before); // without the lock: the stream may end with it
    }

    /// Lets an observer know when the allocation goes.
    pub(super) fn watch(&self) -> Weak<()> {
        Arc::downgrade(self.lock().watched.get_or_insert_default())
    }

    /// The driver's export data: the first answer of `ask`.
    #[cfg(target_os = "linux")]
    pub(super) fn export_or_ask(&self, ask: impl FnOnce() -> Result<[u8; 64]>) -> Result<[u8; 64]> {
        let known = self.lock().export.clone();
        match known {
            Some(export) => Ok(*export),
            None => {
                let export = Box::new(ask()?);
                Ok(**self.lock().export.get_or_insert(export))
            }
        }
    }

    /// The stream that frees the memory, if not the home stream.
    pub(super) fn order(&self) -> Option<Stream> {
        self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner).order.clone()
    }

    /// Lets a stream that is not the home use the memory: after it has come into being at home, and before
    /// its end.
    pub(super) fn meet(&self, stream: &Stream, home: Option<&Stream>) -> Result<()> {
        self.admit(stream, home, false)
    }

    /// Lets a stream launch graphs that use the memory, as often as it likes; the home as well.
    pub(super) fn meet_launches(&self, stream: &Stream, home: Option<&Stream>) -> Result<()> {
        self.admit(stream, home, true)
    }

    fn admit(&self, stream: &Stream, home: Option<&Stream>, is_launching: bool) -> Result<()> {
        let seen = {
            let known = &mut *self.lock();
            known.count(home);
            if let Some(met) = known.find(stream, home) {
                met.is_launching |= is_launching;
                return Ok(());
            }
            home.and(known.all.first()).map(|home| (home.id, home.counts))
        };
        if let Some(home) = home {
            stream.follow(&home.for_teardown())?;
        }
        self.add(stream, home, |met| {
            met.is_launching |= is_launching;
            seen.into_iter().for_each(|(home, counts)| met.see(home, counts));
        });
        Ok(())
    }

    /// Counts an access that a stream has enqueued.
    pub(super) fn note(&self, stream: &Stream, home: Option<&Stream>, access: Access) {
        if let Some(met) = self.lock().find(stream, home) {
            match access {
                Access::Read => met.counts.reads = met.counts.reads.wrapping_add(1),
                Access::Write => met.counts.writes = met.counts.writes.wrapping_add(1),
            }
        }
    }

    /// Changes what is known of a stream, which is added if it is not in the list. Then a few are dropped that
    /// have ended and are done.
    fn add(&self, stream: &Stream, home: Option<&Stream>, change: impl FnOnce(&mut Use)) {
        let ended: Vec<(u64, WeakStream)> = {
            let known = &mut *self.lock();
            if let Some(met) = known.find(stream, home) {
                return change(met);
            }
            known.count(home);
            change(known.push(Use::new(stream.downgrade())));
            // The home stays the first, also after the end of a thread whose default stream it is.
            let others = known.all.iter().skip(usize::from(home.is_some()));
            let ended = others.filter(|met| met.stream.has_ended());
            ended.take(DROPPED).map(|met| (met.id, met.stream.clone())).collect()
        };
        if ended.is_empty() {
            return;
        }
        let rests: Vec<_> = ended.iter().map(|(id, stream)| (*id, stream.rest())).collect();
        let dropped = self.lock().replace(rests);
        drop((dropped, ended)); // without the lock: events go with them
    }

    /// The streams whose work a stream has to wait for before an access, and the counts it will have seen
    /// then.
    fn conflicts(&self, stream: &Stream, home: Option<&Stream>, access: Access) -> Vec<Conflict> {
        let known = &mut *self.lock();
        known.count(home);
        let mine = known.position(stream, home);
        let all = &known.all;
        let is_conflict = |(place, met): (usize, &Use)| {
            let is_unmet_home = mine.is_none() && place == 0 && home.is_some();
            let seen = mine.map(|mine| all[mine].seen(met.id)).unwrap_or_default();
            let conflicts = mine != Some(place)
                && !met.stream.is_known_idle()
                && (is_unmet_home || met.is_launching || met.counts.conflicts(seen, access));
            let stream = || met.stream.clone();
            let conflict = || Conflict { stream: stream(), place, id: met.id, counts: met.counts, is_waited_for: true };
            conflicts.then(conflict)
        };
        let mut conflicts: Vec<Conflict> = all.iter().enumerate().filter_map(is_conflict).collect();
        // A wait for a stream includes the waits of that stream. One at a time, since two may have waited for
        // each other.
        for index in 0..conflicts.len() {
            let Conflict { place, id, counts, .. } = conflicts[index];
            let mut others = conflicts.iter().filter(|other| other.is_waited_for && other.id != id);
            let is_covered = !all[place].is_launching && others.any(|other| all[other.place].seen(id) == counts);
            conflicts[index].is_waited_for = !is_covered;
        }
        conflicts
    }

    /// Takes note that a stream has waited.
    fn saw(&self, stream: &Stream, home: Option<&Stream>, conflicts: &[Conflict]) {
        self.add(stream, home, |mine| conflicts.iter().for_each(|conflict| mine.see(conflict.id, conflict.counts)));
    }

    /// The streams that have to be done before the memory goes, but for the home, and the stream that it is
    /// freed on instead of the home.
    pub(super) fn end(&mut self, home: Option<&Stream>) -> (Vec<WeakStream>, Option<Stream>) {
        let Some(known) = self.0.take() else { return (Vec::new(), None) };
        let Known { all, order, .. } = known.into_inner().unwrap_or_else(PoisonError::into_inner);
        let others = all.into_iter().map(|met| met.stream).skip(usize::from(home.is_some()));
        (others.filter(|stream| !stream.is_known_idle()).collect(), order)
    }

    /// The streams that have met the memory so far, but for those that are known to be done.
    pub(super) fn streams(&self) -> Vec<WeakStream> {
        let known = self.lock();
        known.all.iter().map(|met| &met.stream).filter(|stream| !stream.is_known_idle()).cloned().collect()
    }

    /// Waits for every stream that has met the memory so far, the home included, while others may meet it.
    pub(super) fn wait(&self, home: Option<&Stream>) -> Result<()> {
        let met: Vec<WeakStream> = self.lock().all.iter().map(|met| met.stream.clone()).collect();
        match home {
            // The home is among them as soon as there is another.
            Some(home) if met.is_empty() && home.context().is_current_generation() => home.for_teardown().drain(),
            _ => met.iter().filter(|stream| !stream.is_known_idle()).try_for_each(WeakStream::drain),
        }
    }

    /// Waits for every stream that met the memory, the home included, and forgets them as
    /// [`Uses::forget`] does, but for those that have met it meanwhile.
    pub(super) fn settle(&self, home: Option<&Stream>) -> Result<()> {
        let end = self.lock().next;
        self.wait(home)?;
        self.forget_until(home, end);
        Ok(())
    }

    /// Forgets the streams; the caller knows that they are done with the memory. Streams that launch graphs
    /// stay, since they may launch again.
    pub(super) fn forget(&self, home: Option<&Stream>) {
        self.forget_until(home, u64::MAX);
    }

    fn forget_until(&self, home: Option<&Stream>, end: u64) {
        let Some(known) = self.0.get() else { return };
        let mut forgotten = known.lock().unwrap_or_else(PoisonError::into_inner).forget(home, end);
        forgotten.clear(); // without the lock: events go with them
        let known = &mut *self.lock();
        if known.all.is_empty() {
            known.all = forgotten; // room for the next
        }
    }
}

impl Known {
    /// Makes the home the first of all streams; its work so far may be any access.
    fn count(&mut self, home: Option<&Stream>) {
        if let (true, Some(home)) = (self.all.is_empty(), home) {
            self.push(Use { counts: Counts { reads: 1, writes: 1 }, ..Use::new(home.downgrade()) });
        }
    }

    fn push(&mut self, met: Use) -> &mut Use {
        let id = self.next;
        self.next += 1;
        self.all.push_mut(Use { id, ..met })
    }

    /// The place of a stream in the list. Another handle of the driver's to the home is the home.
    fn position(&self, stream: &Stream, home: Option<&Stream>) -> Option<usize> {
        let known = self.all.iter().position(|met| met.stream.is(stream));
        known.or_else(|| (home == Some(stream) && !self.all.is_empty()).then_some(0))
    }

    fn find(&mut self, stream: &Stream, home: Option<&Stream>) -> Option<&mut Use> {
        self.position(stream, home).map(|place| &mut self.all[place])
    }

    /// Drops the streams that are done, with which nothing has to be seen any more.
    fn replace(&mut self, rests: Vec<(u64, Option<WeakStream>)>) -> Vec<Use> {
        for (id, rest) in &rests {
            if let (Some(rest), Some(met)) = (rest, self.all.iter_mut().find(|met| met.id == *id)) {
                met.stream = rest.clone();
            }
        }
        let is_done = |id: u64| rests.iter().any(|(done, rest)| *done == id && rest.is_none());
        let dropped: Vec<Use> = self.all.extract_if(.., |met| is_done(met.id)).collect();
        if !dropped.is_empty() {
            self.all.iter_mut().for_each(|met| met.seen.retain(|(id, _)| !is_done(*id)));
        }
        dropped
    }

    /// Starts again with the streams that launch graphs or came after the end of the numbers, when all before
    /// were waited for. The home stays the first.
    fn forget(&mut self, home: Option<&Stream>, end: u64) -> Vec<Use> {
        let stays = |met: &Use| met.id >= end || met.is_launching && !met.stream.has_ended();
        if !self.all.iter().any(stays) {
            return std::mem::take(&mut self.all);
        }
        let forgotten = self.all.extract_if(usize::from(home.is_some()).., |met| !stays(met)).collect();
        for met in self.all.iter_mut().filter(|met| met.id < end) {
            met.counts = Counts::default();
            met.seen.clear();
        }
        forgotten
    }
}

/// A stream whose work has to be waited for.
struct Conflict {
    stream: WeakStream,
    place: usize,
    id: u64,
    counts: Counts,
    /// `true` if it is waited for itself, and not by way of another.
    is_waited_for: bool,
}

/// Makes a stream wait for all work of other streams that conflicts with its next access: writes before a
/// read, reads and writes before a write. The stream counts as a user of the memory from then on.
///
/// Without such work, no driver call is made.
#[inline]
pub(crate) fn order<const N: usize>(stream: &Stream, operands: &[(&AllocationRef, Access); N]) -> Result<()> {
    if operands.iter().all(|(allocation, _)| allocation.is_at_home(stream)) {
        return Ok(());
    }
    order_among_others(stream, operands)
}

/// Refuses an access of a stream that is captured if work outside conflicts with it, for which the capture
/// cannot wait.
pub(crate) fn order_captured(stream: &Stream, (allocation, access): (&AllocationRef, Access)) -> Result<()> {
    if allocation.capture().is_some() || allocation.is_at_home(stream) {
        return Ok(());
    }
    match allocation.uses().conflicts(stream, allocation.home(), access).first() {
        Some(conflict) => Err(CaptureError::Conflict { device: conflict.stream.context().device().ordinal() }.into()),
        None => Ok(()),
    }
}

fn order_among_others<const N: usize>(stream: &Stream, operands: &[(&AllocationRef, Access); N]) -> Result<()> {
    let conflicts = |(allocation, access): &(&AllocationRef, Access)| {
        if allocation.is_at_home(stream) {
            return Vec::new();
        }
        allocation.uses().conflicts(stream, allocation.home(), *access)
    };
    // No lock is held while another is taken: copies in opposite directions may meet.
    let found: [Vec<Conflict>; N] = operands.each_ref().map(conflicts);
    let waits = || found.iter().flatten().filter(|conflict| conflict.is_waited_for);
    for (index, conflict) in waits().enumerate() {
        if waits().take(index).all(|earlier| earlier.stream != conflict.stream) {
            stream.follow_weak(&conflict.stream)?;
        }
    }
    for ((allocation, _), conflicts) in operands.iter().zip(&found) {
        if !allocation.is_at_home(stream) {
            allocation.note_accessor(stream.device());
            allocation.uses().saw(stream, allocation.home(), conflicts);
        }
    }
    Ok(())
}
