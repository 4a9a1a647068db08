//! What the driver says of pointers, for every attribute and every kind of memory.

mod mapped;
mod plain;
mod pool;
mod support;
