//! The nvJitLink library.
#![expect(unsafe_code, reason = "calls nvJitLink, and takes functions that the caller vouches for")]

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::raw::NvJitLinkTable;
use super::{LinkCode, LinkError};
use crate::Result;
use crate::dynamic_library::{self, Attempt, DynamicLibrary, LibraryTable, LoadError};

/// The environment variable that names the library [`NvJitLink::load`] takes.
pub const NVJITLINK_VARIABLE: &str = "WARPLOOM_NVJITLINK";

/// nvJitLink, NVIDIA's linker for device code, 12.3 or newer, loaded when the program runs. It needs no GPU
/// and no driver.
///
/// A clone is another handle to the same library; threads may link at once. See [`Linker`](super::Linker).
#[derive(Clone)]
pub struct NvJitLink {
    shared: Arc<Shared>,
}

struct Shared {
    table: NvJitLinkTable,
    version: (u32, u32),
}

impl NvJitLink {
    /// The system's nvJitLink, looked for as [`Nvrtc::load`](crate::program::Nvrtc::load) looks for NVRTC, or
    /// the one that the environment variable `WARPLOOM_NVJITLINK` names. A library once taken stays loaded
    /// until the process ends.
    ///
    /// # Errors
    ///
    /// [`LinkError::NotFound`] with everything that was tried and how to get it, [`LinkError::NotNvJitLink`]
    /// for a library that does not do, and nvJitLink's error.
    #[doc(alias = "libnvJitLink")]
    pub fn load() -> Result<NvJitLink> {
        Ok(NvJitLink::new(dynamic_library::system()?)?)
    }

    /// nvJitLink in the library `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Errors
    ///
    /// As [`NvJitLink::load`].
    ///
    /// # Safety
    ///
    /// If `path` is a library, loading it does no harm, and if it has the functions of nvJitLink, they are
    /// those.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<NvJitLink> {
        // SAFETY: the caller vouches for the library.
        Ok(NvJitLink::new(unsafe { dynamic_library::library(path.as_ref()) }?)?)
    }

    /// An nvJitLink of the caller's own: a stand-in for tests, or a library that was linked.
    ///
    /// # Errors
    ///
    /// The errors of its functions.
    ///
    /// # Safety
    ///
    /// The functions behave as those of nvJitLink, from any thread, until the process ends.
    pub unsafe fn from_table(table: NvJitLinkTable) -> Result<NvJitLink> {
        Ok(NvJitLink::new(table)?)
    }

    fn new(table: NvJitLinkTable) -> Result<NvJitLink, LinkError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are writable.
        let code = LinkCode(unsafe { (table.nvJitLinkVersion)(&raw mut major, &raw mut minor) });
        if code != LinkCode::SUCCESS {
            return Err(LinkError::Call { function: "nvJitLinkVersion", code, log: String::new() });
        }
        Ok(NvJitLink { shared: Arc::new(Shared { table, version: (major, minor) }) })
    }

    /// The version: 13 and 4 for 13.4. It may not know LTO-IR of a newer NVRTC.
    #[doc(alias = "nvJitLinkVersion")]
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.shared.version
    }

    pub(super) fn table(&self) -> &NvJitLinkTable {
        &self.shared.table
    }
}

impl LibraryTable for NvJitLinkTable {
    type Error = LinkError;

    const VARIABLE: &'static str = NVJITLINK_VARIABLE;
    const NAMES: &'static [&'static str] = &["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"];
    const WHEELS: &'static [&'static str] = &["cu13/lib", "nvjitlink/lib"];

    unsafe fn table(library: &DynamicLibrary, path: &Path) -> Result<NvJitLinkTable, LinkError> {
        // SAFETY: the caller vouches for the signatures.
        unsafe { NvJitLinkTable::of(library) }
            .map_err(|missing| LinkError::NotNvJitLink { path: path.to_owned(), missing })
    }
}

impl LoadError for LinkError {
    fn not_found(tried: Vec<Attempt>) -> LinkError {
        LinkError::NotFound { tried }
    }

    fn into_attempts(self) -> Result<Vec<Attempt>, LinkError> {
        if let LinkError::NotFound { tried } = self { Ok(tried) } else { Err(self) }
    }
}

impl fmt::Debug for NvJitLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version();
        let version = format_args!("{major}.{minor}");
        formatter.debug_struct("NvJitLink").field("version", &version).finish_non_exhaustive()
    }
}
