//! Memory resources: their common contract, and each in particular.

mod adaptors;
mod cached;
mod contract;
mod current_pools;
mod default;
mod found_pools;
mod free_after;
#[path = "../gate/mod.rs"]
mod gate;
mod panics;
mod pinned_pool;
mod pools;
mod sweeps;
mod virtual_memory;
