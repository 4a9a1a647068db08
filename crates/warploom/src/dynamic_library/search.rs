//! The folders that may have a library, and opening the first that is one.
#![expect(unsafe_code, reason = "opens dynamic libraries, which run code and export untyped symbols")]

use std::path::{Path, PathBuf};

use warploom_driver::dynamic_library;

use super::{DynamicLibrary, LibraryTable, LoadError as _};

/// Environment variables that name the root of a toolkit, or of a Python or Conda environment.
const ROOTS: &[&str] = &["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// The default root of a toolkit.
const TOOLKIT: &str = "/usr/local/cuda";

/// The library named in the environment, or else the first that the system has.
pub(crate) fn system<T: LibraryTable>() -> Result<T, T::Error> {
    let candidates = candidates::<T>(roots());
    let named = std::env::var_os(T::VARIABLE);
    // SAFETY: the candidates are where systems and environments keep the library, and the environment
    // variables are trusted as a program trusts the loader to find the libraries it was linked with.
    dynamic_library::search(named, &candidates, |path| unsafe { library(path) })
}

/// The roots of toolkits and environments.
fn roots() -> impl Iterator<Item = PathBuf> {
    let named = ROOTS.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty()).map(PathBuf::from);
    named.chain([PathBuf::from(TOOLKIT)])
}

/// The names and files to try, best first: bare names for the dynamic loader, then existing files in other
/// folders.
pub(crate) fn candidates<T: LibraryTable>(roots: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = T::NAMES.iter().map(PathBuf::from).collect();
    let others = T::OTHER_FOLDERS.iter().map(PathBuf::from);
    let below = roots.flat_map(|root| folders_of(&root, T::FOLDERS, T::WHEELS));
    for folder in others.chain(below) {
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

/// The library at `path`.
///
/// # Safety
///
/// If `path` is a library, loading it does no harm, and functions with names of the table have the table's
/// types.
pub(crate) unsafe fn library<T: LibraryTable>(path: &Path) -> Result<T, T::Error> {
    // SAFETY: the caller vouches for the code that loading runs.
    let library = unsafe { DynamicLibrary::open(path) }.map_err(|attempt| T::Error::not_found(vec![attempt]))?;
    // SAFETY: the caller vouches for the signatures, and a library that is taken is never unloaded.
    let table = unsafe { T::table(&library, path) }?;
    library.keep();
    Ok(table)
}

#[cfg(all(test, feature = "nvrtc"))]
mod tests {
    use super::*;

    /// As [`system`], with a named library and candidates of the test.
    fn load(named: Option<&str>, candidates: &[PathBuf]) -> Result<NvrtcTable, NvrtcError> {
        // SAFETY: the C library's mathematics is loaded already or does no harm; the others do not exist.
        dynamic_library::search(named.map(Into::into), candidates, |path| unsafe { library(path) })
    }
    use crate::program::NvrtcError;
    use crate::program::raw::NvrtcTable;

    #[test]
    fn a_failed_search_lists_the_attempts_and_the_remedy() {
        let names = ["libwarploom-absent.so.13", "/warploom-absent/libnvrtc.so.13"].map(PathBuf::from);
        let error = load(None, &names).expect_err("there is none");
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
        let error = load(Some("libwarploom-named.so"), &["libwarploom-absent.so".into()]);
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
    fn a_library_of_another_kind_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { library::<NvrtcTable>(Path::new("libm.so.6")) }.expect_err("mathematics is not NVRTC");
        assert_eq!(error, NvrtcError::NotNvrtc { path: "libm.so.6".into(), missing: "nvrtcVersion" });
        let error = load(None, &["libm.so.6".into()]).expect_err("mathematics is not NVRTC");
        assert!(matches!(error, NvrtcError::NotFound { tried } if tried.len() == 1));
    }
}
