//! Options for precompiled headers, for NVRTC 12.8 or newer.
#![expect(unsafe_code, reason = "NVRTC reads precompiled headers without checks")]

use std::fmt;
use std::path::PathBuf;

use super::CompileOptions;

/// The outcome of creating a precompiled header; see
/// [`Compiled::precompiled_header`](crate::program::Compiled).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrecompiledHeader {
    /// It was made.
    Created,
    /// None was to be made, or the compiler saw no use in it.
    NotAttempted,
    /// It could not be made. The program compiled all the same.
    Failed,
}

impl fmt::Display for PrecompiledHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            PrecompiledHeader::Created => "created",
            PrecompiledHeader::NotAttempted => "not attempted",
            PrecompiledHeader::Failed => "failed",
        })
    }
}

/// The prefixes of options for precompiled headers.
const STARTS: &[&str] = &["--pch", "-pch", "--create-pch", "-create-pch", "--use-pch", "-use-pch"];

/// The options by which NVRTC reads precompiled headers.
const READERS: &[&str] = &["--pch", "-pch", "--use-pch", "-use-pch"];

/// `true` if NVRTC reads precompiled headers because of an option.
pub(in crate::program) fn reads_precompiled(option: &str) -> bool {
    let word = option.trim_start().split(|letter: char| letter == '=' || letter.is_whitespace()).next();
    word.is_some_and(|word| READERS.contains(&word))
}

/// `true` if an option has to do with precompiled headers.
pub(in crate::program) fn is_precompiling(option: &[u8]) -> bool {
    STARTS.iter().any(|start| option.starts_with(start.as_bytes()))
}

/// Precompiled headers: the includes at the start of a source are compiled once, and read from a file from
/// then on. Where it ends the source can say, by `#pragma nv_hdrstop`. The compiler refuses a file that was
/// made with other options.
///
/// Only one program at a time is compiled with any of these options, since NVRTC has one place in memory for
/// them.
///
/// A precompiled header is an image of that memory. NVRTC checks its address and options, and not its
/// content: with changed bytes, NVRTC crashes. So the options that read one are `unsafe`, and
/// [`raw`](CompileOptions::raw) does not take them.
impl CompileOptions {
    /// Precompiled headers are made and used as the compiler sees fit.
    ///
    /// # Safety
    ///
    /// Files in the [folder of precompiled headers](CompileOptions::precompiled_folder), which is the current
    /// one if none is named, are NVRTC's own, unchanged.
    #[doc(alias = "--pch")]
    pub unsafe fn precompiled_headers(self) -> CompileOptions {
        self.switch("--pch", "--pch")
    }

    /// Makes a precompiled header. If there is too little room for that, it is made larger, and the program
    /// compiled again.
    #[doc(alias = "--create-pch")]
    pub fn create_precompiled_header(self, file: impl Into<PathBuf>) -> CompileOptions {
        self.value("--create-pch=", file.into())
    }

    /// Uses a precompiled header.
    ///
    /// # Safety
    ///
    /// NVRTC has made the file by [`create_precompiled_header`](CompileOptions::create_precompiled_header),
    /// and nothing has changed it.
    #[doc(alias = "--use-pch")]
    pub unsafe fn use_precompiled_header(self, file: impl Into<PathBuf>) -> CompileOptions {
        self.value("--use-pch=", file.into())
    }

    /// The folder of precompiled headers.
    #[doc(alias = "--pch-dir")]
    pub fn precompiled_folder(self, folder: impl Into<PathBuf>) -> CompileOptions {
        self.value("--pch-dir=", folder.into())
    }

    /// `true` if the log says why precompiled headers could not be used, as it does by default.
    #[doc(alias = "--pch-verbose")]
    pub fn precompiled_reasons(self, on: bool) -> CompileOptions {
        self.switch("--pch-verbose", if on { "--pch-verbose=true" } else { "--pch-verbose=false" })
    }

    /// `true` if the log says which precompiled headers were made or used, as it does by default.
    #[doc(alias = "--pch-messages")]
    pub fn precompiled_messages(self, on: bool) -> CompileOptions {
        self.switch("--pch-messages", if on { "--pch-messages=true" } else { "--pch-messages=false" })
    }

    /// `true` if templates are instantiated before a precompiled header is written, as they are by default: a
    /// larger file, for less to do later.
    #[doc(alias = "--instantiate-templates-in-pch")]
    pub fn precompiled_templates(self, on: bool) -> CompileOptions {
        let switch = if on { "--instantiate-templates-in-pch=true" } else { "--instantiate-templates-in-pch=false" };
        self.switch("--instantiate-templates-in-pch", switch)
    }
}

/// The options that read precompiled headers, for tests in which nothing is compiled.
#[cfg(test)]
pub(in crate::program) trait ReadPrecompiled {
    fn reading_any(self) -> CompileOptions;
    fn reading(self, file: &str) -> CompileOptions;
}

#[cfg(test)]
impl ReadPrecompiled for CompileOptions {
    fn reading_any(self) -> CompileOptions {
        // SAFETY: NVRTC is not called.
        unsafe { self.precompiled_headers() }
    }

    fn reading(self, file: &str) -> CompileOptions {
        // SAFETY: NVRTC is not called.
        unsafe { self.use_precompiled_header(file) }
    }
}
