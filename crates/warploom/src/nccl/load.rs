//! File names and folders of the NCCL library.
#![expect(unsafe_code, reason = "functions of a library have the types that the caller vouches for")]

use std::path::Path;

use super::NcclError;
use super::raw::NcclTable;
use crate::dynamic_library::{Attempt, DynamicLibrary, LibraryTable, LoadError};

/// The environment variable that names the library [`Nccl::load`](super::Nccl::load) takes.
pub const LIBRARY_VARIABLE: &str = "WARPLOOM_NCCL";

impl LibraryTable for NcclTable {
    type Error = NcclError;

    const VARIABLE: &'static str = LIBRARY_VARIABLE;
    const NAMES: &'static [&'static str] = &["libnccl.so.2", "libnccl.so"];
    const WHEELS: &'static [&'static str] = &["nccl/lib"];
    const OTHER_FOLDERS: &'static [&'static str] =
        &["/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<NcclTable, NcclError> {
        // SAFETY: the caller vouches for the signatures.
        unsafe { NcclTable::of(library) }.map_err(|missing| NcclError::NotNccl { path: path.to_owned(), missing })
    }
}

impl LoadError for NcclError {
    fn not_found(tried: Vec<Attempt>) -> NcclError {
        NcclError::NotFound { tried }
    }

    fn into_attempts(self) -> Result<Vec<Attempt>, NcclError> {
        if let NcclError::NotFound { tried } = self { Ok(tried) } else { Err(self) }
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
            unsafe { dynamic_library::library::<NcclTable>(Path::new("libwarploom-absent.so.2")) }.expect_err("none");
        let NcclError::NotFound { tried } = &error else { panic!("{error:?}") };
        assert_eq!(tried.len(), 1);
        for word in ["libwarploom-absent.so.2", "libnccl2", "nvidia-nccl-cu13", LIBRARY_VARIABLE] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_of_another_kind_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { dynamic_library::library::<NcclTable>(Path::new("libm.so.6")) }
            .expect_err("mathematics is not NCCL");
        assert_eq!(error, NcclError::NotNccl { path: "libm.so.6".into(), missing: "ncclGetVersion" });
    }
}
