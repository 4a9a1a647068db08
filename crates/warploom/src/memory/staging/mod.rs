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
//! One thread does not copy as fast as a device, so that a few share the host's part of a very large copy.
//!
//! | module | holds |
//! |---|---|
//! | `pool` | the blocks of chunks that a context keeps |
//! | `pieces` | the pieces of a copy |
//! | `lease` | the chunks of one copy |
//! | `copiers` | the threads that share the host's part |
//! | `transfer` | uploads and downloads |
//!
//! The device reads and writes chunks only, never the caller's memory. If a copy fails and the device may
//! still be at work, its chunks are put aside until the context ends.

mod copiers;
mod lease;
mod pieces;
mod pool;
mod transfer;

pub(super) use pieces::Pieces;
pub(crate) use pool::StagingPool;
pub(super) use transfer::{download, upload};

/// The bytes of a chunk.
const CHUNK: usize = 2 << 20;

/// The chunks of one copy.
const IN_TURNS: usize = 4;

/// The bytes of a block: the chunks of one copy. In one piece, because a device is slower with many small
/// allocations.
const BLOCK: usize = IN_TURNS * CHUNK;

/// The most blocks that a context keeps page-locked: 16 MiB.
const KEPT: usize = 2;

/// The fewest bytes of a piece, unless the copy has fewer.
const SMALLEST_PIECE: usize = 128 << 10;

/// The bytes of a piece: a quarter of a small copy, so that it overlaps, too.
fn piece_size(bytes: usize) -> usize {
    bytes.div_ceil(IN_TURNS).clamp(SMALLEST_PIECE, CHUNK)
}
