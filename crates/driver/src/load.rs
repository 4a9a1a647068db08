//! Loading a driver from a dynamic library of the system.
#![expect(unsafe_code, reason = "opens a library and gives its resolver a C type")]

use std::path::Path;

use warploom_sys::Function;

use crate::dynamic_library::{Attempt, DynamicLibrary, LoadError, search};
use crate::resolve::{Origin, Resolver};
use crate::{Driver, DriverNotFound, Error, NotADriver, Result};

/// The environment variable that names the library [`Driver::load`] takes.
pub const LIBRARY_VARIABLE: &str = "WARPLOOM_LIBCUDA";

/// Names and paths of driver libraries, best first.
#[cfg(windows)]
const CANDIDATES: &[&str] = &["nvcuda.dll"];

/// Names and paths of driver libraries, best first: the loader's own search, the folder that WSL mounts, a
/// development link, and folders that distributions and container runtimes do not always tell the loader
/// about.
#[cfg(not(windows))]
const CANDIDATES: &[&str] = &[
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "libcuda.so",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

/// The driver named in the environment, or else the first that the system has.
pub(crate) fn system() -> Result<Driver> {
    // SAFETY: the candidates are where the platform keeps its driver, and the environment is trusted as a
    // program trusts the loader to find the libraries it was linked with.
    search(std::env::var_os(LIBRARY_VARIABLE), CANDIDATES, |path| unsafe { library(path) })
}

/// The driver in the library at `path`.
///
/// # Safety
///
/// If `path` is a library, loading it does no harm, and if it has `cuGetProcAddress_v2` or
/// `cuGetProcAddress`, these are as [`Source::new`](warploom_sys::Source::new) requires.
pub(crate) unsafe fn library(path: &Path) -> Result<Driver> {
    let not_a_driver = |why| {
        let missing = Function::cuGetProcAddress_v2;
        Error::NotADriver(Box::new(NotADriver { path: path.to_owned(), missing, why }))
    };
    // SAFETY: the caller vouches for the code that loading runs.
    let library = unsafe { DynamicLibrary::open(path) }.map_err(|attempt| {
        if has_folder(path) && path.is_file() {
            return not_a_driver(Some(attempt.why));
        }
        Error::not_found(vec![attempt])
    })?;
    // SAFETY: the caller vouches for the C signature of this symbol.
    let newer = unsafe { library.function("cuGetProcAddress_v2") }.map(Resolver::V2);
    // SAFETY: likewise; without the newer symbol, this is the four-argument form of 11.3.
    let older = || unsafe { library.function("cuGetProcAddress") }.map(Resolver::V1);
    let resolver = newer.or_else(older).ok_or_else(|| not_a_driver(None))?;

    // A driver in use runs threads and exit handlers of its own: its code must not go before the process
    // does.
    library.keep();
    // SAFETY: the caller vouches for the resolver, and the library is never unloaded.
    Driver::from_origin(unsafe { Origin::forever(resolver, path.to_string_lossy().into()) })
}

impl LoadError for Error {
    fn not_found(tried: Vec<Attempt>) -> Error {
        Error::DriverNotFound(Box::new(DriverNotFound { tried }))
    }

    fn into_attempts(self) -> Result<Vec<Attempt>> {
        if let Error::DriverNotFound(absent) = self { Ok(absent.tried) } else { Err(self) }
    }
}

/// `true` if the path has a folder; the loader searches folders of its own for a bare name.
fn has_folder(path: &Path) -> bool {
    path.components().nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// As [`system`], with a named library and candidates of the test.
    fn load(named: Option<&str>, candidates: &[&str]) -> Result<Driver> {
        // SAFETY: the C library's mathematics is loaded already or does no harm; the others do not exist.
        search(named.map(OsString::from), candidates, |path| unsafe { library(path) })
    }

    fn tried(result: Result<Driver>) -> Vec<Attempt> {
        match result {
            Err(Error::DriverNotFound(absent)) => absent.tried,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_search_in_vain_lists_every_candidate_in_order() {
        let names = ["libwarploom-absent.so.1", "/warploom-absent/libcuda.so.1"];
        let tried = tried(load(None, &names));
        assert_eq!(tried.iter().map(|attempt| attempt.path.as_path()).collect::<Vec<_>>(), names.map(Path::new));
        assert!(tried.iter().all(|attempt| !attempt.why.is_empty() && !attempt.why.contains("absent")), "{tried:?}");
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_that_is_not_a_driver_does_not_end_the_search() {
        let tried = tried(load(None, &["libm.so.6", "libwarploom-absent.so.1"]));
        assert_eq!(tried.len(), 2);
        assert_eq!(tried[0].why, "libm.so.6 is not a CUDA driver: it has no cuGetProcAddress_v2");
    }

    #[test]
    fn a_named_library_is_the_only_one_tried() {
        let tried = tried(load(Some("libwarploom-named.so"), &["libwarploom-absent.so.1"]));
        assert_eq!(tried.len(), 1);
        assert_eq!(tried[0].path, Path::new("libwarploom-named.so"));
    }

    #[test]
    fn an_empty_name_is_no_name() {
        let tried = tried(load(Some(""), &["libwarploom-absent.so.1"]));
        assert_eq!(tried[0].path, Path::new("libwarploom-absent.so.1"));
    }
}
