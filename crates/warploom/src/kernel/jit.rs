//! Options and logs of the driver's PTX compiler.
#![expect(unsafe_code, reason = "lends memory to the driver's compiler")]

use std::ffi::c_void;
use std::ptr::{NonNull, without_provenance_mut};

use warploom_driver::sys::types::CUjit_option;

use crate::{LibraryError, Result};

/// Options of the driver's PTX compiler. Unset options are the driver's choice; binaries are not compiled.
///
/// ```
/// use warploom::JitOptions;
///
/// let for_debuggers = JitOptions::new().optimization_level(0).line_info();
/// assert_ne!(for_debuggers, JitOptions::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct JitOptions {
    max_registers: Option<u32>,
    optimization_level: Option<u32>,
    has_debug_info: bool,
    has_line_info: bool,
    is_verbose: bool,
}

impl JitOptions {
    /// Everything as the driver chooses.
    pub fn new() -> JitOptions {
        JitOptions::default()
    }

    /// The most registers that a thread may have, from 1 to 255.
    #[doc(alias = "CU_JIT_MAX_REGISTERS")]
    pub fn max_registers(self, count: u32) -> JitOptions {
        JitOptions { max_registers: Some(count), ..self }
    }

    /// The optimization level, from 0 to 4.
    #[doc(alias = "CU_JIT_OPTIMIZATION_LEVEL")]
    pub fn optimization_level(self, level: u32) -> JitOptions {
        JitOptions { optimization_level: Some(level), ..self }
    }

    /// With debug information.
    #[doc(alias = "CU_JIT_GENERATE_DEBUG_INFO")]
    pub fn debug_info(self) -> JitOptions {
        JitOptions { has_debug_info: true, ..self }
    }

    /// With the lines of the source, for profilers.
    #[doc(alias = "CU_JIT_GENERATE_LINE_INFO")]
    pub fn line_info(self) -> JitOptions {
        JitOptions { has_line_info: true, ..self }
    }

    /// With more in the log: registers and memory that each kernel takes.
    #[doc(alias = "CU_JIT_LOG_VERBOSE")]
    pub fn verbose(self) -> JitOptions {
        JitOptions { is_verbose: true, ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(level) = self.optimization_level.filter(|level| *level > 4) {
            return Err(LibraryError::OptimizationLevel { level }.into());
        }
        if let Some(count) = self.max_registers.filter(|count| !(1..=255).contains(count)) {
            return Err(LibraryError::MaxRegisters { count }.into());
        }
        Ok(())
    }
}

/// The size of a library's log buffer, which lives as long as the library.
pub(super) const ROOM: u32 = 16 << 10;

/// A log that the driver writes, also later: a driver may compile when code is first used in a context.
pub(super) struct Log(NonNull<[u8]>);

// SAFETY: the memory is the log's own, and what reads it does so byte by byte, however it changes meanwhile.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    fn new(room: u32) -> Log {
        Log(NonNull::from(Box::leak(vec![0; room as usize].into_boxed_slice())))
    }

    /// The contents so far.
    fn text(&self) -> String {
        let start = self.0.as_ptr().cast::<u8>();
        // SAFETY: there are that many bytes, and they stay while `self` is borrowed.
        let bytes = (0..self.0.len()).map(|at| unsafe { start.add(at).read_volatile() });
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The logs of the driver's compiler: errors and information.
pub(crate) struct Logs {
    errors: Log,
    remarks: Log,
}

impl Logs {
    /// Each with room for so many bytes; the driver truncates longer logs.
    pub(crate) fn new(room: u32) -> Logs {
        Logs { errors: Log::new(room), remarks: Log::new(room) }
    }

    /// Both, one after the other.
    pub(crate) fn text(&self) -> String {
        let texts = [self.errors.text(), self.remarks.text()];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Options as the driver takes them: names, and values that are numbers or addresses.
pub(crate) struct RawOptions {
    pub(crate) names: Vec<CUjit_option>,
    pub(crate) values: Vec<*mut c_void>,
}

impl RawOptions {
    pub(crate) fn new(options: &JitOptions, logs: &Logs) -> RawOptions {
        let number = |value: u32| without_provenance_mut::<c_void>(value as usize);
        let flag = |is_set: bool| is_set.then(|| number(1));
        let room = |log: &Log| Some(without_provenance_mut(log.0.len()));
        let given = [
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, Some(logs.errors.0.as_ptr().cast())),
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, room(&logs.errors)),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER, Some(logs.remarks.0.as_ptr().cast())),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, room(&logs.remarks)),
            (CUjit_option::CU_JIT_LOG_VERBOSE, flag(options.is_verbose)),
            (CUjit_option::CU_JIT_MAX_REGISTERS, options.max_registers.map(number)),
            (CUjit_option::CU_JIT_OPTIMIZATION_LEVEL, options.optimization_level.map(number)),
            (CUjit_option::CU_JIT_GENERATE_DEBUG_INFO, flag(options.has_debug_info)),
            (CUjit_option::CU_JIT_GENERATE_LINE_INFO, flag(options.has_line_info)),
        ];
        let (names, values) = given.into_iter().filter_map(|(name, value)| Some((name, value?))).unzip();
        RawOptions { names, values }
    }
}
