//! Copies: between device memory, and from and to the host.
//!
//! | module | holds |
//! |---|---|
//! | `device` | copies between device memory, on one device or between two |
//! | `host` | uploads from slices of the host, and downloads to them |
//! | `pinned`, `pinned_return` | copies from and to page-locked memory that the host does not wait for |
//! | `rows`, `host_rows` | the same for rows of a pitched layout |
//! | `volume`, `host_volume` | the same for planes of such rows |
//! | `planes` | ends and descriptors of copies of rows and planes |
//! | `options`, `with_options` | copies with a source order and location hints |
//! | `batch` | many copies in one driver call |
//! | `transfer` | copies of a [`Mesh`](crate::Mesh), ordered after earlier work on both ends |
//! | `linear` | the driver calls for a contiguous range of bytes |

mod batch;
mod device;
mod error;
mod host;
mod host_rows;
mod host_volume;
mod linear;
mod options;
mod pinned;
mod pinned_return;
mod planes;
mod rows;
mod transfer;
mod volume;
mod with_options;

pub use batch::{copy_batch, copy_batch_with};
pub(super) use device::enqueue;
pub use error::CopyError;
pub use options::{CopyOptions, SourceOrder};
pub use pinned::Pending;
pub use pinned_return::PinnedReturn;
pub(crate) use transfer::Transfer;
