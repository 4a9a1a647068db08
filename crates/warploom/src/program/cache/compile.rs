//! Compiling through a cache.

use super::{CacheKey, CacheTrustError, ProgramCache, entry};
use crate::Result;
use crate::program::{Cached, Compiled, Linked, Nvrtc, ObjectCode, Program, Target};

impl Program {
    /// The cached code, or else compiles the program and caches the result.
    ///
    /// A cache that fails, has a damaged entry, or is not [trusted](super::DiskCache) costs time and nothing
    /// else: the program is compiled, and [`Compiled::cached`] has the reason. A program that does not
    /// compile is not cached.
    ///
    /// Files that the source includes by their full path are not noticed: give a
    /// [`files_digest`](Program::files_digest) then.
    ///
    /// # Errors
    ///
    /// As [`cache_key`](Program::cache_key) and [`compile`](Program::compile).
    pub fn compile_cached(&self, nvrtc: &Nvrtc, target: Target, cache: &dyn ProgramCache) -> Result<Compiled> {
        let options = self.options_for(nvrtc, target)?;
        let key = self.key(nvrtc, target, &options)?;
        through(cache, &key, || Ok(self.compile_with(nvrtc, target, &options)?))
    }
}

/// A cache entry: code and its log.
pub(in crate::program) trait Kept {
    fn of(code: ObjectCode, log: String, cached: Cached) -> Self;
    fn code(&self) -> &ObjectCode;
    fn log(&self) -> &str;
    fn is_now(&mut self, cached: Cached);
}

macro_rules! kept {
    ($($kept:ident { $($other:ident: $value:expr)? })*) => {$(
        impl Kept for $kept {
            fn of(code: ObjectCode, log: String, cached: Cached) -> $kept {
                $kept { code, log, cached, $($other: $value)? }
            }

            fn code(&self) -> &ObjectCode {
                &self.code
            }

            fn log(&self) -> &str {
                &self.log
            }

            fn is_now(&mut self, cached: Cached) {
                self.cached = cached;
            }
        }
    )*};
}
kept! {
    Compiled { precompiled_header: None }
    Linked {}
}

/// The cached entry of this key, or else a new one, which is cached.
pub(in crate::program) fn through<T: Kept>(
    cache: &dyn ProgramCache,
    key: &CacheKey,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let mut trouble = None;
    match cache.get(key) {
        Ok(entry) => {
            if let Some((code, log)) = entry.and_then(|entry| entry::decode(key, &entry)) {
                return Ok(T::of(code, log, Cached::Hit));
            }
        }
        Err(error) => trouble = Some(error),
    }
    let mut made = make()?;
    // Damaged bytes are replaced by these.
    let stored = cache.put(key, &entry::encode(key, made.code(), made.log()));
    made.is_now(match trouble.map_or(stored, Err) {
        Ok(()) => Cached::Stored,
        Err(error) => failure(error),
    });
    Ok(made)
}

/// The cache's error: the reason that a disk cache was not trusted, or any other.
fn failure(error: std::io::Error) -> Cached {
    match error.downcast::<CacheTrustError>() {
        Ok(reason) => Cached::Untrusted { reason },
        Err(error) => Cached::Failed { why: error.to_string() },
    }
}
