//! Memory resources: what each is particular about, and what all of them keep.

mod adaptors;
mod contract;
mod pools;
mod sweeps;
