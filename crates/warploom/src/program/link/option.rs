//! How code is linked, as each of the linkers is told.

use super::LinkError;
use crate::JitOptions;

/// One thing that is asked of a linker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum LinkOption {
    LineInfo,
    Debug,
    MaxRegisters(u32),
    KeepKernel(String),
    KeepVariable(String),
    Raw(String),
}

impl LinkOption {
    /// What nvJitLink calls it.
    pub(super) fn word(&self) -> String {
        match self {
            LinkOption::LineInfo => "-lineinfo".to_owned(),
            LinkOption::Debug => "-g".to_owned(),
            LinkOption::MaxRegisters(registers) => format!("-maxrregcount={registers}"),
            LinkOption::KeepKernel(name) => format!("-kernels-used={name}"),
            LinkOption::KeepVariable(name) => format!("-variables-used={name}"),
            LinkOption::Raw(option) => option.clone(),
        }
    }

    /// Adds it to what a driver is told, if a driver can be told so.
    fn add(&self, options: JitOptions) -> Result<JitOptions, LinkError> {
        match self {
            LinkOption::LineInfo => Ok(options.line_info()),
            // Drivers have no debug information for code that is optimized.
            LinkOption::Debug => Ok(options.debug_info().optimization_level(0)),
            LinkOption::MaxRegisters(registers) => Ok(options.max_registers(*registers)),
            LinkOption::KeepKernel(_) | LinkOption::KeepVariable(_) | LinkOption::Raw(_) => {
                Err(LinkError::UnsupportedOption { option: self.word() })
            }
        }
    }

    /// All of them, as a driver is told.
    pub(super) fn jit(options: &[LinkOption]) -> Result<JitOptions, LinkError> {
        options.iter().try_fold(JitOptions::new().verbose(), |all, option| option.add(all))
    }
}
