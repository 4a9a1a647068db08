//! Linking several pieces of code into one.

mod backend;
mod driver;
mod error;
mod handle;
mod key;
mod library;
mod linker;
mod option;
pub mod raw;

pub use backend::Backend;
pub use error::{LinkCode, LinkError};
pub use library::{NVJITLINK_VARIABLE, NvJitLink};
pub use linker::{Linked, Linker};
