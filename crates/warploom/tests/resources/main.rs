//! Memory resources: what each is particular about, and what all of them keep.

mod adaptors;
mod contract;
mod found_pools;
mod free_after;
mod pinned_pool;
mod pools;
mod sweeps;
mod virtual_memory;
