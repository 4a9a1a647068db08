//! Libraries that are looked for when the program runs: NCCL, and NVIDIA's compilers and linker.
//!
//! Each is a table of functions ([`table!`]) that says where it may be ([`Sought`]); one search serves them all.
#![expect(unsafe_code, reason = "functions of a library have the types that somebody vouches for")]

mod search;
mod table;
mod tried;

use std::fmt;
use std::path::Path;

use libloading::Library;
use warploom_driver::Attempt;

#[cfg(all(test, feature = "nvrtc"))]
pub(crate) use search::candidates;
#[cfg(feature = "nvrtc")]
pub(crate) use search::folders;
pub(crate) use search::{library, system};
pub(crate) use table::table;
pub(crate) use tried::Tried;

/// A library that is looked for when the program runs, as a table of its functions.
pub(crate) trait Sought: Sized {
    type Error: fmt::Display;

    /// The environment variable that names the library.
    const VARIABLE: &'static str;

    /// Names of its file, newest first. Without a number it is whatever the system's packages for developers have.
    const NAMES: &'static [&'static str];

    /// Where it is below a toolkit, or an environment of Python's or Conda's.
    const FOLDERS: &'static [&'static str] = &["lib64", "lib"];

    /// Where Python's wheels put it below `site-packages/nvidia`, for CUDA 13 and for CUDA 12.
    const WHEELS: &'static [&'static str];

    /// Other folders that the loader is not always told about.
    const ELSEWHERE: &'static [&'static str] = &[];

    /// Its functions in an opened library, which was at `path`.
    ///
    /// # Safety
    ///
    /// If the library has functions of these names, they are those that are sought, and it stays loaded if it is taken.
    unsafe fn table(library: &Library, path: &Path) -> Result<Self, Self::Error>;

    /// There is none.
    fn not_found(tried: Vec<Attempt>) -> Self::Error;

    /// What was tried, if that is the error.
    fn tried(error: Self::Error) -> Result<Vec<Attempt>, Self::Error>;
}
