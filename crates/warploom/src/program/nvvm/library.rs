//! The libNVVM library.
#![expect(unsafe_code, reason = "calls libNVVM, and takes functions that the caller vouches for")]

use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::handle::Handle;
use super::raw::{NvvmTable, nvvmResult};
use super::{Libdevice, NvvmCode, NvvmError, libdevice};
use crate::Result;
use crate::dynamic_library::{self, Attempt, DynamicLibrary, LibraryTable, LoadError};
use crate::program::Architecture;

/// The environment variable that names the library [`Nvvm::load`] takes.
pub const NVVM_VARIABLE: &str = "WARPLOOM_NVVM";

/// libNVVM, NVIDIA's compiler for NVVM IR, loaded when the program runs. It needs no GPU and no driver.
///
/// A clone is another handle to the same library; threads may compile at once. See
/// [`NvvmProgram`](super::NvvmProgram).
#[derive(Clone)]
pub struct Nvvm {
    shared: Arc<Shared>,
}

struct Shared {
    table: NvvmTable,
    /// Its path; a bare name if the loader found it.
    path: Option<PathBuf>,
    version: (u32, u32),
    ir: (u32, u32),
    debug: (u32, u32),
    build: OnceLock<String>,
}

/// The function table of an opened library, and the library's path.
struct OpenedLibrary {
    table: NvvmTable,
    path: PathBuf,
}

/// An empty module. The code compiled from it is signed, too.
const EMPTY: &str = "target triple = \"nvptx64-nvidia-cuda\"\n!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n";

impl Nvvm {
    /// The system's libNVVM.
    ///
    /// Looks for `libnvvm.so.4` by way of the dynamic loader, then in the folders of a toolkit (`CUDA_HOME`,
    /// `CUDA_PATH`, `/usr/local/cuda`) and in an active environment of Python or Conda (`VIRTUAL_ENV`,
    /// `CONDA_PREFIX`), where the wheel `nvidia-nvvm` puts it. If the environment variable `WARPLOOM_NVVM`
    /// names a library, that one is taken and nothing else is looked for. These variables are trusted like
    /// the loader's own. A library once taken stays loaded until the process ends.
    ///
    /// # Errors
    ///
    /// [`NvvmError::NotFound`] with everything that was tried and how to get it, [`NvvmError::NotNvvm`] for a
    /// library that does not do, and libNVVM's error.
    #[doc(alias = "libnvvm")]
    pub fn load() -> Result<Nvvm> {
        let OpenedLibrary { table, path } = dynamic_library::system()?;
        Ok(Nvvm::new(table, Some(path))?)
    }

    /// libNVVM in the library `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Errors
    ///
    /// As [`Nvvm::load`].
    ///
    /// # Safety
    ///
    /// If `path` is a library, loading it does no harm, and if it has the functions of libNVVM, they are
    /// those.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Nvvm> {
        // SAFETY: the caller vouches for the library.
        let OpenedLibrary { table, path } = unsafe { dynamic_library::library(path.as_ref()) }?;
        Ok(Nvvm::new(table, Some(path))?)
    }

    /// A libNVVM of the caller's own: a stand-in for tests, or a library that was linked.
    ///
    /// # Errors
    ///
    /// The errors of its functions.
    ///
    /// # Safety
    ///
    /// The functions behave as those of libNVVM, from any thread, until the process ends.
    pub unsafe fn from_table(table: NvvmTable) -> Result<Nvvm> {
        Ok(Nvvm::new(table, None)?)
    }

    fn new(table: NvvmTable, path: Option<PathBuf>) -> Result<Nvvm, NvvmError> {
        let mut numbers = [0; 6];
        let [major, minor, ir_major, ir_minor, debug_major, debug_minor] = &mut numbers;
        // SAFETY: both are writable.
        answer("nvvmVersion", unsafe { (table.nvvmVersion)(major, minor) })?;
        // SAFETY: all are writable.
        answer("nvvmIRVersion", unsafe { (table.nvvmIRVersion)(ir_major, ir_minor, debug_major, debug_minor) })?;
        let [major, minor, ir_major, ir_minor, debug_major, debug_minor] = numbers.map(|n| n.max(0).unsigned_abs());
        let (version, ir, debug) = ((major, minor), (ir_major, ir_minor), (debug_major, debug_minor));
        Ok(Nvvm { shared: Arc::new(Shared { table, path, version, ir, debug, build: OnceLock::new() }) })
    }

    /// The version: 2 and 0 for 2.0, as in all of CUDA 12 and 13 so far.
    #[doc(alias = "nvvmVersion")]
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.shared.version
    }

    /// The version of NVVM IR that it takes: 2 and 0 for 2.0, as in a module's `!nvvmir.version`.
    #[doc(alias = "nvvmIRVersion")]
    #[must_use]
    pub fn ir_version(&self) -> (u32, u32) {
        self.shared.ir
    }

    /// The version of debug information that it takes: 3 and 2 for 3.2.
    #[must_use]
    pub fn debug_version(&self) -> (u32, u32) {
        self.shared.debug
    }

    /// The LLVM version of the IR that it takes for an architecture: 7 for `compute_90`; `None` if it is too
    /// old to tell.
    ///
    /// # Errors
    ///
    /// [`NvvmError::UnsupportedArchitecture`], and libNVVM's error.
    #[doc(alias = "nvvmLLVMVersion")]
    pub fn llvm_version(&self, architecture: impl Into<Architecture>) -> Result<Option<u32>> {
        let architecture = architecture.into();
        let Some(function) = self.table().nvvmLLVMVersion else { return Ok(None) };
        let name = CString::new(architecture.virtual_name()).unwrap_or_default();
        let mut major = 0;
        // SAFETY: the text lives until the call returns, and `major` is writable.
        match NvvmCode(unsafe { function(name.as_ptr(), &raw mut major) }) {
            NvvmCode::INVALID_INPUT => Err(NvvmError::UnsupportedArchitecture { architecture }.into()),
            code => Ok(answer("nvvmLLVMVersion", code.0).map(|()| u32::try_from(major).ok())?),
        }
    }

    /// The functions of mathematics that come with it: beside it if it is known where it is, else in the
    /// toolkits and environments where [`Nvvm::load`] looks, or the file that the environment variable
    /// `WARPLOOM_LIBDEVICE` names.
    ///
    /// # Errors
    ///
    /// [`NvvmError::NoLibdevice`] with all folders that were looked into, and
    /// [`LibraryError::Unreadable`](crate::LibraryError::Unreadable).
    #[doc(alias = "libdevice.10.bc")]
    pub fn libdevice(&self) -> Result<Libdevice> {
        libdevice::find(self.shared.path.as_deref())
    }

    /// The signature in its output, which tells more than its version: the CUDA that it came with. If
    /// it cannot be had, the text of the error.
    pub(super) fn build(&self) -> &str {
        self.shared.build.get_or_init(|| self.signature().unwrap_or_else(|error| error.to_string()))
    }

    fn signature(&self) -> Result<String, NvvmError> {
        let handle = Handle::new(self)?;
        handle.add(EMPTY.as_bytes(), c"empty", false)?;
        answer("nvvmCompileProgram", handle.compile(&[]).0)?;
        Ok(String::from_utf8_lossy(&handle.output()?).into_owned())
    }

    pub(super) fn table(&self) -> &NvvmTable {
        &self.shared.table
    }
}

impl LibraryTable for OpenedLibrary {
    type Error = NvvmError;

    const VARIABLE: &'static str = NVVM_VARIABLE;
    const NAMES: &'static [&'static str] = &["libnvvm.so.4", "libnvvm.so"];
    const FOLDERS: &'static [&'static str] = &["nvvm/lib64", "lib64", "lib"];
    const WHEELS: &'static [&'static str] = &["cu13/lib", "cuda_nvcc/nvvm/lib64"];

    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<OpenedLibrary, NvvmError> {
        // SAFETY: the caller vouches for the signatures.
        let table = unsafe { NvvmTable::of(library) };
        let table = table.map_err(|missing| NvvmError::NotNvvm { path: path.to_owned(), missing })?;
        Ok(OpenedLibrary { table, path: path.to_owned() })
    }
}

impl LoadError for NvvmError {
    fn not_found(tried: Vec<Attempt>) -> NvvmError {
        NvvmError::NotFound { tried }
    }

    fn into_attempts(self) -> Result<Vec<Attempt>, NvvmError> {
        if let NvvmError::NotFound { tried } = self { Ok(tried) } else { Err(self) }
    }
}

/// The status of a call as a result.
pub(super) fn answer(function: &'static str, code: nvvmResult) -> Result<(), NvvmError> {
    match NvvmCode(code) {
        NvvmCode::SUCCESS => Ok(()),
        code => Err(NvvmError::Call { function, code, detail: String::new() }),
    }
}

impl fmt::Debug for Nvvm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((major, minor), (ir_major, ir_minor)) = (self.version(), self.ir_version());
        let mut text = formatter.debug_struct("Nvvm");
        text.field("version", &format_args!("{major}.{minor}")).field("ir", &format_args!("{ir_major}.{ir_minor}"));
        text.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_an_error_that_says_how_to_get_it() {
        // SAFETY: there is no such library.
        let error = unsafe { Nvvm::load_from("libwarploom-absent.so.4") }.expect_err("there is none");
        for word in ["libwarploom-absent.so.4", "pip install nvidia-nvvm", "CUDA toolkit", NVVM_VARIABLE] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_library_of_another_kind_is_not_taken() {
        // SAFETY: the C library's mathematics is loaded already or does no harm.
        let error = unsafe { Nvvm::load_from("libm.so.6") }.expect_err("mathematics is not libNVVM");
        assert_eq!(error, NvvmError::NotNvvm { path: "libm.so.6".into(), missing: "nvvmVersion" }.into());
    }

    #[test]
    fn toolkits_and_wheels_of_both_kinds_are_looked_into() {
        let root = std::env::temp_dir().join(format!("warploom-nvvm-roots-{}", std::process::id()));
        let wheels = "lib/python3.12/site-packages/nvidia";
        let places = ["nvvm/lib64/libnvvm.so.4".to_owned(), format!("{wheels}/cu13/lib/libnvvm.so.4")];
        let places = [&places[..], &[format!("{wheels}/cuda_nvcc/nvvm/lib64/libnvvm.so")]].concat();
        for place in &places {
            let file = root.join(place);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
        }
        let found = dynamic_library::candidates::<OpenedLibrary>([root.clone()].into_iter());
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            found[OpenedLibrary::NAMES.len()..],
            *places.iter().map(|place| root.join(place)).collect::<Vec<_>>()
        );
    }
}
