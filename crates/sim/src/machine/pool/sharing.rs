//! Memory of pools in other processes: the shared object of a pool, and the allocations that are exported.
//!
//! The words of a pool's shared object are slots, one an exported allocation: generation, offset, size. Only
//! the process that created the pool writes them. It clears the generation when the allocation is freed, so
//! that export data of freed memory is refused in every process.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::pointer_data::PointerData;
use super::space::CHUNK;
use super::windows::Addresses;
use crate::memory::{SharedKind, SharedObject};

/// The words of a slot; the last is unused.
const SLOT: u64 = 4;
/// The most allocations of a pool that are exported at a time.
const SLOTS: u64 = 1 << 16;

/// The number of words in the shared object of a pool.
pub(crate) const WORDS: u64 = SLOT * SLOTS;

/// The relation of a pool's memory to other processes.
pub(crate) enum Sharing {
    /// No other process can have it.
    Private,
    /// It lies in a shared object that can be exported.
    Exportable(Exportable),
    /// Another process created the pool.
    Imported(Imported),
}

/// The shared object of a pool that this process created.
pub(crate) struct Exportable {
    object: SharedObject,
    /// Its file descriptor has been given to the program.
    pub(crate) is_exported: bool,
    /// Offset in the pool → slot.
    slots: BTreeMap<u64, u64>,
    /// Slots that were used and are no longer.
    unused: Vec<u64>,
    /// The number of exported allocations so far.
    generation: u64,
}

impl Exportable {
    pub(crate) fn new(object: SharedObject) -> Self {
        debug_assert_eq!(object.header().kind, SharedKind::Pool);
        Self { object, is_exported: false, slots: BTreeMap::new(), unused: Vec::new(), generation: 0 }
    }

    pub(crate) fn object(&self) -> &SharedObject {
        &self.object
    }

    fn write(&self, slot: u64, part: u64, value: u64) {
        if let Some(word) = self.object.word(slot * SLOT + part) {
            word.store(value, Ordering::Release);
        }
    }

    fn data(&self, slot: u64, generation: u64, offset: u64, size: u64) -> PointerData {
        PointerData { pool: self.object.header().id, slot, generation, offset, size }
    }

    /// Names a live allocation for other processes, the same way every time; `None` if all slots are used.
    pub(crate) fn export(&mut self, offset: u64, size: u64) -> Option<PointerData> {
        if let Some(slot) = self.slots.get(&offset) {
            let generation = self.object.word(slot * SLOT)?.load(Ordering::Acquire);
            return Some(self.data(*slot, generation, offset, size));
        }
        let slot = match self.unused.pop() {
            Some(slot) => slot,
            None => Some(self.slots.len() as u64).filter(|slot| *slot < SLOTS)?,
        };
        self.generation += 1;
        self.write(slot, 1, offset);
        self.write(slot, 2, size);
        self.write(slot, 0, self.generation);
        self.slots.insert(offset, slot);
        Some(self.data(slot, self.generation, offset, size))
    }

    /// Notes that the allocation at an offset is freed.
    pub(crate) fn end(&mut self, offset: u64) {
        if let Some(slot) = self.slots.remove(&offset) {
            self.write(slot, 0, 0);
            self.unused.push(slot);
        }
    }

    /// Gives the pages of a chunk back to the system.
    pub(crate) fn discard(&self, chunk: u64) {
        self.object.discard(chunk, CHUNK);
    }
}

/// The shared object of a pool that another process created.
pub(crate) struct Imported {
    object: SharedObject,
    /// Offset of a mapped chunk → number of imported allocations in it.
    chunks: BTreeMap<u64, u64>,
    /// The number of imported allocations that are not freed.
    pub(crate) allocations: u64,
    /// The number of imports that are not destroyed; all have one handle.
    pub(crate) imports: u64,
}

/// The reason why export data cannot be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PointerError {
    /// No export made these bytes.
    #[error("the export data is not what cuMemPoolExportPointer wrote")]
    Altered,
    /// The data names memory of another pool.
    #[error("the export data names memory of another pool")]
    OtherPool,
    /// The exporter has freed the memory.
    #[error("the exporting process has freed the memory that the export data names")]
    Freed,
}

impl Imported {
    pub(crate) fn new(object: SharedObject) -> Self {
        Self { object, chunks: BTreeMap::new(), allocations: 0, imports: 1 }
    }

    pub(crate) fn object(&self) -> &SharedObject {
        &self.object
    }

    /// `true` if memory of it is mapped.
    pub(crate) fn is_mapped(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// `true` if a chunk of it is mapped.
    pub(crate) fn has_chunk(&self, chunk: u64) -> bool {
        self.chunks.contains_key(&chunk)
    }

    /// Maps the chunks of an allocation that are not mapped yet; all of them or none.
    pub(super) fn map(&mut self, addresses: &Addresses, range: Range<u64>) -> io::Result<()> {
        let first = range.start / CHUNK * CHUNK;
        for chunk in (first..range.end).step_by(CHUNK as usize) {
            match self.chunks.entry(chunk) {
                Entry::Occupied(mut count) => *count.get_mut() += 1,
                Entry::Vacant(count) => match addresses.share(&self.object, chunk, CHUNK) {
                    Ok(()) => {
                        count.insert(1);
                    }
                    Err(error) => {
                        self.unmap(addresses, first..chunk);
                        return Err(error);
                    }
                },
            }
        }
        Ok(())
    }

    /// Unmaps the chunks of an allocation that no other is in.
    pub(super) fn unmap(&mut self, addresses: &Addresses, range: Range<u64>) {
        for chunk in (range.start / CHUNK * CHUNK..range.end).step_by(CHUNK as usize) {
            let Some(count) = self.chunks.get_mut(&chunk) else { continue };
            *count = count.saturating_sub(1);
            // The system may be out of mappings; then the chunk stays mapped, and the addresses the pool's.
            if *count == 0 && addresses.unshare(chunk, CHUNK).is_ok() {
                self.chunks.remove(&chunk);
            }
        }
    }

    /// Checks export data against the pool; the allocation that it returns lies inside the pool's memory.
    pub(crate) fn find(&self, data: Option<PointerData>) -> Result<PointerData, PointerError> {
        let data = data.ok_or(PointerError::Altered)?;
        let header = self.object.header();
        if data.pool != header.id {
            return Err(PointerError::OtherPool);
        }
        let slot = data.slot.checked_mul(SLOT).ok_or(PointerError::Altered)?;
        let word = |part: u64| self.object.word(slot + part).map(|word| word.load(Ordering::Acquire));
        if data.generation == 0 || word(0).ok_or(PointerError::Altered)? != data.generation {
            return Err(PointerError::Freed);
        }
        let is_inside = data.size > 0 && data.offset.checked_add(data.size).is_some_and(|end| end <= header.size);
        if !is_inside || word(1) != Some(data.offset) || word(2) != Some(data.size) {
            return Err(PointerError::Altered);
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::NewObject;

    const NEW: NewObject =
        NewObject { kind: SharedKind::Pool, size: 4 * CHUNK, words: WORDS, machine: 1, device: None, details: [0; 8] };

    fn both() -> std::io::Result<(Exportable, Imported)> {
        let exporter = Exportable::new(SharedObject::create(&NEW)?);
        let file = exporter.object().export()?;
        let object = SharedObject::open(file.as_raw_fd().cast_unsigned(), SharedKind::Pool, 1);
        Ok((exporter, Imported::new(object.expect("an object of this machine"))))
    }

    #[test]
    fn an_exported_allocation_is_found_until_it_is_freed() -> std::io::Result<()> {
        let (mut exporter, importer) = both()?;
        let [first, second] = [(0, 100), (512, CHUNK)].map(|(at, size)| exporter.export(at, size));
        assert_eq!(exporter.export(0, 100), first);
        for data in [first, second] {
            assert_eq!(importer.find(data).ok(), data);
        }
        exporter.end(0);
        exporter.end(4096);
        assert_eq!(importer.find(first), Err(PointerError::Freed));
        let again = exporter.export(0, 100);
        assert_eq!(importer.find(first), Err(PointerError::Freed));
        assert_eq!(importer.find(again).ok(), again);
        assert_eq!(importer.find(None), Err(PointerError::Altered));
        let other = both()?.0.export(0, 100);
        assert_eq!(importer.find(other), Err(PointerError::OtherPool));
        Ok(())
    }

    #[test]
    fn slots_run_out_and_are_used_again() -> std::io::Result<()> {
        let (mut exporter, importer) = both()?;
        assert!((0..SLOTS).all(|at| exporter.export(at * 512, 512).is_some()));
        assert_eq!(exporter.export(SLOTS * 512, 512), None);
        exporter.end(1024);
        let data = exporter.export(SLOTS * 512, 512);
        assert_eq!(importer.find(data).ok(), data);
        Ok(())
    }

    proptest! {
        #[test]
        fn data_never_leads_outside_of_the_pool(
            slot in prop_oneof![0..4_u64, any::<u64>()],
            generation in prop_oneof![0..4_u64, any::<u64>()],
            offset in prop_oneof![0..8 * CHUNK, any::<u64>()],
            size in prop_oneof![0..8 * CHUNK, any::<u64>()],
            words in any::<[u64; 3]>(),
        ) {
            let (mut exporter, importer) = both().expect("files in memory");
            let pool = exporter.export(0, 512).expect("a slot").pool;
            // The other process may write anything into the words, too.
            for (part, value) in (0..).zip(words) {
                exporter.write(1, part, value);
            }
            for data in [
                PointerData { pool, slot, generation, offset, size },
                PointerData { pool, slot: 1, generation: words[0], offset: words[1], size: words[2] },
            ] {
                if let Ok(found) = importer.find(Some(data)) {
                    prop_assert!(found.size > 0 && found.offset + found.size <= NEW.size);
                }
            }
        }
    }
}
