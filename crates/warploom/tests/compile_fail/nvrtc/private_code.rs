//! Compiled code and entries of a cache are made by compilers, and not of their parts.

use warploom::program::{CacheEntry, CodeKind, ObjectCode};

fn code(bytes: Vec<u8>) -> ObjectCode {
    ObjectCode { kind: CodeKind::Cubin, name: "k".into(), bytes: bytes.into(), lowered: Default::default() }
}

fn changed(code: ObjectCode, bytes: Vec<u8>) -> ObjectCode {
    ObjectCode { bytes: bytes.into(), ..code }
}

fn entry(bytes: Vec<u8>) -> CacheEntry {
    CacheEntry { bytes: bytes.into() }
}

fn main() {}
