//! LTO-IR, compiled to PTX by nvJitLink where that can be loaded.
//!
//! LTO-IR is a compiler's intermediate code. NVIDIA's linker alone reads it, and needs no GPU for that.

use super::{Refusal, Target};
use crate::ffi::jit_link::{self, Input as Kind};

/// The first bytes of LTO-IR that is in no container.
pub(super) const MAGIC: [u8; 4] = 0x7f4e_43ed_u32.to_le_bytes();

/// An image with LTO-IR.
#[derive(Debug)]
pub(super) enum Input {
    Raw(Box<[u8]>),
    /// A fatbin that has LTO-IR among its entries.
    Fatbin(Box<[u8]>),
}

impl Input {
    /// Its PTX for a device.
    pub(super) fn compiled(&self, target: Target) -> Result<String, Refusal> {
        let (kind, bytes) = match self {
            Input::Raw(bytes) => (Kind::LTO_IR, bytes),
            Input::Fatbin(bytes) => (Kind::FATBIN, bytes),
        };
        let architecture = format!("-arch=sm_{}", target.architecture);
        jit_link::ptx(kind, bytes, &[&architecture, "-lto", "-ptx"]).map_err(Refusal::image)
    }
}

/// LTO-IR at a pointer: it does not say how long it is.
pub(super) fn without_length() -> Refusal {
    Refusal::image(
        "it is LTO-IR, which does not say how long it is; link it with nvJitLink, or put it into a fatbin or a file",
    )
}
