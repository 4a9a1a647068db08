//! The chunks of one copy.

use super::IN_TURNS;
use super::pool::Chunk;
use crate::{Event, Result, Stream};

/// The chunks that the pieces of a copy take turns with. They go back to their context when the copy is over,
/// or are put aside if the device may still use them.
pub(super) struct Lease<'a> {
    stream: &'a Stream,
    turns: [Option<Turn>; IN_TURNS],
    /// `true` if the stream may have work that uses a chunk.
    is_busy: bool,
}

struct Turn {
    chunk: Chunk,
    /// The point at which the stream needs the chunk no longer.
    done: Option<Event>,
}

impl<'a> Lease<'a> {
    /// No chunks yet, for a copy on a stream.
    pub(super) fn new(stream: &'a Stream) -> Lease<'a> {
        Lease { stream, turns: Default::default(), is_busy: false }
    }

    /// The chunk of a piece. The caller has waited for the piece that had it before.
    pub(super) fn chunk(&mut self, piece: usize) -> Result<*mut u8> {
        let turn = &mut self.turns[piece % IN_TURNS];
        if let Some(turn) = turn {
            return Ok(turn.chunk.start());
        }
        let context = self.stream.context();
        let chunk = context.cached().staging.take(context)?;
        Ok(turn.insert(Turn { chunk, done: None }).chunk.start())
    }

    /// Takes note that the stream is going to use a chunk.
    pub(super) fn begin(&mut self) {
        self.is_busy = true;
    }

    /// Marks the end of a piece that was enqueued, to be waited for.
    pub(super) fn mark(&mut self, piece: usize) -> Result<()> {
        match &mut self.turns[piece % IN_TURNS] {
            Some(Turn { done: Some(done), .. }) => self.stream.record_into(done),
            Some(Turn { done, .. }) => {
                *done = Some(self.stream.record()?);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits for the end of the piece that has the chunk of this one, if there is one.
    pub(super) fn wait(&self, piece: usize) -> Result<()> {
        match &self.turns[piece % IN_TURNS] {
            Some(Turn { done: Some(done), .. }) => done.synchronize(),
            _ => Ok(()),
        }
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
        for turn in self.turns.iter_mut().filter_map(Option::take) {
            if is_idle { pool.give_back(turn.chunk) } else { pool.put_aside(turn.chunk) }
        }
    }
}
