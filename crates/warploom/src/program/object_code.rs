//! Compiled code: PTX, cubins, fatbins, LTO IR, objects and libraries.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::Result;
use crate::kernel::check_text;

/// Kinds of code.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CodeKind {
    /// PTX, a text, which the driver compiles.
    Ptx,
    /// Code for one architecture.
    Cubin,
    /// Code to be linked with more of its kind, and compiled then.
    LtoIr,
    /// Several of these in one.
    Fatbin,
    /// An object file of a host compiler, with device code in it.
    Object,
    /// Several objects in one.
    Library,
}

impl fmt::Display for CodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CodeKind::Ptx => "PTX",
            CodeKind::Cubin => "cubin",
            CodeKind::LtoIr => "LTO-IR",
            CodeKind::Fatbin => "fatbin",
            CodeKind::Object => "object",
            CodeKind::Library => "library",
        })
    }
}

/// Code with its kind, name and lowered names. A clone shares the bytes.
///
/// It is PTX, or it was made by NVIDIA's compilers and linkers: a driver, nvJitLink and libNVVM follow the
/// offsets in a binary without checking them, and bytes that were changed crash them. So
/// [`Program::compile`], [`NvvmProgram::compile`] and [`Linker::link`] make such values, a
/// [cache](super::ProgramCache) keeps them, and bytes of other origin are [`UntrustedCode`], which becomes
/// this type by an `unsafe` promise. With the feature `serde`, this type is serialised, and `UntrustedCode`
/// is deserialised.
///
/// [`Program::compile`]: super::Program::compile
/// [`NvvmProgram::compile`]: super::NvvmProgram::compile
/// [`Linker::link`]: super::Linker::link
/// [`UntrustedCode`]: super::UntrustedCode
///
/// ```
/// use warploom::program::{CodeKind, ObjectCode};
///
/// # fn main() -> warploom::Result<()> {
/// let code = ObjectCode::from_ptx("empty", ".version 8.0\n.target sm_90\n.address_size 64\n")?;
/// assert_eq!((code.kind(), code.name()), (CodeKind::Ptx, "empty"));
/// assert!(code.text().is_some_and(|ptx| ptx.contains("sm_90")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ObjectCode {
    kind: CodeKind,
    name: Arc<str>,
    bytes: Arc<[u8]>,
    lowered: Arc<BTreeMap<String, String>>,
}

impl ObjectCode {
    /// PTX, a text that every driver checks when it compiles it; the name is for people. The text may end in
    /// zeros, as C has them; they are left out.
    ///
    /// # Errors
    ///
    /// [`LibraryError::NulInText`](crate::LibraryError::NulInText) for a zero before the end, and
    /// [`LibraryError::BinaryText`](crate::LibraryError::BinaryText) for a text that a driver would take for
    /// a cubin or a fatbin.
    pub fn from_ptx(name: &str, text: impl AsRef<str>) -> Result<ObjectCode> {
        let text = text.as_ref().trim_end_matches('\0');
        check_text(text.as_bytes())?;
        Ok(ObjectCode::made(CodeKind::Ptx, name, text))
    }

    /// PTX, or the output of a compiler or linker: the caller has called it just now, or holds a promise.
    pub(super) fn made(kind: CodeKind, name: &str, bytes: impl AsRef<[u8]>) -> ObjectCode {
        let mut bytes = bytes.as_ref();
        while let (CodeKind::Ptx, [text @ .., 0]) = (kind, bytes) {
            bytes = text;
        }
        ObjectCode { kind, name: name.into(), bytes: bytes.into(), lowered: Arc::default() }
    }

    /// The same with lowered names: pairs of a name expression and its name in the code.
    #[must_use]
    pub fn with_lowered_names(self, names: impl IntoIterator<Item = (String, String)>) -> ObjectCode {
        ObjectCode { lowered: Arc::new(names.into_iter().collect()), ..self }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> CodeKind {
        self.kind
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The code itself.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The code, if it is a text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if self.kind == CodeKind::Ptx { str::from_utf8(&self.bytes).ok() } else { None }
    }

    pub(super) fn names(&self) -> Arc<BTreeMap<String, String>> {
        Arc::clone(&self.lowered)
    }

    /// The lowered name of a name expression: `scale<float>` is `_Z5scaleIfEvPT_`.
    #[must_use]
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.lowered.get(expression).map(String::as_str)
    }

    /// All name expressions with their lowered names, sorted.
    pub fn lowered_names(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.lowered.iter().map(|(expression, name)| (expression.as_str(), name.as_str()))
    }
}

impl fmt::Debug for ObjectCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("ObjectCode");
        text.field("kind", &self.kind).field("name", &self.name).field("bytes", &self.bytes.len());
        text.field("lowered", &self.lowered).finish()
    }
}
