//! Options for diagnostics and timing of the compiler.

use std::path::PathBuf;

use super::CompileOptions;

/// The severity of a numbered message of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// It is not given.
    Suppress,
    /// It is a warning.
    Warning,
    /// It ends the compilation.
    Error,
}

impl CompileOptions {
    /// No warnings.
    #[doc(alias = "--disable-warnings")]
    pub fn no_warnings(self) -> CompileOptions {
        self.switch("--disable-warnings", "--disable-warnings")
    }

    /// Sets the severity of a message of the compiler, by its number: 177 of `warning #177-D`.
    #[doc(alias("--diag-suppress", "--diag-warn", "--diag-error"))]
    pub fn diagnostic(mut self, number: u32, severity: Severity) -> CompileOptions {
        self.severities.retain(|(_, other)| *other != number);
        self.severities.push((severity, number));
        self
    }

    /// Messages of one line, without the source that they are about.
    #[doc(alias = "--brief-diagnostics")]
    pub fn brief_diagnostics(self) -> CompileOptions {
        self.switch("--brief-diagnostics", "--brief-diagnostics=true")
    }

    /// The log says which functions were inlined.
    #[doc(alias = "--optimization-info")]
    pub fn inlining_info(self) -> CompileOptions {
        self.switch("--optimization-info", "--optimization-info=inline")
    }

    /// Warnings without their numbers, which [`diagnostic`](CompileOptions::diagnostic) takes.
    #[doc(alias = "--no-display-error-number")]
    pub fn no_message_numbers(self) -> CompileOptions {
        self.switch("--no-display-error-number", "--no-display-error-number")
    }

    /// Appends the time of each phase to a file, as comma-separated values.
    #[doc(alias = "--time")]
    pub fn time(self, file: impl Into<PathBuf>) -> CompileOptions {
        self.value("--time=", file.into())
    }

    /// Adds the time of each phase to the log. A cache keeps it with the code.
    pub fn time_in_log(self) -> CompileOptions {
        self.value("--time=", "-")
    }

    /// Timings of the compiler's phases are written to a file, as JSON for `chrome://tracing`; needs an NVRTC
    /// that knows it.
    #[doc(alias = "--fdevice-time-trace")]
    pub fn time_trace(self, file: impl Into<PathBuf>) -> CompileOptions {
        self.value("--fdevice-time-trace=", file.into())
    }
}
