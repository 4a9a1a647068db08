//! Loading compiled code as a library.
#![expect(unsafe_code, reason = "loads binaries that NVIDIA's tools made")]

use super::{CodeKind, NvrtcError, ObjectCode};
use crate::{Driver, JitOptions, Library, Result};

impl ObjectCode {
    /// Loads PTX, a cubin or a fatbin. The library knows the lowered names: [`Library::kernel`] takes the
    /// name expression.
    ///
    /// ```
    /// use warploom::Driver;
    /// use warploom::program::ObjectCode;
    ///
    /// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let names = [("scale<float>".to_owned(), "scale".to_owned())]; // as a compiler tells them
    /// let code = ObjectCode::from_ptx("scale.cu", SCALE)?.with_lowered_names(names);
    /// assert_eq!(code.load(&driver)?.kernel("scale<float>")?.name(), "scale");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NvrtcError::NotLoadable`] for code that must be linked first, and as [`Library::from_bytes`].
    pub fn load(&self, driver: &Driver) -> Result<Library> {
        self.load_with(driver, JitOptions::new())
    }

    /// As [`ObjectCode::load`], compiled by the driver in a way of your own.
    ///
    /// # Errors
    ///
    /// As [`ObjectCode::load`], and
    /// [`LibraryError::OptimizationLevel`](crate::LibraryError::OptimizationLevel).
    pub fn load_with(&self, driver: &Driver, options: JitOptions) -> Result<Library> {
        let library = match self.kind() {
            CodeKind::Ptx => Library::from_text(driver, self.bytes(), options),
            // SAFETY: code of this type is the output of NVIDIA's tools, unchanged: compilers and linkers
            // make it, or the caller of `UntrustedCode::trust` or `CacheEntry::from_bytes` has promised it.
            CodeKind::Cubin | CodeKind::Fatbin => unsafe { Library::from_bytes_with(driver, self.bytes(), options) },
            CodeKind::LtoIr | CodeKind::Object | CodeKind::Library => {
                return Err(NvrtcError::NotLoadable { name: self.name().to_owned(), kind: self.kind() }.into());
            }
        };
        Ok(library?.named(self.names()))
    }
}
