//! Code of unknown origin, before it is trusted.
#![expect(unsafe_code, reason = "code of unknown origin is trusted by a promise of the caller")]

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use super::{CodeKind, NvrtcError, ObjectCode};
use crate::{Error, LibraryError, Result};

/// Code of unknown origin: bytes of a caller, of a file, or of a message.
///
/// It can be looked at, stored and sent. PTX is loaded and linked after
/// [`into_ptx`](UntrustedCode::into_ptx); other kinds after [`trust`](UntrustedCode::trust), which is
/// `unsafe`.
///
/// ```
/// use warploom::program::{CodeKind, UntrustedCode};
///
/// # fn main() -> warploom::Result<()> {
/// let text = UntrustedCode::new(CodeKind::Ptx, "empty", ".version 8.0\n.target sm_90\n.address_size 64\n");
/// assert_eq!(text.into_ptx()?.name(), "empty");
/// let binary = UntrustedCode::new(CodeKind::Cubin, "scale", b"\x7fELF");
/// assert!(binary.into_ptx().unwrap_err().to_string().starts_with("scale is cubin of unknown origin"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UntrustedCode {
    kind: CodeKind,
    name: String,
    bytes: Vec<u8>,
    lowered_names: BTreeMap<String, String>,
}

impl UntrustedCode {
    /// Bytes that are said to be code of this kind; the name is for people.
    pub fn new(kind: CodeKind, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> UntrustedCode {
        UntrustedCode { kind, name: name.into(), bytes: bytes.into(), lowered_names: BTreeMap::new() }
    }

    /// A file that is said to be code of this kind. The code gets the name of the file.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Unreadable`] if there is no such file.
    pub fn read(kind: CodeKind, path: impl AsRef<Path>) -> Result<UntrustedCode> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            Error::Library(LibraryError::Unreadable { path: path.to_owned(), why: error.to_string().into_boxed_str() })
        })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Ok(UntrustedCode::new(kind, name, bytes))
    }

    /// The kind that it is said to be.
    #[must_use]
    pub fn kind(&self) -> CodeKind {
        self.kind
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// PTX, which drivers and linkers check themselves.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::Untrusted`] for another kind, [`NvrtcError::NotUtf8`], and as [`ObjectCode::from_ptx`].
    pub fn into_ptx(self) -> Result<ObjectCode> {
        if self.kind != CodeKind::Ptx {
            return Err(NvrtcError::Untrusted { name: self.name, kind: self.kind }.into());
        }
        let UntrustedCode { name, bytes, lowered_names, .. } = self;
        let text = String::from_utf8(bytes)
            .map_err(|error| NvrtcError::NotUtf8 { name: name.clone(), position: error.utf8_error().valid_up_to() })?;
        Ok(ObjectCode::from_ptx(&name, text)?.with_lowered_names(lowered_names))
    }

    /// The same code, trusted.
    ///
    /// ```
    /// use warploom::program::{CodeKind, UntrustedCode};
    ///
    /// # fn built() -> Vec<u8> { b"\x7fELF".to_vec() }
    /// let cubin = UntrustedCode::new(CodeKind::Cubin, "scale", built());
    /// // SAFETY: nvcc has made it in the build of this program, which includes it.
    /// let code = unsafe { cubin.trust() };
    /// assert_eq!(code.kind(), CodeKind::Cubin);
    /// ```
    ///
    /// # Safety
    ///
    /// The bytes are PTX, or the unchanged output of NVIDIA's compilers and linkers, of the kind that is
    /// said: drivers, nvJitLink and libNVVM do not check binaries.
    #[must_use]
    pub unsafe fn trust(self) -> ObjectCode {
        ObjectCode::made(self.kind, &self.name, self.bytes).with_lowered_names(self.lowered_names)
    }
}

impl From<&ObjectCode> for UntrustedCode {
    fn from(code: &ObjectCode) -> UntrustedCode {
        let names = code.lowered_names().map(|(expression, name)| (expression.to_owned(), name.to_owned()));
        let lowered_names = names.collect();
        UntrustedCode { lowered_names, ..UntrustedCode::new(code.kind(), code.name(), code.bytes()) }
    }
}

impl fmt::Debug for UntrustedCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("UntrustedCode");
        text.field("kind", &self.kind).field("name", &self.name).field("bytes", &self.bytes.len());
        text.field("lowered_names", &self.lowered_names).finish()
    }
}
