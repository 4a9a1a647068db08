//! Storage of unfinished ops, in chunks: an op never moves, and a million of them need no reallocation.

use crate::id::{OpId, QueueId};
use crate::op::{Op, Successors};
use crate::work::Work;

const CHUNK: usize = 1024;

struct Slot<W: Work> {
    generation: u32,
    op: Option<Op<W>>,
}

/// A finished op that was removed: the queue it stood in, and the ops that waited for it.
pub(crate) struct Finished {
    pub(crate) queue: QueueId,
    pub(crate) beside: bool,
    pub(crate) watched: bool,
    pub(crate) successors: Successors,
}

pub(crate) struct Store<W: Work> {
    chunks: Vec<Vec<Slot<W>>>,
    free: Vec<u32>,
    len: usize,
}

impl<W: Work> Default for Store<W> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<W: Work> Store<W> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn insert(&mut self, op: Op<W>) -> OpId {
        self.len += 1;
        if let Some(index) = self.free.pop() {
            let slot = self.slot_mut(index);
            slot.op = Some(op);
            return OpId { index, generation: slot.generation };
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let index = last * CHUNK + chunk.len();
        chunk.push(Slot { generation: 0, op: Some(op) });
        OpId { index: u32::try_from(index).expect("fewer than four thousand million unfinished ops"), generation: 0 }
    }

    fn slot_mut(&mut self, index: u32) -> &mut Slot<W> {
        &mut self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    #[inline]
    pub(crate) fn get(&self, id: OpId) -> Option<&Op<W>> {
        let slot = &self.chunks[id.index as usize / CHUNK][id.index as usize % CHUNK];
        slot.op.as_ref().filter(|_| slot.generation == id.generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: OpId) -> Option<&mut Op<W>> {
        let slot = self.slot_mut(id.index);
        slot.op.as_mut().filter(|_| slot.generation == id.generation)
    }

    /// Removes a finished op; what is not returned of it is dropped in its slot.
    #[inline]
    pub(crate) fn remove(&mut self, id: OpId) -> Option<Finished> {
        let slot = self.slot_mut(id.index);
        if slot.generation != id.generation {
            return None;
        }
        let op = slot.op.as_mut()?;
        let successors = std::mem::take(&mut op.successors);
        let finished = Finished { queue: op.queue, beside: op.beside, watched: op.watched, successors };
        slot.op = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index);
        self.len -= 1;
        Some(finished)
    }
}
