//! Dynamic libraries: opening one, and searching a list of candidates for the first that serves.
//!
//! One search finds the driver itself and the libraries beside it that are loaded at run time (NCCL, NVRTC,
//! libNVVM, nvJitLink).
#![expect(unsafe_code, reason = "opens dynamic libraries, which run code and export untyped symbols")]

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::Library;

/// An open dynamic library. It is unloaded when this is dropped, unless it is [kept](DynamicLibrary::keep).
#[derive(Debug)]
pub struct DynamicLibrary {
    library: Library,
}

impl DynamicLibrary {
    /// Opens the library at `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Safety
    ///
    /// If `path` is a library, the code that it runs when it is loaded and unloaded does no harm.
    ///
    /// # Errors
    ///
    /// The loader's reason, without the path that it starts with.
    pub unsafe fn open(path: &Path) -> Result<DynamicLibrary, Attempt> {
        // SAFETY: the caller vouches for the code that loading runs.
        let opened = unsafe { Library::new(path) };
        opened.map(|library| DynamicLibrary { library }).map_err(|error| {
            let (name, message) = (path.to_string_lossy(), error.to_string());
            let why = message.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message);
            Attempt { path: path.to_owned(), why: why.to_owned() }
        })
    }

    /// The function that the library exports under `name`, if there is one.
    ///
    /// # Safety
    ///
    /// `F` is a function pointer type, and the library's symbol of this name has that type. The function is
    /// called only while the library is loaded.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<fn()>(), "a function pointer") };
        // SAFETY: the caller vouches for the type.
        unsafe { self.library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    /// Leaves the library loaded until the process ends, for libraries with threads and exit handlers of
    /// their own.
    pub fn keep(self) {
        std::mem::forget(self.library);
    }
}

/// One library that was tried, and why it was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The file, or the name given to the system's loader.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

/// Prints attempts with their reasons: `libcuda.so.1 (no such file), libcuda.so (no such file)`.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'a>(pub &'a [Attempt]);

impl fmt::Display for Attempts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Attempt { path, why }) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(formatter, "{comma}{} ({why})", path.display())?;
        }
        Ok(())
    }
}

/// An error of loading a library that lists the attempts if none was found.
pub trait LoadError: fmt::Display + Sized {
    /// No library could be opened.
    fn not_found(tried: Vec<Attempt>) -> Self;

    /// The attempts, if no library could be opened.
    ///
    /// # Errors
    ///
    /// The error itself, if there was a library, but not the right one.
    fn into_attempts(self) -> Result<Vec<Attempt>, Self>;
}

/// The library `named`, if that is given and not empty, or else the first of `candidates` that `open` takes.
///
/// A library of another kind under a candidate's name does not end the search.
///
/// # Errors
///
/// For a named library, the error of opening it; otherwise [`LoadError::not_found`] with all attempts.
pub fn search<T, E: LoadError>(
    named: Option<OsString>,
    candidates: &[impl AsRef<Path>],
    open: impl Fn(&Path) -> Result<T, E>,
) -> Result<T, E> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return open(Path::new(&named));
    }
    let mut tried = Vec::new();
    for candidate in candidates.iter().map(AsRef::as_ref) {
        match open(candidate).map_err(E::into_attempts) {
            Ok(found) => return Ok(found),
            Err(Ok(absent)) => tried.extend(absent),
            Err(Err(error)) => tried.push(Attempt { path: candidate.to_owned(), why: error.to_string() }),
        }
    }
    Err(E::not_found(tried))
}
