//! Parses, checks and runs PTX; knows nothing of CUDA's API.
//!
//! PTX comes from NVRTC, from nvcc and from people, as text:
//!
//! ```text
//!   text ──▶ header ──▶ syntax (tree with spans) ──▶ valid (what a module must satisfy) ──▶ exec (warps, memory, traps)
//! ```
//!
//! So far there is the first of these: [`Header::read`] says what a text was written for, which decides whether a device
//! can take it at all. The rest will follow its habits: a mistake is an [`Error`] with the line and column it stands at,
//! and no text, however broken, is a panic.
//!
//! ```
//! use warploom_ptx::{AddressSize, Header, Version};
//!
//! let header = Header::read(".version 8.7\n.target sm_90a\n.address_size 64\n")?;
//! assert!(header.version >= Version { major: 7, minor: 8 });
//! assert_eq!(header.target.to_string(), "sm_90a");
//! assert_eq!(header.address_size, AddressSize::Bits64);
//! # Ok::<(), warploom_ptx::Error>(())
//! ```
#![forbid(unsafe_code)]

mod cursor;
mod error;
mod header;

pub use error::{Error, Place, Problem};
pub use header::{AddressSize, Features, Header, Target, TextureMode, Version};
