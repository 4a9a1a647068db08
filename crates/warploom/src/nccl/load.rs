//! From a library on this system to NCCL.
#![expect(unsafe_code, reason = "opens shared libraries, which run code and export untyped symbols")]

use std::ffi::OsString;
use std::path::Path;

use libloading::Library;
use warploom_driver::Attempt;

use super::NcclError;
use super::raw::NcclTable;

/// The environment variable that names the library [`Nccl::load`](super::Nccl::load) takes.
pub const LIBRARY_VARIABLE: &str = "WARPLOOM_NCCL";

/// Where NCCL may be, best first: what the loader knows, then folders that it is not always told about.
const CANDIDATES: &[&str] = &[
    "libnccl.so.2",
    "libnccl.so",
    "/usr/lib64/libnccl.so.2",
    "/usr/lib/x86_64-linux-gnu/libnccl.so.2",
    "/usr/lib/aarch64-linux-gnu/libnccl.so.2",
    "/usr/local/cuda/lib64/libnccl.so.2",
];

/// The library named in the environment, or else the first that the system has.
pub(super) fn system() -> Result<NcclTable, NcclError> {
    // SAFETY: the candidates are where systems keep NCCL, and whoever sets the variable vouches for what it names: both are
    // trusted as a program trusts the loader to find the libraries it was linked with.
    unsafe { search(std::env::var_os(LIBRARY_VARIABLE), CANDIDATES) }
}

/// NCCL in `named`, if that is given and not empty, or else in the first of `candidates` that is one.
///
/// # Safety
///
/// As for [`library`], of each name.
unsafe fn search(named: Option<OsString>, candidates: &[&str]) -> Result<NcclTable, NcclError> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        // SAFETY: the caller vouches for the library.
        return unsafe { library(Path::new(&named)) };
    }
    let mut tried = Vec::new();
    for candidate in candidates.iter().map(Path::new) {
        // SAFETY: the caller vouches for the library.
        match unsafe { library(candidate) } {
            Ok(table) => return Ok(table),
            Err(NcclError::NotFound { tried: absent }) => tried.extend(absent),
            Err(error) => tried.push(Attempt { path: candidate.to_owned(), why: error.to_string() }),
        }
    }
    Err(NcclError::NotFound { tried })
}

/// NCCL in the library at `path`.
///
/// # Safety
///
/// If `path` is a library, loading it does no harm, and if it has the functions of NCCL, they are those.
pub(super) unsafe fn library(path: &Path) -> Result<NcclTable, NcclError> {
    // SAFETY: the caller vouches for what loading runs.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        let (name, message) = (path.to_string_lossy(), error.to_string());
        let why = message.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message).to_owned();
        NcclError::NotFound { tried: vec![Attempt { path: path.to_owned(), why }] }
    })?;
    // SAFETY: the caller vouches for the signatures, and the library is never unloaded, if it is taken.
    let table =
        unsafe { NcclTable::of(&library) }.map_err(|missing| NcclError::NotNccl { path: path.to_owned(), missing })?;
    // NCCL runs threads of its own: its code must not go before the process does.
    std::mem::forget(library);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_in_vain_lists_what_was_tried_and_says_how_to_get_it() {
        let names = ["libwarploom-absent.so.2", "/warploom-absent/libnccl.so.2"];
        // SAFETY: there are no such libraries.
        let error = unsafe { search(None, &names) }.expect_err("there is none");
        let NcclError::NotFound { tried } = &error else { panic!("{error:?}") };
        assert_eq!(tried.iter().map(|attempt| attempt.path.as_path()).collect::<Vec<_>>(), names.map(Path::new));
        for word in ["libwarploom-absent.so.2", "libnccl2", "nvidia-nccl-cu13", LIBRARY_VARIABLE] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_named_library_is_the_only_one_tried() {
        // SAFETY: there are no such libraries.
        let error = unsafe { search(Some("libwarploom-named.so".into()), &["libwarploom-absent.so"]) };
        let Err(NcclError::NotFound { tried }) = error else { panic!("{error:?}") };
        assert_eq!(tried.len(), 1);
        assert_eq!(tried[0].path, Path::new("libwarploom-named.so"));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_that_is_something_else_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { library(Path::new("libm.so.6")) }.expect_err("mathematics is not NCCL");
        assert_eq!(error, NcclError::NotNccl { path: "libm.so.6".into(), missing: "ncclGetVersion" });
        // SAFETY: as above.
        let error = unsafe { search(None, &["libm.so.6"]) }.expect_err("mathematics is not NCCL");
        assert!(matches!(error, NcclError::NotFound { tried } if tried.len() == 1));
    }
}
