//! Checks of memory by address: frees, bounds and leaks.

mod blocks;
mod free;
mod leaks;
mod outside;

pub(crate) use leaks::{memory_leak, object_leak, reservation_leak};
