//! Pointer attributes, every one for every kind of memory.

mod mapped;
mod plain;
mod pool;
mod support;
