//! The NVRTC library.
#![expect(unsafe_code, reason = "calls NVRTC, and takes functions that the caller vouches for")]

use std::ffi::c_int;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::raw::{NvrtcTable, nvrtcResult};
use super::{NvrtcCode, NvrtcError, NvrtcVersion};
use crate::Result;
use crate::dynamic_library::{self, Attempt, DynamicLibrary, LibraryTable, LoadError};

/// The environment variable that names the library [`Nvrtc::load`] takes.
pub const NVRTC_VARIABLE: &str = "WARPLOOM_NVRTC";

/// NVRTC, NVIDIA's compiler for CUDA C++, loaded when the program runs. It needs no GPU and no driver.
///
/// A clone is another handle to the same library; threads may compile at once.
///
/// ```no_run
/// use warploom::program::{Architecture, CompileOptions, Nvrtc, Program, Target};
///
/// # fn main() -> warploom::Result<()> {
/// let nvrtc = Nvrtc::load()?;
/// let source = "template<typename T> __global__ void scale(T *data, T by) { data[threadIdx.x] *= by; }";
/// let options = CompileOptions::new(Architecture::sm(90));
/// let program = Program::new("scale.cu", source, options).name_expression("scale<float>");
/// let compiled = program.compile(&nvrtc, Target::Ptx)?;
/// assert_eq!(compiled.code.lowered_name("scale<float>"), Some("_Z5scaleIfEvPT_S0_"));
/// assert!(compiled.log.is_empty(), "{}", compiled.log); // warnings
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Nvrtc {
    shared: Arc<Shared>,
}

struct Shared {
    table: NvrtcTable,
    version: NvrtcVersion,
    architectures: Vec<u32>,
}

impl Nvrtc {
    /// The system's NVRTC.
    ///
    /// Looks for `libnvrtc.so.13` and `libnvrtc.so.12` by way of the dynamic loader, then in the folders of a
    /// toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`) and in an active environment of Python or Conda
    /// (`VIRTUAL_ENV`, `CONDA_PREFIX`), where the wheel `nvidia-cuda-nvrtc` puts it. If the environment
    /// variable `WARPLOOM_NVRTC` names a library, that one is taken and nothing else is looked for. These
    /// variables are trusted like the loader's own. A library once taken stays loaded until the process ends.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::NotFound`] with everything that was tried and how to get it, [`NvrtcError::NotNvrtc`]
    /// and [`NvrtcError::TooOld`] for a library that does not do, and NVRTC's error.
    #[doc(alias = "libnvrtc")]
    pub fn load() -> Result<Nvrtc> {
        Ok(Nvrtc::new(dynamic_library::system()?)?)
    }

    /// NVRTC in the library `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Errors
    ///
    /// As [`Nvrtc::load`].
    ///
    /// # Safety
    ///
    /// If `path` is a library, loading it does no harm, and if it has the functions of NVRTC, they are those.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Nvrtc> {
        // SAFETY: the caller vouches for the library.
        Ok(Nvrtc::new(unsafe { dynamic_library::library(path.as_ref()) }?)?)
    }

    /// An NVRTC of the caller's own: a stand-in for tests, or a library that was linked.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::TooOld`], and the errors of its functions.
    ///
    /// # Safety
    ///
    /// The functions behave as those of NVRTC, from any thread, until the process ends.
    pub unsafe fn from_table(table: NvrtcTable) -> Result<Nvrtc> {
        Ok(Nvrtc::new(table)?)
    }

    fn new(table: NvrtcTable) -> Result<Nvrtc, NvrtcError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are writable.
        answer("nvrtcVersion", unsafe { (table.nvrtcVersion)(&raw mut major, &raw mut minor) })?;
        let version = NvrtcVersion::from_raw(major, minor);
        if version < NvrtcVersion::OLDEST {
            return Err(NvrtcError::TooOld { have: version });
        }
        Ok(Nvrtc { shared: Arc::new(Shared { architectures: architectures(&table)?, table, version }) })
    }

    /// Its version.
    #[doc(alias = "nvrtcVersion")]
    #[must_use]
    pub fn version(&self) -> NvrtcVersion {
        self.shared.version
    }

    /// The architectures that it compiles for, ascending: 90 for `compute_90` and `sm_90`.
    #[doc(alias = "nvrtcGetSupportedArchs")]
    #[must_use]
    pub fn architectures(&self) -> &[u32] {
        &self.shared.architectures
    }

    pub(super) fn table(&self) -> &NvrtcTable {
        &self.shared.table
    }
}

impl LibraryTable for NvrtcTable {
    type Error = NvrtcError;

    const VARIABLE: &'static str = NVRTC_VARIABLE;
    const NAMES: &'static [&'static str] = &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
    const WHEELS: &'static [&'static str] = &["cu13/lib", "cuda_nvrtc/lib"];

    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<NvrtcTable, NvrtcError> {
        // SAFETY: the caller vouches for the signatures.
        unsafe { NvrtcTable::of(library) }.map_err(|missing| {
            // SAFETY: the caller vouches for the signature.
            match unsafe { version(library) } {
                Some(have) if have < NvrtcVersion::OLDEST => NvrtcError::TooOld { have },
                _ => NvrtcError::NotNvrtc { path: path.to_owned(), missing },
            }
        })
    }
}

impl LoadError for NvrtcError {
    fn not_found(tried: Vec<Attempt>) -> NvrtcError {
        NvrtcError::NotFound { tried }
    }

    fn into_attempts(self) -> Result<Vec<Attempt>, NvrtcError> {
        if let NvrtcError::NotFound { tried } = self { Ok(tried) } else { Err(self) }
    }
}

/// The version of a library that lacks functions: an old one says how old it is.
///
/// # Safety
///
/// If it has the function, it is that of NVRTC.
unsafe fn version(library: &DynamicLibrary) -> Option<NvrtcVersion> {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult;
    // SAFETY: the caller vouches for the signature.
    let function = unsafe { library.function::<Version>("nvrtcVersion") }?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are writable.
    let code = unsafe { function(&raw mut major, &raw mut minor) };
    (code == 0).then(|| NvrtcVersion::from_raw(major, minor))
}

fn architectures(table: &NvrtcTable) -> Result<Vec<u32>, NvrtcError> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    answer("nvrtcGetNumSupportedArchs", unsafe { (table.nvrtcGetNumSupportedArchs)(&raw mut count) })?;
    let mut numbers = vec![0; usize::try_from(count).unwrap_or(0)];
    if !numbers.is_empty() {
        // SAFETY: there is room for as many as it has.
        answer("nvrtcGetSupportedArchs", unsafe { (table.nvrtcGetSupportedArchs)(numbers.as_mut_ptr()) })?;
    }
    Ok(numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).collect())
}

/// The status of a call as a result.
pub(super) fn answer(function: &'static str, code: nvrtcResult) -> Result<(), NvrtcError> {
    match NvrtcCode(code) {
        NvrtcCode::SUCCESS => Ok(()),
        code => Err(NvrtcError::Call { function, code, detail: String::new() }),
    }
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = format_args!("{}", self.version());
        formatter.debug_struct("Nvrtc").field("version", &version).finish_non_exhaustive()
    }
}
