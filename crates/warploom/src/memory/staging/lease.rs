//! The chunks of one copy.
#![expect(unsafe_code, reason = "takes its memory out when it is dropped")]

use std::mem::ManuallyDrop;

use super::IN_TURNS;
use super::pool::Block;
use crate::{Event, Result, Stream};

/// The chunks that the pieces of a copy take turns with. They go back to their context when the copy is over,
/// or are put aside if the device may still use them.
pub(super) struct Lease<'a> {
    stream: &'a Stream,
    block: ManuallyDrop<Block>,
    /// The points at which the stream needs each chunk no longer.
    done: [Option<Event>; IN_TURNS],
    /// `true` if the stream may have work that uses a chunk.
    is_busy: bool,
}

impl<'a> Lease<'a> {
    /// The chunks of a copy on a stream.
    pub(super) fn new(stream: &'a Stream) -> Result<Lease<'a>> {
        let block = stream.context().cached().staging.take(stream)?;
        Ok(Lease { stream, block: ManuallyDrop::new(block), done: Default::default(), is_busy: false })
    }

    /// The chunk of a piece. The caller has waited for the piece that had it before.
    pub(super) fn chunk(&self, piece: usize) -> *mut u8 {
        self.block.chunk(piece)
    }

    /// Takes note that the stream is going to use a chunk.
    pub(super) fn begin(&mut self) {
        self.is_busy = true;
    }

    /// Marks the end of a piece that was enqueued, to be waited for.
    pub(super) fn mark(&mut self, piece: usize) -> Result<()> {
        match &mut self.done[piece % IN_TURNS] {
            Some(done) => self.stream.record_into(done),
            none => {
                *none = Some(self.stream.record()?);
                Ok(())
            }
        }
    }

    /// Waits for the end of the piece that has the chunk of this one, if there is one.
    pub(super) fn wait(&self, piece: usize) -> Result<()> {
        self.done[piece % IN_TURNS].as_ref().map_or(Ok(()), Event::synchronize)
    }

    /// Ends a copy to the device, whose last pieces may still be on their way: the chunks are not used again
    /// before these are there. Pageable chunks are not kept, and waited for.
    pub(super) fn leave(&mut self) -> Result<()> {
        if !self.block.is_pinned() {
            return self.settle();
        }
        self.block.mark_end(self.stream)?;
        self.is_busy = false;
        Ok(())
    }

    /// Waits for everything, after which the stream uses no chunk.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.stream.synchronize()?;
        self.is_busy = false;
        Ok(())
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // A call that failed may have been the only one; a wait tells.
        let is_idle = !self.is_busy || self.stream.synchronize().is_ok();
        let pool = &self.stream.context().cached().staging;
        // SAFETY: it is not used again.
        let block = unsafe { ManuallyDrop::take(&mut self.block) };
        if is_idle { pool.give_back(block) } else { pool.put_aside(block) }
    }
}
