//! Bytes of a caller are neither code that is linked nor an entry of a cache, by their types.

use warploom::program::{
    Architecture, CacheKey, CodeKind, Linker, MemoryCache, ObjectCode, ProgramCache, UntrustedCode,
};

fn linked(bytes: Vec<u8>) -> Linker {
    Linker::new("k", Architecture::sm(90)).input(UntrustedCode::new(CodeKind::Cubin, "k", bytes))
}

fn cached(cache: &MemoryCache, key: &CacheKey, bytes: &[u8]) {
    cache.put(key, bytes);
}

fn changed(code: &mut ObjectCode) {
    code.bytes()[7] = 1;
}

fn main() {}
