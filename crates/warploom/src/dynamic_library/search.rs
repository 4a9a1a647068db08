//! From a library on this system to its functions.
#![expect(unsafe_code, reason = "opens shared libraries, which run code and export untyped symbols")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use libloading::Library;
use warploom_driver::Attempt;

use super::Sought;

/// Variables that name a folder with a toolkit, or with an environment of Python's or Conda's.
const ROOTS: &[&str] = &["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// Where a toolkit is that nobody names.
const TOOLKIT: &str = "/usr/local/cuda";

/// The library named in the environment, or else the first that the system has.
pub(crate) fn system<T: Sought>() -> Result<T, T::Error> {
    let candidates = candidates::<T>(roots());
    // SAFETY: the candidates are where systems and environments keep the library, and whoever sets the variables vouches for
    // what they name: all are trusted as a program trusts the loader to find the libraries it was linked with.
    unsafe { search(std::env::var_os(T::VARIABLE), &candidates) }
}

/// Toolkits and environments.
fn roots() -> impl Iterator<Item = PathBuf> {
    let named = ROOTS.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty()).map(PathBuf::from);
    named.chain([PathBuf::from(TOOLKIT)])
}

/// Where it may be, best first: what the loader knows, then folders that it is not told about, as far as they are there.
pub(crate) fn candidates<T: Sought>(roots: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = T::NAMES.iter().map(PathBuf::from).collect();
    let elsewhere = T::ELSEWHERE.iter().map(PathBuf::from);
    let below = roots.flat_map(|root| folders_of(&root, T::FOLDERS, T::WHEELS));
    for folder in elsewhere.chain(below) {
        candidates.extend(T::NAMES.iter().map(|name| folder.join(name)).filter(|file| file.is_file()));
    }
    candidates
}

/// Folders of all toolkits and environments.
#[cfg(feature = "nvrtc")]
pub(crate) fn folders(
    below: &'static [&'static str],
    wheels: &'static [&'static str],
) -> impl Iterator<Item = PathBuf> {
    roots().flat_map(|root| folders_of(&root, below, wheels))
}

/// Folders of a toolkit or an environment, and those of the wheels in it.
fn folders_of(root: &Path, below: &[&str], wheels: &[&str]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = below.iter().map(|folder| root.join(folder)).collect();
    let Ok(entries) = std::fs::read_dir(root.join("lib")) else { return folders };
    let pythons = entries.flatten().map(|entry| entry.path());
    let mut sites: Vec<PathBuf> = pythons.map(|python| python.join("site-packages/nvidia")).collect();
    sites.retain(|site| site.is_dir());
    sites.sort();
    folders.extend(sites.iter().flat_map(|site| wheels.iter().map(|folder| site.join(folder))));
    folders
}

/// The library `named`, if that is given and not empty, or else the first of `candidates` that is one.
///
/// # Safety
///
/// As for [`library`], of each name.
unsafe fn search<T: Sought>(named: Option<OsString>, candidates: &[PathBuf]) -> Result<T, T::Error> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        // SAFETY: the caller vouches for the library.
        return unsafe { library(Path::new(&named)) };
    }
    let mut tried = Vec::new();
    for candidate in candidates {
        // SAFETY: the caller vouches for the library.
        match unsafe { library::<T>(candidate) }.map_err(T::tried) {
            Ok(table) => return Ok(table),
            Err(Ok(absent)) => tried.extend(absent),
            Err(Err(error)) => tried.push(Attempt { path: candidate.clone(), why: error.to_string() }),
        }
    }
    Err(T::not_found(tried))
}

/// The library at `path`.
///
/// # Safety
///
/// If `path` is a library, loading it does no harm, and if it has the functions that are sought, they are those.
pub(crate) unsafe fn library<T: Sought>(path: &Path) -> Result<T, T::Error> {
    // SAFETY: the caller vouches for what loading runs.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        let (name, message) = (path.to_string_lossy(), error.to_string());
        let why = message.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message).to_owned();
        T::not_found(vec![Attempt { path: path.to_owned(), why }])
    })?;
    // SAFETY: the caller vouches for the signatures, and the library is never unloaded, if it is taken.
    let table = unsafe { T::table(&library, path) }?;
    // It may be called until the process ends: the code must not go before.
    std::mem::forget(library);
    Ok(table)
}

#[cfg(all(test, feature = "nvrtc"))]
mod tests {
    use super::*;
    use crate::program::NvrtcError;
    use crate::program::raw::NvrtcTable;

    #[test]
    fn a_search_in_vain_lists_what_was_tried_and_says_how_to_get_it() {
        let names = ["libwarploom-absent.so.13", "/warploom-absent/libnvrtc.so.13"].map(PathBuf::from);
        // SAFETY: there are no such libraries.
        let error = unsafe { search::<NvrtcTable>(None, &names) }.expect_err("there is none");
        let NvrtcError::NotFound { tried } = &error else { panic!("{error:?}") };
        assert_eq!(tried.iter().map(|attempt| &attempt.path).collect::<Vec<_>>(), names.each_ref());
        for word in
            ["libwarploom-absent.so.13", "pip install nvidia-cuda-nvrtc", "package cuda-nvrtc", NvrtcTable::VARIABLE]
        {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_named_library_is_the_only_one_tried() {
        // SAFETY: there are no such libraries.
        let error =
            unsafe { search::<NvrtcTable>(Some("libwarploom-named.so".into()), &["libwarploom-absent.so".into()]) };
        let Err(NvrtcError::NotFound { tried }) = error else { panic!("{error:?}") };
        assert_eq!(tried.len(), 1);
        assert_eq!(tried[0].path, Path::new("libwarploom-named.so"));
    }

    #[test]
    fn wheels_of_an_environment_and_toolkits_are_looked_into_after_the_loader_was_asked() {
        let root = std::env::temp_dir().join(format!("warploom-nvrtc-roots-{}", std::process::id()));
        let places = ["lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "lib64/libnvrtc.so.12"];
        for place in places {
            let file = root.join(place);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
        }
        let found = candidates::<NvrtcTable>([root.clone()].into_iter());
        std::fs::remove_dir_all(&root).unwrap();
        let expected = NvrtcTable::NAMES.iter().map(PathBuf::from).chain([root.join(places[1]), root.join(places[0])]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_that_is_something_else_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { library::<NvrtcTable>(Path::new("libm.so.6")) }.expect_err("mathematics is not NVRTC");
        assert_eq!(error, NvrtcError::NotNvrtc { path: "libm.so.6".into(), missing: "nvrtcVersion" });
        // SAFETY: as above.
        let error = unsafe { search::<NvrtcTable>(None, &["libm.so.6".into()]) }.expect_err("mathematics is not NVRTC");
        assert!(matches!(error, NvrtcError::NotFound { tried } if tried.len() == 1));
    }
}
