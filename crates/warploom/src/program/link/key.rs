//! Cache keys of links.

use super::{Linked, Linker, NvJitLink};
use crate::program::cache::{self, CacheKey, KeyBuilder, ProgramCache};
use crate::program::{CodeKind, Target};
use crate::{Context, Result};

impl Linker {
    /// The cache key: all pieces in order, the options, the architecture, the target, and the version of
    /// nvJitLink.
    ///
    /// # Errors
    ///
    /// The errors of [`link`](Linker::link) before it calls nvJitLink.
    pub fn cache_key(&self, library: &NvJitLink, target: Target) -> Result<CacheKey> {
        let (major, minor) = library.version();
        let mut key = CacheKey::builder("nvJitLink").part("version", format!("{major}.{minor}"));
        for word in self.words(target)? {
            key = key.part("option", word.as_bytes());
        }
        Ok(self.rest(key, target.kind()))
    }

    /// As [`cache_key`](Linker::cache_key), for the linker of a driver, which has the driver's version.
    ///
    /// # Errors
    ///
    /// The errors of [`link_by_driver`](Linker::link_by_driver) before it calls the driver.
    pub fn driver_cache_key(&self, context: &Context) -> Result<CacheKey> {
        self.check_for_driver()?;
        let version = context.driver().version().to_string();
        let mut key = CacheKey::builder("driver's linker").part("version", version);
        key = key.part("architecture", self.architecture.to_string());
        for option in &self.options {
            key = key.part("option", option.word());
        }
        Ok(self.rest(key, CodeKind::Cubin))
    }

    fn rest(&self, mut key: KeyBuilder, kind: CodeKind) -> CacheKey {
        key = key.part("target", kind.to_string()).part("name", &self.name);
        for input in &self.inputs {
            key = key.part("input", input.kind().to_string()).part("name", input.name()).part("code", input.bytes());
            for (expression, name) in input.lowered_names() {
                key = key.part("expression", expression).part("lowered", name);
            }
        }
        key.finish()
    }

    /// The cached code, or else links it by nvJitLink and caches the result; see
    /// [`Program::compile_cached`](crate::program::Program::compile_cached).
    ///
    /// # Errors
    ///
    /// As [`cache_key`](Linker::cache_key) and [`link`](Linker::link).
    pub fn link_cached(&self, library: &NvJitLink, target: Target, cache: &dyn ProgramCache) -> Result<Linked> {
        cache::through(cache, &self.cache_key(library, target)?, || self.link(library, target))
    }

    /// As [`link_cached`](Linker::link_cached), by the linker that every driver has.
    ///
    /// # Errors
    ///
    /// As [`driver_cache_key`](Linker::driver_cache_key) and [`link_by_driver`](Linker::link_by_driver).
    pub fn link_cached_by_driver(&self, context: &Context, cache: &dyn ProgramCache) -> Result<Linked> {
        cache::through(cache, &self.driver_cache_key(context)?, || self.link_by_driver(context))
    }
}
