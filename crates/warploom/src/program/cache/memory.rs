//! A cache in memory.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CacheEntry, CacheKey, ProgramCache};

/// Keeps entries in memory, up to a total size; the least recently used entry goes first.
pub struct MemoryCache {
    limit: usize,
    held: Mutex<AllocationRef>,
}

#[derive(Default)]
struct AllocationRef {
    entries: HashMap<CacheKey, Entry>,
    /// Keys by when they were used last.
    order: BTreeMap<u64, CacheKey>,
    bytes: usize,
    uses: u64,
}

struct Entry {
    kept: CacheEntry,
    used: u64,
}

impl MemoryCache {
    /// An empty cache for at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> MemoryCache {
        MemoryCache { limit, held: Mutex::default() }
    }

    /// The number of bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// Nothing panics while it is held, so that it is never left half changed.
    fn held(&self) -> MutexGuard<'_, AllocationRef> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AllocationRef {
    fn take(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.kept.as_bytes().len();
        }
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }
}

impl ProgramCache for MemoryCache {
    fn get(&self, key: &CacheKey) -> io::Result<Option<CacheEntry>> {
        let held = &mut *self.held();
        let now = held.next_use();
        let Some(entry) = held.entries.get_mut(key) else { return Ok(None) };
        held.order.remove(&entry.used);
        held.order.insert(now, *key);
        entry.used = now;
        Ok(Some(entry.kept.clone()))
    }

    fn put(&self, key: &CacheKey, entry: &CacheEntry) -> io::Result<()> {
        let held = &mut *self.held();
        held.take(key);
        let bytes = entry.as_bytes().len();
        if bytes > self.limit {
            return Ok(());
        }
        while held.bytes > self.limit - bytes {
            let Some((_, oldest)) = held.order.first_key_value() else { break };
            let oldest = *oldest;
            held.take(&oldest);
        }
        let used = held.next_use();
        held.entries.insert(*key, Entry { kept: entry.clone(), used });
        held.order.insert(used, *key);
        held.bytes += bytes;
        Ok(())
    }

    fn remove(&self, key: &CacheKey) -> io::Result<()> {
        self.held().take(key);
        Ok(())
    }

    fn clear(&self) -> io::Result<()> {
        *self.held() = AllocationRef::default();
        Ok(())
    }

    fn len(&self) -> io::Result<usize> {
        Ok(self.held().entries.len())
    }
}

impl fmt::Debug for MemoryCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held();
        let (bytes, entries) = (held.bytes, held.entries.len());
        drop(held); // the program's writer may use the cache
        let mut text = formatter.debug_struct("MemoryCache");
        text.field("limit", &self.limit).field("bytes", &bytes).field("entries", &entries).finish()
    }
}
