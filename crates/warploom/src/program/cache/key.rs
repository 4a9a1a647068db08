//! Cache keys: a digest of source, options and compiler.

use std::ffi::CString;
use std::fmt;

use super::sha256::Sha256;
use crate::Result;
use crate::program::{Nvrtc, NvrtcError, Program, Target};

/// The version of the cache format, so that entries of other versions are not read.
const SCHEMA: &[u8] = b"1";

/// A cache key: a digest of everything that the bytes depend on. It prints in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// A key for things of one kind, to which its parts are added.
    ///
    /// ```
    /// use warploom::program::CacheKey;
    ///
    /// let key = |a: &[u8], b: &[u8]| CacheKey::builder("pairs").part("a", a).part("b", b).finish();
    /// assert_eq!(key(b"x", b"y"), key(b"x", b"y"));
    /// assert_ne!(key(b"xy", b""), key(b"x", b"y"));
    /// ```
    pub fn builder(kind: &str) -> KeyBuilder {
        KeyBuilder { hash: Sha256::new() }.part("schema", SCHEMA).part("kind", kind)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CacheKey({self})")
    }
}

/// A key of which not all parts are known yet. Order matters; where a part ends is part of it.
#[derive(Clone, Debug)]
#[must_use]
pub struct KeyBuilder {
    hash: Sha256,
}

impl KeyBuilder {
    /// One more thing that the bytes depend on.
    pub fn part(mut self, what: &str, bytes: impl AsRef<[u8]>) -> KeyBuilder {
        for bytes in [what.as_bytes(), bytes.as_ref()] {
            self.hash.update(&(bytes.len() as u64).to_le_bytes());
            self.hash.update(bytes);
        }
        self
    }

    /// The key.
    #[must_use]
    pub fn finish(self) -> CacheKey {
        CacheKey(self.hash.finish())
    }
}

impl Program {
    /// The cache key: everything it is compiled from, the target, and the version of NVRTC.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::NotCacheable`] if an option writes files, or reads them and there is no
    /// [`files_digest`](Program::files_digest); and the errors of [`compile`](Program::compile) before it
    /// asks NVRTC.
    pub fn cache_key(&self, nvrtc: &Nvrtc, target: Target) -> Result<CacheKey> {
        Ok(self.key(nvrtc, target, &self.options_for(nvrtc, target)?)?)
    }

    pub(super) fn key(&self, nvrtc: &Nvrtc, target: Target, options: &[CString]) -> Result<CacheKey, NvrtcError> {
        self.options
            .refuse_files(|header| self.headers.contains_key(header), self.files.is_some())
            .map_err(|reason| NvrtcError::NotCacheable { program: self.name.clone(), reason })?;
        let mut key = CacheKey::builder("nvrtc").part("version", nvrtc.version().to_string());
        key = key.part("target", target.to_string()).part("name", &self.name).part("source", &self.source);
        for option in options {
            key = key.part("option", option.as_bytes());
        }
        for (name, text) in &self.headers {
            key = key.part("header", name).part("text", text);
        }
        for expression in &self.names {
            key = key.part("expression", expression);
        }
        if let Some(digest) = &self.files {
            key = key.part("files", digest);
        }
        Ok(key.finish())
    }
}
