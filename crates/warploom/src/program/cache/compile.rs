//! Compiling by way of a cache.

use super::{CacheKey, ProgramCache, entry};
use crate::Result;
use crate::program::{Cached, Compiled, Nvrtc, Program, Target};

impl Program {
    /// What the cache has of it, or else compiles it and gives that to the cache.
    ///
    /// A cache that fails, or has something that is damaged, costs time and nothing else: the program is compiled, and
    /// [`Compiled::cached`] says what went wrong. What does not compile is not kept.
    ///
    /// What the source includes by a file's full path is not noticed: give a [`files_digest`](Program::files_digest) then.
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

/// What the cache has by this key, or else what is compiled, which goes to the cache.
pub(in crate::program) fn through(
    cache: &dyn ProgramCache,
    key: &CacheKey,
    compile: impl FnOnce() -> Result<Compiled>,
) -> Result<Compiled> {
    let mut trouble = None;
    match cache.get(key) {
        Ok(bytes) => {
            if let Some(compiled) = bytes.and_then(|bytes| entry::decode(key, &bytes)) {
                return Ok(compiled);
            }
        }
        Err(error) => trouble = Some(error),
    }
    let mut compiled = compile()?;
    // Damaged bytes are replaced by these.
    let stored = cache.put(key, &entry::encode(key, &compiled));
    compiled.cached = match trouble.map_or(stored, Err) {
        Ok(()) => Cached::Stored,
        Err(error) => Cached::Failed { why: error.to_string() },
    };
    Ok(compiled)
}
