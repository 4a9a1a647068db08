//! Giving memory back to the resource below, in the order of streams.

use std::borrow::Cow;
use std::sync::Arc;

use super::block_cache::BlockCache;
use super::state::Unused;
use crate::capture::{self, RelaxedMode, Sequence};
use crate::diagnostics::{Subject, report};
use crate::{Result, Stream, callback, reclaimer};

impl BlockCache {
    /// Gives segments back that no buffer uses, until they have so many bytes: in the order of the given
    /// stream, which comes after all that used them, or of a stream that used them. Returns their bytes.
    ///
    /// Segments of a stream that is captured stay. After an error, those that were not tried stay, too.
    pub(super) fn release(&self, order: Option<&Stream>, enough: usize) -> Result<usize> {
        let unused = self.lock().take_unused(enough);
        let (mut released, mut result) = (0, Ok(()));
        for segment in &unused {
            let given = if result.is_ok() { self.give_back(segment, order) } else { Ok(Outcome::Kept) };
            match given {
                Ok(Outcome::Given) => {
                    released += segment.bytes;
                    self.lock().statistics.reserved -= segment.bytes;
                }
                Ok(Outcome::Kept) => self.lock().restore(segment),
                Err(error) => result = Err(error),
            }
        }
        drop(unused);
        let idle = self.lock().take_idle_lanes();
        drop(idle); // without the lock: streams may end with them
        result.map(|()| released)
    }

    /// Gives one segment back. After an error it is back in the cache or, if the resource below may have it,
    /// lost.
    fn give_back(&self, segment: &Unused, order: Option<&Stream>) -> Result<Outcome> {
        let last = match after_all(segment, order) {
            Ok(Some(last)) => last,
            Ok(None) => return Ok(Outcome::Kept),
            Err(error) => {
                self.lock().restore(segment);
                return Err(error);
            }
        };
        // SAFETY: the resource has allocated it with this size; it is given back once, since the state has
        // it no more; and the stream comes after all that freed parts of it.
        unsafe { self.below.deallocate_raw(segment.address, segment.bytes, &last) }.map(|()| Outcome::Given)
    }

    /// A capture that keeps memory from being given back in the order of its stream.
    fn obstacle(&mut self) -> Option<Arc<Sequence>> {
        let is_captured = |stream: &Stream| capture::of(stream).or(capture::shadowed(stream).unwrap_or_default());
        self.state.get_mut().streams().find_map(|stream| is_captured(&stream.for_teardown()))
    }
}

/// The stream on which a segment is given back, made to come after all that freed parts of it; `None` if it
/// is captured.
fn after_all<'a>(segment: &'a Unused, order: Option<&'a Stream>) -> Result<Option<Cow<'a, Stream>>> {
    let Some(last) = order.or(segment.streams().last()).map(Stream::for_teardown) else { return Ok(None) };
    if capture::any() && (capture::of(&last).is_some() || capture::shadowed(&last)?.is_some()) {
        return Ok(None);
    }
    let mut before = None;
    for stream in segment.streams().filter(|stream| **stream != *last) {
        if before.replace(stream) != Some(stream) {
            let other = stream.for_teardown();
            // Without an event, waiting on the host is slow and correct.
            last.follow(&other).or_else(|_| other.drain())?;
        }
    }
    Ok(Some(last))
}

/// The end of an attempt to give a segment back.
enum Outcome {
    Given,
    /// It stays in the cache.
    Kept,
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        // Memory of a past generation of a context went with it.
        if !self.context().is_current_generation() {
            return;
        }
        if callback::is_running() {
            return reclaimer::defer(self.take_all());
        }
        if capture::any()
            && let Some(capture) = self.obstacle()
        {
            return capture.defer(Box::new(self.take_all()));
        }
        let _relaxed = if capture::any() { RelaxedMode::new(self.context().driver()) } else { None };
        let unused = self.lock().take_unused(usize::MAX);
        for segment in unused {
            let (address, bytes, device) = (segment.address, segment.bytes, self.context().device().ordinal());
            let given = self.give_back(&segment, None).map(drop);
            report(|| Subject::Memory { address, bytes, device }, given);
        }
    }
}
