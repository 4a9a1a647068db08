//! Launches of graphs that use memory which the host can borrow.

use crate::memory::GraphMemory;
use crate::memory::graph_memory::Used;
use crate::{MemoryError, Result, Stream};

impl GraphMemory {
    /// Begins a launch on a stream, before it is enqueued: from here on, host borrows wait for the stream. A graph
    /// that uses device memory alone has none that the host can borrow, and its launches cost nothing here.
    ///
    /// Makes no heap allocation unless the memory meets the stream for the first time.
    ///
    /// # Errors
    ///
    /// [`MemoryError::HostBorrowed`] if the host borrows any of the memory, and the driver's error of a wait
    /// for its allocation. Then nothing has begun.
    #[inline]
    pub(crate) fn begin_launch<'a>(&'a self, stream: &'a Stream) -> Result<Launching<'a>> {
        let mut launching = Launching { begun: &[], stream };
        for (index, used) in self.all().iter().enumerate() {
            let held = &used.allocation;
            if !held.host_borrows().begin_launch() {
                let (address, bytes) = (held.address(), held.bytes());
                return Err(MemoryError::HostBorrowed { address, bytes }.into());
            }
            launching.begun = &self.all()[..=index];
        }
        // A launch that is refused leaves no trace of its stream.
        self.all().iter().try_for_each(|used| used.allocation.meet(stream))?;
        Ok(launching)
    }
}

/// A launch that is being enqueued. Dropping it ends the enqueuing, also after a failure.
pub(crate) struct Launching<'a> {
    begun: &'a [Used],
    stream: &'a Stream,
}

impl Launching<'_> {
    /// Records the accesses of the launch, which is enqueued.
    #[inline]
    pub(crate) fn enqueued(self) {
        self.begun.iter().for_each(|used| used.allocation.did(self.stream, used.access()));
    }
}

impl Drop for Launching<'_> {
    #[inline]
    fn drop(&mut self) {
        self.begun.iter().for_each(|used| used.allocation.host_borrows().end_launch());
    }
}
