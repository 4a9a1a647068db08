//! Several pieces of code become one.

mod error;
mod handle;
mod library;
mod linker;
pub mod raw;

pub use error::{LinkCode, LinkError};
pub use library::{NVJITLINK_VARIABLE, NvJitLink};
pub use linker::{Linked, Linker};
