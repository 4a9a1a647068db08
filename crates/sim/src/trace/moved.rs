//! Bytes copied, prefetched and filled, by source and destination.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::{Activity, Memory};

/// Bytes copied or prefetched from one memory to another, or filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Moved {
    /// The source; `None` if memory was filled with a value.
    pub from: Option<Memory>,
    /// The destination.
    pub to: Memory,
    /// The number of copies, prefetches or fills.
    pub operations: u64,
    /// The number of bytes.
    pub bytes: u64,
}

#[derive(Default)]
struct Cell {
    operations: AtomicU64,
    bytes: AtomicU64,
}

/// Counts as ops end: a row for every memory and one for fills, a column for every memory.
pub(super) struct Ways {
    memories: Vec<Memory>,
    cells: Box<[Cell]>,
}

impl Ways {
    pub(super) fn new(devices: usize) -> Self {
        let memories: Vec<Memory> =
            std::iter::once(Memory::Host).chain((0..devices).map(|ordinal| Memory::Device(ordinal as u16))).collect();
        let cells = (0..(memories.len() + 1) * memories.len()).map(|_| Cell::default()).collect();
        Self { memories, cells }
    }

    pub(super) fn add(&self, activity: &Activity) {
        let (from, to, bytes) = match *activity {
            Activity::Copy { from, to, bytes } => (Some(from), to, bytes),
            Activity::Fill { to, bytes } => (None, to, bytes),
            _ => return,
        };
        let place = |memory| match memory {
            Memory::Host => 0,
            Memory::Device(ordinal) => usize::from(ordinal) + 1,
        };
        let row = from.map_or(self.memories.len(), place);
        if let Some(cell) = self.cells.get(row * self.memories.len() + place(to)) {
            cell.operations.fetch_add(1, Ordering::Relaxed);
            cell.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The ways that were used: copies by where they came from, then fills.
    pub(super) fn counts(&self) -> Vec<Moved> {
        let rows = self.memories.iter().copied().map(Some).chain([None]);
        rows.flat_map(|from| self.memories.iter().map(move |to| (from, *to)))
            .zip(&self.cells)
            .map(|((from, to), cell)| Moved {
                from,
                to,
                operations: cell.operations.load(Ordering::Relaxed),
                bytes: cell.bytes.load(Ordering::Relaxed),
            })
            .filter(|moved| moved.operations > 0)
            .collect()
    }
}
