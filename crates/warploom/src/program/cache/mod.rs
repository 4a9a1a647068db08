//! Caches of compiled programs.

mod compile;
mod disk;
mod entry;
mod key;
mod memory;
mod sha256;
mod trust;

use std::io;

pub(super) use compile::through;
pub use disk::DiskCache;
pub use entry::CacheEntry;
pub use key::{CacheKey, KeyBuilder};
pub use memory::MemoryCache;
pub use trust::CacheTrustError;

/// Keeps entries by key, and may forget any of them at any time: [`MemoryCache`], [`DiskCache`], or one of
/// your own.
///
/// Entries are checked before use, so that a cache need not detect damage. There is no `contains`: its answer
/// could be outdated before it arrives.
///
/// ```
/// use warploom::program::{Cached, Linker, MemoryCache, ObjectCode, ProgramCache};
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Driver::open(&warploom_sim::Machine::preset("h200")?)?.device(0)?.context()?;
/// let ptx = ".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }";
/// let code = ObjectCode::from_ptx("k", ptx)?;
/// let linker = Linker::new("k", context.device().compute_capability()?).input(code);
/// let cache = MemoryCache::new(1 << 20);
/// assert_eq!(linker.link_cached_by_driver(&context, &cache)?.cached, Cached::Stored);
/// assert_eq!(linker.link_cached_by_driver(&context, &cache)?.cached, Cached::Hit);
/// cache.remove(&linker.driver_cache_key(&context)?)?;
/// assert!(cache.is_empty()?);
/// # Ok(())
/// # }
/// ```
pub trait ProgramCache: Send + Sync {
    /// The entry of a key, if it is still there.
    ///
    /// # Errors
    ///
    /// If it cannot be found out.
    fn get(&self, key: &CacheKey) -> io::Result<Option<CacheEntry>>;

    /// Keeps an entry for a key, instead of the one before. An entry that is larger than the cache is not
    /// kept.
    ///
    /// # Errors
    ///
    /// If it could not be stored; an earlier entry may still be there.
    fn put(&self, key: &CacheKey, entry: &CacheEntry) -> io::Result<()>;

    /// As [`put`](ProgramCache::put), for many keys, one after the other.
    ///
    /// # Errors
    ///
    /// The first that could not be kept; those before it are, those after it were not tried.
    fn put_all(&self, entries: &[(CacheKey, &CacheEntry)]) -> io::Result<()> {
        entries.iter().try_for_each(|(key, entry)| self.put(key, entry))
    }

    /// Forgets a key, if it is there.
    ///
    /// # Errors
    ///
    /// If it may be there still.
    fn remove(&self, key: &CacheKey) -> io::Result<()>;

    /// Forgets everything.
    ///
    /// # Errors
    ///
    /// If some of it may be there still.
    fn clear(&self) -> io::Result<()>;

    /// The number of keys, just now.
    ///
    /// # Errors
    ///
    /// If it cannot be found out.
    fn len(&self) -> io::Result<usize>;

    /// `true` if there are none, just now.
    ///
    /// # Errors
    ///
    /// As [`len`](ProgramCache::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}
