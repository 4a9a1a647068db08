//! File names and folders of the NVTX library.
#![expect(unsafe_code, reason = "functions of a library have the types that the caller vouches for")]

use std::path::{Path, PathBuf};

use super::raw::NvtxTable;
use crate::dynamic_library::{Attempt, Attempts, DynamicLibrary, LibraryTable, LoadError};

/// The environment variable that names the library [`Nvtx::load`](super::Nvtx::load) takes.
pub const LIBRARY_VARIABLE: &str = "WARPLOOM_NVTX";

/// The reason why there are no annotations.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvtxError {
    /// No library was found.
    #[error(
        "no NVTX found, tried {}; install it (the package cuda-nvtx, or the Python wheel nvidia-nvtx), or name its library in \
         {LIBRARY_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// The names and files that were tried.
        tried: Vec<Attempt>,
    },

    /// A library lacks a function.
    #[error("{} is not an NVTX library: it has no {missing}", path.display())]
    NotNvtx {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// Annotations were switched off by [`Nvtx::disabled`](super::Nvtx::disabled).
    #[error("annotations are switched off")]
    Disabled,
}

impl LibraryTable for NvtxTable {
    type Error = NvtxError;

    const VARIABLE: &'static str = LIBRARY_VARIABLE;
    const NAMES: &'static [&'static str] =
        &["libnvtx3interop.so.1", "libnvtx3interop.so", "libnvToolsExt.so.1", "libnvToolsExt.so"];
    const WHEELS: &'static [&'static str] = &["cu13/lib", "nvtx/lib"];

    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<NvtxTable, NvtxError> {
        // SAFETY: the caller vouches for the signatures.
        unsafe { NvtxTable::of(library) }.map_err(|missing| NvtxError::NotNvtx { path: path.to_owned(), missing })
    }
}

impl LoadError for NvtxError {
    fn not_found(tried: Vec<Attempt>) -> NvtxError {
        NvtxError::NotFound { tried }
    }

    fn into_attempts(self) -> Result<Vec<Attempt>, NvtxError> {
        if let NvtxError::NotFound { tried } = self { Ok(tried) } else { Err(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamic_library;

    #[test]
    fn an_absent_library_is_an_error_that_says_how_to_get_it() {
        // SAFETY: there is no such library.
        let error =
            unsafe { dynamic_library::library::<NvtxTable>(Path::new("libwarploom-absent.so.2")) }.expect_err("none");
        for word in ["libwarploom-absent.so.2", "nvidia-nvtx", "cuda-nvtx", LIBRARY_VARIABLE] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_of_another_kind_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { dynamic_library::library::<NvtxTable>(Path::new("libm.so.6")) }
            .expect_err("mathematics is not NVTX");
        assert_eq!(error, NvtxError::NotNvtx { path: "libm.so.6".into(), missing: "nvtxMarkEx" });
    }
}
