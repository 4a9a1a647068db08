//! Loading compiled code as a library.
#![expect(unsafe_code, reason = "loads binaries, for which the caller vouches")]

use super::{CodeKind, NvrtcError, ObjectCode};
use crate::{Driver, JitOptions, Library, Result};

impl ObjectCode {
    /// Loads it, if it is PTX. The library knows the lowered names: [`Library::kernel`] takes the name
    /// expression.
    ///
    /// ```
    /// use warploom::Driver;
    /// use warploom::program::{CodeKind, ObjectCode};
    ///
    /// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let names = [("scale<float>".to_owned(), "scale".to_owned())]; // as a compiler tells them
    /// let code = ObjectCode::new(CodeKind::Ptx, "scale.cu", SCALE).with_lowered_names(names);
    /// assert_eq!(code.load(&driver)?.kernel("scale<float>")?.name(), "scale");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NvrtcError::NotLoadable`] for code that is not PTX, and as [`Library::from_ptx`].
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
        if self.kind() != CodeKind::Ptx {
            return Err(self.not_loadable());
        }
        Ok(Library::from_text(driver, self.bytes(), options)?.named(self.names()))
    }

    /// Loads it, if it is PTX, a cubin or a fatbin, as [`ObjectCode::load_with`].
    ///
    /// # Errors
    ///
    /// [`NvrtcError::NotLoadable`] for code that must be linked first, and as [`Library::from_bytes`].
    ///
    /// # Safety
    ///
    /// A binary is one that NVIDIA's tools made, as those are that a [`Program`](super::Program) is compiled
    /// to; the driver does not check it. Trust code from a cache as far as the cache.
    pub unsafe fn load_binary(&self, driver: &Driver, options: JitOptions) -> Result<Library> {
        let library = match self.kind() {
            CodeKind::Ptx => Library::from_text(driver, self.bytes(), options),
            // SAFETY: the caller vouches for it.
            CodeKind::Cubin | CodeKind::Fatbin => unsafe { Library::from_bytes_with(driver, self.bytes(), options) },
            CodeKind::LtoIr | CodeKind::Object | CodeKind::Library => return Err(self.not_loadable()),
        };
        Ok(library?.named(self.names()))
    }

    fn not_loadable(&self) -> crate::Error {
        NvrtcError::NotLoadable { name: self.name().to_owned(), kind: self.kind() }.into()
    }
}
