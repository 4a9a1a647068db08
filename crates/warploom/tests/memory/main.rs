//! Memory: buffers and their slices, copies, fills, pools, and frees. One program, since each links everything.

mod batch;
mod buffer;
mod copy_options;
mod duplicate;
mod free_order;
#[path = "../gate/mod.rs"]
mod gate;
mod location;
mod pinned;
mod pool;
mod registered;
mod rows;
mod short_streams;
mod slices;
#[path = "../spy/mod.rs"]
mod spy;
mod staging;
mod upload;
mod used_memory;
mod values;
mod volumes;
mod weak_allocations;
mod words;
mod wrapped;
