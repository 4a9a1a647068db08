//! The choice of a linker: nvJitLink or the driver.

use std::fmt;

use warploom_driver::user_code;

use super::{Linked, Linker, NvJitLink};
use crate::program::Target;
use crate::{Context, Result};

/// A linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA's library, which links LTO-IR, too, and has more options.
    NvJitLink,
    /// The one that every driver has.
    Driver,
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Backend::NvJitLink => "nvJitLink",
            Backend::Driver => "the driver's linker",
        })
    }
}

impl Linker {
    /// The linker that [`link_by_any`](Linker::link_by_any) would take: nvJitLink where it is found, else the
    /// driver's.
    #[must_use]
    pub fn backend() -> Backend {
        if NvJitLink::load().is_ok() { Backend::NvJitLink } else { Backend::Driver }
    }

    /// Links to a cubin by nvJitLink where it is found, else by the driver; a warning of `tracing` says that
    /// it was the driver.
    ///
    /// # Errors
    ///
    /// Those of [`link`](Linker::link) and of [`link_by_driver`](Linker::link_by_driver).
    pub fn link_by_any(&self, context: &Context) -> Result<Linked> {
        match NvJitLink::load() {
            Ok(library) => self.link(&library, Target::Cubin),
            Err(error) => {
                user_code::emit(move || tracing::warn!(%error, "linking by the driver"));
                self.link_by_driver(context)
            }
        }
    }
}
