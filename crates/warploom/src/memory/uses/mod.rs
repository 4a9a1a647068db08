//! The streams that used an allocation, and how often each read and wrote it.
//!
//! Two things hang on it. Memory may only go when every stream that met it is done with it; for that, the
//! streams are remembered, before anything is enqueued. And a copy that orders itself ([`order`]) waits for
//! exactly the streams whose work conflicts with it; for that, it is counted how often each stream read and
//! wrote, after that was enqueued, and remembered up to which counts another stream has waited.
//!
//! Memory that stays on its home stream has none of this: one load says so. It starts with the first other
//! stream, and then takes a lock a use.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::allocation_ref::AllocationRef;
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
    /// The stream that frees the memory, if not the home stream.
    order: Option<Stream>,
    /// Goes with the allocation; observers hold it weakly.
    watched: Option<Arc<()>>,
    /// The driver's export data, once the memory was described for other processes.
    #[cfg(target_os = "linux")]
    export: Option<Box<[u8; 64]>>,
}

struct Use {
    stream: Stream,
    counts: Counts,
    /// `true` if the stream launches graphs that use the memory. Their launches are not counted one by one,
    /// so that there may always be another.
    is_launching: bool,
    /// The counts up to which the stream has waited for each of the others, by position in the list.
    seen: Vec<(usize, Counts)>,
}

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
    fn new(stream: &Stream) -> Use {
        Use { stream: stream.clone(), counts: Counts::default(), is_launching: false, seen: Vec::new() }
    }

    fn seen(&self, place: usize) -> Counts {
        self.seen.iter().find(|(seen, _)| *seen == place).map(|(_, counts)| *counts).unwrap_or_default()
    }

    fn see(&mut self, place: usize, counts: Counts) {
        match self.seen.iter_mut().find(|(seen, _)| *seen == place) {
            Some((_, seen)) => *seen = counts,
            None => self.seen.push((place, counts)),
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
        self.lock().order = Some(stream.clone());
    }

    /// Lets an observer know when the allocation goes.
    pub(super) fn watch(&self) -> Weak<()> {
        Arc::downgrade(self.lock().watched.get_or_insert_default())
    }

    /// The driver's export data: the first answer of `ask`.
    #[cfg(target_os = "linux")]
    pub(super) fn export_or_ask(&self, ask: impl FnOnce() -> Result<[u8; 64]>) -> Result<[u8; 64]> {
        let mut known = self.lock();
        if let Some(export) = &known.export {
            return Ok(**export);
        }
        Ok(**known.export.insert(Box::new(ask()?)))
    }

    /// The stream that frees the memory, if not the home stream.
    pub(super) fn order(&self) -> Option<Stream> {
        self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner).order.clone()
    }

    /// Lets a stream that is not the home use the memory: after it has come into being at home, and before
    /// its end.
    pub(super) fn meet(&self, stream: &Stream, home: Option<&Stream>) -> Result<()> {
        let known = &mut *self.lock();
        if known.all.iter().any(|met| met.stream == *stream) {
            return Ok(());
        }
        let all = known.count(home);
        let mut met = Use::new(stream);
        if let Some(home) = home {
            met.see(0, all[0].counts);
            stream.follow(&home.for_teardown())?;
        }
        all.push(met);
        Ok(())
    }

    /// Lets a stream launch graphs that use the memory, as often as it likes; the home as well.
    pub(super) fn meet_launches(&self, stream: &Stream, home: Option<&Stream>) -> Result<()> {
        if home != Some(stream) {
            self.meet(stream, home)?;
        }
        if let Some(met) = self.lock().count(home).iter_mut().find(|met| met.stream == *stream) {
            met.is_launching = true;
        }
        Ok(())
    }

    /// Counts an access that a stream has enqueued.
    pub(super) fn note(&self, stream: &Stream, access: Access) {
        if let Some(met) = self.lock().all.iter_mut().find(|met| met.stream == *stream) {
            match access {
                Access::Read => met.counts.reads = met.counts.reads.wrapping_add(1),
                Access::Write => met.counts.writes = met.counts.writes.wrapping_add(1),
            }
        }
    }

    /// The streams whose work a stream has to wait for before an access, and the counts it will have seen
    /// then.
    fn conflicts(&self, stream: &Stream, home: Option<&Stream>, access: Access) -> Vec<Conflict> {
        let known = &mut *self.lock();
        let all = known.count(home);
        let mine = all.iter().find(|met| met.stream == *stream);
        let is_conflict = |(place, met): (usize, &Use)| {
            let is_unmet_home = mine.is_none() && place == 0 && home.is_some();
            let seen = mine.map(|mine| mine.seen(place)).unwrap_or_default();
            let conflicts = met.stream != *stream
                && is_alive(&met.stream)
                && (is_unmet_home || met.is_launching || met.counts.conflicts(seen, access));
            conflicts.then(|| Conflict { stream: met.stream.clone(), place, counts: met.counts, is_waited_for: true })
        };
        let mut conflicts: Vec<Conflict> = all.iter().enumerate().filter_map(is_conflict).collect();
        // A wait for a stream includes the waits of that stream. One at a time, since two may have waited for
        // each other.
        for index in 0..conflicts.len() {
            let Conflict { place, counts, .. } = conflicts[index];
            let mut others = conflicts.iter().filter(|other| other.is_waited_for && other.place != place);
            let is_covered = !all[place].is_launching && others.any(|other| all[other.place].seen(place) == counts);
            conflicts[index].is_waited_for = !is_covered;
        }
        conflicts
    }

    /// Takes note that a stream has waited.
    fn saw(&self, stream: &Stream, conflicts: &[Conflict]) {
        let all = &mut self.lock().all;
        if all.iter().all(|met| met.stream != *stream) {
            all.push(Use::new(stream));
        }
        if let Some(mine) = all.iter_mut().find(|met| met.stream == *stream) {
            conflicts.iter().for_each(|conflict| mine.see(conflict.place, conflict.counts));
        }
    }

    /// The streams that have to be done before the memory goes, but for the home, and the stream that it is
    /// freed on instead of the home.
    pub(super) fn end(&mut self, home: Option<&Stream>) -> (Vec<Stream>, Option<Stream>) {
        let Some(known) = self.0.take() else { return (Vec::new(), None) };
        let Known { all, order, .. } = known.into_inner().unwrap_or_else(PoisonError::into_inner);
        let streams = all.into_iter().map(|met| met.stream);
        (streams.filter(|stream| Some(stream) != home && is_alive(stream)).collect(), order)
    }

    /// The streams that have met the memory so far, but for those whose context is over.
    pub(super) fn streams(&self) -> Vec<Stream> {
        let known = self.lock();
        known.all.iter().map(|met| &met.stream).filter(|stream| is_alive(stream)).cloned().collect()
    }

    /// Waits for every stream that has met the memory so far, the home included, while others may meet it.
    pub(super) fn wait(&self, home: Option<&Stream>) -> Result<()> {
        let met: Vec<Stream> = self.lock().all.iter().map(|met| met.stream.clone()).collect();
        // The home is among them as soon as there is another.
        let alone = home.filter(|_| met.is_empty());
        let mut streams = alone.into_iter().chain(&met).filter(|stream| is_alive(stream));
        streams.try_for_each(|stream| stream.for_teardown().drain())
    }

    /// Waits for every stream that met the memory, the home included, and forgets them as
    /// [`Uses::forget`] does.
    pub(super) fn settle(&self, home: Option<&Stream>) -> Result<()> {
        let known = &mut *self.lock();
        // The home is among them as soon as there is another.
        let alone = home.filter(|_| known.all.is_empty());
        let met = known.all.iter().map(|met| &met.stream);
        let streams = alone.into_iter().chain(met).filter(|stream| is_alive(stream));
        streams.map(Stream::for_teardown).try_for_each(|stream| stream.drain())?;
        known.forget(home);
        Ok(())
    }

    /// Forgets the streams; the caller knows that they are done with the memory. Streams that launch graphs
    /// stay, since they may launch again.
    pub(super) fn forget(&self, home: Option<&Stream>) {
        if let Some(known) = self.0.get() {
            known.lock().unwrap_or_else(PoisonError::into_inner).forget(home);
        }
    }
}

impl Known {
    /// All streams, of which the home is the first; its work so far may be any access.
    fn count(&mut self, home: Option<&Stream>) -> &mut Vec<Use> {
        if let (true, Some(home)) = (self.all.is_empty(), home) {
            self.all.push(Use { counts: Counts { reads: 1, writes: 1 }, ..Use::new(home) });
        }
        &mut self.all
    }

    /// Starts again with the streams that launch graphs, after everything was waited for. The home stays the
    /// first.
    fn forget(&mut self, home: Option<&Stream>) {
        self.all.retain(|met| met.is_launching);
        for met in &mut self.all {
            met.counts = Counts::default();
            met.seen.clear();
        }
        if let (Some(first), Some(home)) = (self.all.first(), home)
            && first.stream != *home
        {
            self.all.insert(0, Use::new(home));
        }
    }
}

/// `true` if a stream may have work; work of a past generation of a context is over.
fn is_alive(stream: &Stream) -> bool {
    stream.context().is_current_generation()
}

/// A stream whose work has to be waited for.
struct Conflict {
    stream: Stream,
    place: usize,
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
        Some(conflict) => Err(CaptureError::Conflict { device: conflict.stream.device().ordinal() }.into()),
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
            stream.follow(&conflict.stream.for_teardown())?;
        }
    }
    for ((allocation, _), conflicts) in operands.iter().zip(&found) {
        if !allocation.is_at_home(stream) {
            allocation.note_accessor(stream.device());
            allocation.uses().saw(stream, conflicts);
        }
    }
    Ok(())
}
