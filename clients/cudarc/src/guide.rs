//! The cudarc programs of `docs/from-cudarc.md`, as the build script finds them.

use crate::{Check, Outcome};

/// The kernel that one of them launches.
const PTX: &str = include_str!("../../../crates/warploom/examples/scale.ptx");

include!(concat!(env!("OUT_DIR"), "/guide.rs"));
