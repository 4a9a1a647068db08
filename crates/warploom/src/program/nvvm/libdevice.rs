//! libdevice: NVIDIA's mathematical functions as bitcode.
#![expect(unsafe_code, reason = "reads bitcode of files that are trusted as libNVVM itself")]

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::NvvmError;
use crate::{Result, dynamic_library};

/// The environment variable that names the file [`Nvvm::libdevice`](super::Nvvm::libdevice) reads.
pub const LIBDEVICE_VARIABLE: &str = "WARPLOOM_LIBDEVICE";

const NAME: &str = "libdevice.10.bc";

/// Its folder below a toolkit or an environment.
const FOLDERS: &[&str] = &["nvvm/libdevice"];

/// Its folders in Python wheels below `site-packages/nvidia`, for CUDA 13 and for CUDA 12.
const WHEELS: &[&str] = &["cu13/nvvm/libdevice", "cuda_nvcc/nvvm/libdevice"];

/// Its path relative to the library's folder, in a toolkit or a wheel.
const BESIDE: &[&str] = &["../libdevice", "../nvvm/libdevice"];

/// libdevice, NVIDIA's functions of mathematics in NVVM IR, such as `__nv_powf`; see
/// [`NvvmProgram::libdevice`](super::NvvmProgram::libdevice). A clone shares the bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Libdevice {
    pub(super) bytes: Arc<[u8]>,
}

impl Libdevice {
    /// libdevice in this file. [`Nvvm::libdevice`](super::Nvvm::libdevice) finds the one that came with
    /// libNVVM.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Unreadable`](crate::LibraryError::Unreadable) if there is no such file.
    ///
    /// # Safety
    ///
    /// The file is NVIDIA's, unchanged: libNVVM does not check bitcode.
    pub unsafe fn read(path: impl AsRef<Path>) -> Result<Libdevice> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| {
            crate::Error::Library(crate::LibraryError::Unreadable {
                path: path.to_owned(),
                why: error.to_string().into_boxed_str(),
            })
        })?;
        Ok(Libdevice { bytes: bytes.into() })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The file that is named, or else the first that is there, beside the library or elsewhere.
pub(super) fn find(library: Option<&Path>) -> Result<Libdevice> {
    if let Some(named) = std::env::var_os(LIBDEVICE_VARIABLE).filter(|named| !named.is_empty()) {
        // SAFETY: the variable is trusted like the one that names libNVVM, which is loaded and run.
        return unsafe { Libdevice::read(PathBuf::from(named)) };
    }
    let beside = library.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let beside = beside.into_iter().flat_map(|folder| BESIDE.iter().map(|path| folder.join(path)));
    first(beside.chain(dynamic_library::folders(FOLDERS, WHEELS)).collect())
}

fn first(folders: Vec<PathBuf>) -> Result<Libdevice> {
    match folders.iter().map(|folder| folder.join(NAME)).find(|file| file.is_file()) {
        // SAFETY: the folders are those of toolkits and environments from which libNVVM is loaded and run.
        Some(file) => unsafe { Libdevice::read(file) },
        None => Err(NvvmError::NoLibdevice { folders }.into()),
    }
}

impl fmt::Debug for Libdevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Libdevice").field("bytes", &self.bytes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_in_vain_lists_the_folders_and_says_how_to_get_it() {
        let folders = ["/warploom-absent/nvvm/libdevice", "/warploom-absent/other"].map(PathBuf::from);
        let error = first(folders.to_vec()).expect_err("there is none");
        let crate::Error::Nvvm(error) = error else { panic!("{error:?}") };
        assert_eq!(*error, NvvmError::NoLibdevice { folders: folders.to_vec() });
        for word in ["/warploom-absent/other", "nvidia-nvvm", LIBDEVICE_VARIABLE] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn it_is_found_beside_the_library_of_a_toolkit_and_of_a_wheel() {
        let root = std::env::temp_dir().join(format!("warploom-libdevice-{}", std::process::id()));
        for (library, folder) in [("nvvm/lib64/libnvvm.so", "nvvm/libdevice"), ("lib/libnvvm.so.4", "nvvm/libdevice")] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
            std::fs::create_dir_all(root.join(library).parent().unwrap()).unwrap();
            std::fs::write(root.join(folder).join(NAME), folder).unwrap();
            let found = find(Some(&root.join(library)));
            std::fs::remove_dir_all(&root).unwrap();
            assert_eq!(found.unwrap().bytes(), folder.as_bytes());
        }
    }
}
