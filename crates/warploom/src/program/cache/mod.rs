//! Caches of compiled programs.

mod compile;
mod disk;
mod entry;
mod key;
mod memory;
mod sha256;

use std::io;

pub(super) use compile::through;
pub use disk::DiskCache;
pub use key::{CacheKey, KeyBuilder};
pub use memory::MemoryCache;

/// Keeps bytes by key, and may forget any of them at any time: [`MemoryCache`], [`DiskCache`], or one of your
/// own.
///
/// Entries are checked before use, so that a cache need not detect damage. There is no `contains`: its answer
/// could be outdated before it arrives.
///
/// ```
/// use warploom::program::{CacheKey, MemoryCache, ProgramCache};
///
/// # fn main() -> std::io::Result<()> {
/// let cache = MemoryCache::new(1 << 20);
/// let key = CacheKey::builder("example").part("what", b"a text").finish();
/// cache.put(&key, b"bytes")?;
/// assert_eq!(cache.get(&key)?.as_deref(), Some(&b"bytes"[..]));
/// cache.remove(&key)?;
/// assert_eq!((cache.get(&key)?, cache.len()?), (None, 0));
/// # Ok(())
/// # }
/// ```
pub trait ProgramCache: Send + Sync {
    /// The bytes of a key, if they are still there.
    ///
    /// # Errors
    ///
    /// If it cannot be found out.
    fn get(&self, key: &CacheKey) -> io::Result<Option<Vec<u8>>>;

    /// Keeps bytes for a key, instead of those before. Bytes that are more than the cache holds are not kept.
    ///
    /// # Errors
    ///
    /// If they could not be stored; an earlier entry may still be there.
    fn put(&self, key: &CacheKey, bytes: &[u8]) -> io::Result<()>;

    /// As [`put`](ProgramCache::put), for many keys, one after the other.
    ///
    /// # Errors
    ///
    /// The first that could not be kept; those before it are, those after it were not tried.
    fn put_all(&self, entries: &[(CacheKey, &[u8])]) -> io::Result<()> {
        entries.iter().try_for_each(|(key, bytes)| self.put(key, bytes))
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
