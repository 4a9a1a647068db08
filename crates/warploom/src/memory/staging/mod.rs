//! Staging: copies between pageable host memory and a device, through page-locked chunks.
//!
//! A device copies page-locked memory by itself; pageable memory is copied by the host first. Large copies
//! are cut into pieces, and a few chunks take turns, so that the host copies one piece while the device
//! copies another:
//!
//! ```text
//!   host     ▶ chunk 0 ▶ chunk 1 ▶ chunk 2 ▶ chunk 3 ▶ chunk 0 …
//!   device             ▶ chunk 0 ▶ chunk 1 ▶ chunk 2 ▶ chunk 3 …
//! ```
//!
//! The host copies more slowly than the device, so that its part decides. A download starts with a small
//! piece, and an upload ends with one, since nothing overlaps with that. Downloads and all but small uploads
//! bypass the host's caches, which would read the memory that is overwritten. An upload to device memory ends
//! when the host has copied its last piece; its chunks are free again when the device has read them, which an
//! event of the block tells. A few threads share the host's part of a very large copy.
//!
//! | module | holds |
//! |---|---|
//! | `pool` | the blocks of chunks that a context keeps |
//! | `pieces` | the pieces of a copy |
//! | `lease` | the chunks of one copy |
//! | `copiers` | the threads that share the host's part |
//! | `uncached` | copies of the host that bypass its caches |
//! | `transfer` | uploads and downloads |
//!
//! The device reads and writes chunks only, never the caller's memory. If a copy fails and the device may
//! still be at work, its chunks are put aside until the context ends.

mod copiers;
mod lease;
mod pieces;
mod pool;
mod transfer;
mod uncached;

pub(super) use pieces::Pieces;
pub(crate) use pool::StagingPool;
pub(super) use transfer::{End, download, upload};

/// The bytes of a chunk.
const CHUNK: usize = 2 << 20;

/// The chunks of one copy.
const IN_TURNS: usize = 4;

/// The bytes of a block: the chunks of one copy. In one piece, because a device is slower with many small
/// allocations.
const BLOCK: usize = IN_TURNS * CHUNK;

/// The most blocks that a context keeps page-locked: 16 MiB.
const KEPT: usize = 2;

/// The fewest bytes of a piece, unless the copy has fewer: a driver call takes as long as the host copies
/// half of it.
const SMALLEST_PIECE: usize = 64 << 10;
