//! Launches of an executable that may be in flight.

use crate::stream::WeakStream;
use crate::{Stream, callback, completion, reclaimer};

/// The streams that an executable was launched on.
#[derive(Default)]
pub(super) struct Launches {
    /// The stream of the last launch is the last one.
    streams: Vec<WeakStream>,
}

impl Launches {
    /// `true` if the last launch was on this stream.
    #[inline]
    pub(super) fn is_last(&self, stream: &Stream) -> bool {
        self.streams.last().is_some_and(|last| last.is(stream))
    }

    /// Records a stream before the executable is launched on it.
    pub(super) fn add(&mut self, stream: &Stream) {
        let others = std::mem::take(&mut self.streams).into_iter().filter(|known| !known.is(stream));
        // A stream that the program has let go of stays for as long as it has work.
        self.streams = others.filter_map(|known| if known.has_ended() { known.rest() } else { Some(known) }).collect();
        self.streams.push(stream.downgrade());
    }

    /// All of them.
    pub(super) fn streams(&self) -> Vec<WeakStream> {
        self.streams.clone()
    }
}

/// Drops the values that graphs have kept and that were dropped in callbacks so far, and waits for such drops on
/// other threads.
///
/// Memory, code and closures that a graph has kept are dropped on a thread of this crate, soon after the last of
/// definition, executables and launches is gone. The same thread drops buffers, streams and the like that a host
/// function has dropped, where CUDA cannot be called. A program that wants to see the effect, such as a test that
/// counts memory, calls this. In a host function or another callback of the driver it does nothing, and leaves the
/// values to the thread.
pub fn reclaim() {
    if callback::is_running() {
        return;
    }
    completion::drop_done();
    reclaimer::reclaim();
}
