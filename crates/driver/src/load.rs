//! From a library on this system to a driver.
#![expect(unsafe_code, reason = "opens shared libraries, which run code and export untyped symbols")]

use std::ffi::OsString;
use std::path::Path;

use libloading::Library;
use warploom_sys::Function;

use crate::resolve::{Origin, Resolver};
use crate::{Attempt, Driver, DriverNotFound, Error, NotADriver, Result};

/// The environment variable that names the library [`Driver::load`] takes.
pub const LIBRARY_VARIABLE: &str = "WARPLOOM_LIBCUDA";

/// Where a driver may be, best first.
#[cfg(windows)]
const CANDIDATES: &[&str] = &["nvcuda.dll"];

/// Where a driver may be, best first: what the loader knows, what WSL mounts outside the loader's sight, a development
/// link, and folders that distributions and container runtimes do not always tell the loader about.
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
    // SAFETY: the candidates are where the platform keeps its driver, and whoever sets the variable vouches for what it
    // names: both are trusted as a program trusts the loader to find the libraries it was linked with.
    unsafe { search(std::env::var_os(LIBRARY_VARIABLE), CANDIDATES) }
}

/// The driver in `named`, if that is given and not empty, or else in the first of `candidates` that is one.
///
/// # Safety
///
/// As for [`library`], of each name.
unsafe fn search(named: Option<OsString>, candidates: &[&str]) -> Result<Driver> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        // SAFETY: the caller vouches for the library.
        return unsafe { library(Path::new(&named)) };
    }
    let mut tried = Vec::new();
    for candidate in candidates.iter().map(Path::new) {
        // SAFETY: the caller vouches for the library.
        match unsafe { library(candidate) } {
            Ok(driver) => return Ok(driver),
            Err(Error::DriverNotFound(absent)) => tried.extend(absent.tried),
            // A stub or a stranger under the driver's name does not hide the driver behind it.
            Err(error) => tried.push(Attempt { path: candidate.to_owned(), why: error.to_string() }),
        }
    }
    Err(Error::DriverNotFound(Box::new(DriverNotFound { tried })))
}

/// The driver in the library at `path`.
///
/// # Safety
///
/// If `path` is a library, loading it does no harm, and if it has `cuGetProcAddress_v2` or `cuGetProcAddress`, these are
/// what [`Source::new`](warploom_sys::Source::new) asks for.
pub(crate) unsafe fn library(path: &Path) -> Result<Driver> {
    let strange = |why| {
        let missing = Function::cuGetProcAddress_v2;
        Error::NotADriver(Box::new(NotADriver { path: path.to_owned(), missing, why }))
    };
    // SAFETY: the caller vouches for what loading runs.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        let why = without_name(&error.to_string(), path);
        if has_folder(path) && path.is_file() {
            return strange(Some(why));
        }
        Error::DriverNotFound(Box::new(DriverNotFound { tried: vec![Attempt { path: path.to_owned(), why }] }))
    })?;
    // SAFETY: the caller vouches for the C signature of this symbol.
    let newer = unsafe { library.get(b"cuGetProcAddress_v2\0") }.map(|symbol| Resolver::V2(*symbol));
    // SAFETY: likewise; without the newer symbol, this is the four-argument form of 11.3.
    let older = || unsafe { library.get(b"cuGetProcAddress\0") }.map(|symbol| Resolver::V1(*symbol));
    let resolver = newer.or_else(|_| older()).map_err(|_| strange(None))?;

    // A driver in use runs threads and exit handlers of its own: its code must not go before the process does.
    std::mem::forget(library);
    // SAFETY: the caller vouches for the resolver, and the library is never unloaded.
    Driver::from_origin(unsafe { Origin::forever(resolver, path.to_string_lossy().into()) })
}

/// Whether the path says in which folder the file is; the loader looks for a bare name in folders of its own.
fn has_folder(path: &Path) -> bool {
    path.components().nth(1).is_some()
}

/// The loader's message without the name it starts with, which our message has already.
fn without_name(message: &str, path: &Path) -> String {
    let name = path.to_string_lossy();
    message.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(result: Result<Driver>) -> Vec<Attempt> {
        match result {
            Err(Error::DriverNotFound(absent)) => absent.tried,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_search_in_vain_lists_every_candidate_in_order() {
        let names = ["libwarploom-absent.so.1", "/warploom-absent/libcuda.so.1"];
        // SAFETY: there are no such libraries.
        let tried = tried(unsafe { search(None, &names) });
        assert_eq!(tried.iter().map(|attempt| attempt.path.as_path()).collect::<Vec<_>>(), names.map(Path::new));
        assert!(tried.iter().all(|attempt| !attempt.why.is_empty() && !attempt.why.contains("absent")), "{tried:?}");
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_that_is_not_a_driver_does_not_end_the_search() {
        // SAFETY: the C library's mathematics is loaded already or does no harm; the other does not exist.
        let tried = tried(unsafe { search(None, &["libm.so.6", "libwarploom-absent.so.1"]) });
        assert_eq!(tried.len(), 2);
        assert_eq!(tried[0].why, "libm.so.6 is not a CUDA driver: it has no cuGetProcAddress_v2");
    }

    #[test]
    fn a_named_library_is_the_only_one_tried() {
        // SAFETY: there are no such libraries.
        let tried = tried(unsafe { search(Some("libwarploom-named.so".into()), &["libwarploom-absent.so.1"]) });
        assert_eq!(tried.len(), 1);
        assert_eq!(tried[0].path, Path::new("libwarploom-named.so"));
    }

    #[test]
    fn an_empty_name_is_no_name() {
        // SAFETY: there is no such library.
        let tried = tried(unsafe { search(Some(OsString::new()), &["libwarploom-absent.so.1"]) });
        assert_eq!(tried[0].path, Path::new("libwarploom-absent.so.1"));
    }
}
