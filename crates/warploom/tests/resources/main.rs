//! Memory resources: what each is particular about, and what all of them keep.

mod adaptors;
mod pools;
mod sweeps;
