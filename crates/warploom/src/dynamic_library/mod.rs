//! Dynamic libraries that are loaded at run time: NCCL, NVRTC, libNVVM, nvJitLink and NVTX.
//!
//! Each library is a table of functions ([`table!`]) that says under which names and in which folders it may
//! be ([`LibraryTable`]). The search itself is the driver's own.
#![expect(unsafe_code, reason = "functions of a library have types that the caller vouches for")]

mod search;
mod table;

use std::path::Path;

#[cfg(all(test, feature = "nvrtc"))]
pub(crate) use search::candidates;
#[cfg(feature = "nvrtc")]
pub(crate) use search::folders;
pub(crate) use search::{library, system};
pub(crate) use table::table;
pub(crate) use warploom_driver::Attempt;
pub(crate) use warploom_driver::dynamic_library::{Attempts, DynamicLibrary, LoadError};

/// The functions of a dynamic library, and the names and folders to search for it.
pub(crate) trait LibraryTable: Sized {
    type Error: LoadError;

    /// The environment variable that names the library.
    const VARIABLE: &'static str;

    /// File names, newest first. The one without a version is from packages for developers.
    const NAMES: &'static [&'static str];

    /// Folders below the root of a toolkit, or of a Python or Conda environment.
    const FOLDERS: &'static [&'static str] = &["lib64", "lib"];

    /// Folders of Python wheels below `site-packages/nvidia`, for CUDA 13 and for CUDA 12.
    const WHEELS: &'static [&'static str];

    /// Other folders that the dynamic loader may not search.
    const OTHER_FOLDERS: &'static [&'static str] = &[];

    /// The functions of an open library, which was at `path`.
    ///
    /// # Safety
    ///
    /// If the library has functions of these names, they have the types of the table, and a library that is
    /// taken stays loaded.
    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<Self, Self::Error>;
}
