//! Ops in chunks: an op never moves, and a million of them cost what they are.

use super::{Op, OpId};

const CHUNK: usize = 1024;

struct Place {
    generation: u32,
    op: Option<Op>,
}

#[derive(Default)]
pub(super) struct Store {
    chunks: Vec<Vec<Place>>,
    free: Vec<u32>,
    len: usize,
}

impl Store {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, op: Op) -> OpId {
        self.len += 1;
        if let Some(index) = self.free.pop() {
            let place = self.place_mut(index);
            place.op = Some(op);
            return OpId { index, generation: place.generation };
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let index = last * CHUNK + chunk.len();
        chunk.push(Place { generation: 0, op: Some(op) });
        OpId { index: u32::try_from(index).expect("fewer than four thousand million unfinished ops"), generation: 0 }
    }

    fn place_mut(&mut self, index: u32) -> &mut Place {
        &mut self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    pub(super) fn get(&self, id: OpId) -> Option<&Op> {
        let place = &self.chunks[id.index as usize / CHUNK][id.index as usize % CHUNK];
        place.op.as_ref().filter(|_| place.generation == id.generation)
    }

    pub(super) fn get_mut(&mut self, id: OpId) -> Option<&mut Op> {
        let place = self.place_mut(id.index);
        place.op.as_mut().filter(|_| place.generation == id.generation)
    }

    pub(super) fn remove(&mut self, id: OpId) -> Option<Op> {
        let place = self.place_mut(id.index);
        if place.generation != id.generation {
            return None;
        }
        let op = place.op.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(id.index);
        self.len -= 1;
        Some(op)
    }
}
