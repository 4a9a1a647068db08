//! A program object of libNVVM, destroyed on drop.
#![expect(unsafe_code, reason = "calls libNVVM with pointers")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;

use super::library::answer;
use super::raw::{nvvmProgram, nvvmResult};
use super::{Nvvm, NvvmCode, NvvmError};
use crate::diagnostics::{self, Subject};
use crate::program::output;

/// A program of libNVVM's. Only this file has its handle, which is alive as long as this is, and which one
/// thread has.
pub(super) struct Handle<'n> {
    nvvm: &'n Nvvm,
    raw: nvvmProgram,
}

type Size = unsafe extern "C" fn(nvvmProgram, *mut usize) -> nvvmResult;
type Fill = unsafe extern "C" fn(nvvmProgram, *mut c_char) -> nvvmResult;

impl<'n> Handle<'n> {
    pub(super) fn new(nvvm: &'n Nvvm) -> Result<Handle<'n>, NvvmError> {
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        answer("nvvmCreateProgram", unsafe { (nvvm.table().nvvmCreateProgram)(&raw mut raw) })?;
        Ok(Handle { nvvm, raw })
    }

    /// Adds a module, of which libNVVM makes a copy: IR of an [`NvvmProgram`](super::NvvmProgram), which its
    /// caller has vouched for, or of this crate.
    pub(super) fn add(&self, bytes: &[u8], name: &CStr, is_lazy: bool) -> Result<(), NvvmError> {
        let table = self.nvvm.table();
        let (function, add) = if is_lazy {
            ("nvvmLazyAddModuleToProgram", table.nvvmLazyAddModuleToProgram)
        } else {
            ("nvvmAddModuleToProgram", table.nvvmAddModuleToProgram)
        };
        // SAFETY: the program is alive, and the bytes and the text until the call returns. A compiler has
        // made the bytes: this crate, or the promise that `NvvmProgram::new` asks for.
        let code = unsafe { add(self.raw, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) };
        answer(function, code).map_err(|error| match error {
            NvvmError::Call { function, code, .. } => {
                NvvmError::Call { function, code, detail: format!("the module {name:?}") }
            }
            error => error,
        })
    }

    /// Verifies all modules.
    pub(super) fn verify(&self, options: &[CString]) -> NvvmCode {
        // SAFETY: the program is alive, and the texts, as many as are said, until the call returns.
        self.with(options, |count, options| unsafe { (self.nvvm.table().nvvmVerifyProgram)(self.raw, count, options) })
    }

    pub(super) fn compile(&self, options: &[CString]) -> NvvmCode {
        // SAFETY: the program is alive, and the texts, as many as are said, until the call returns.
        self.with(options, |count, options| unsafe { (self.nvvm.table().nvvmCompileProgram)(self.raw, count, options) })
    }

    fn with(&self, options: &[CString], call: impl FnOnce(c_int, *const *const c_char) -> nvvmResult) -> NvvmCode {
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        NvvmCode(call(c_int::try_from(options.len()).unwrap_or(c_int::MAX), options.as_ptr()))
    }

    pub(super) fn log(&self) -> Result<String, NvvmError> {
        let table = self.nvvm.table();
        let size = ("nvvmGetProgramLogSize", table.nvvmGetProgramLogSize);
        let bytes = self.bytes(size, ("nvvmGetProgramLog", table.nvvmGetProgramLog))?;
        Ok(output::text(&bytes))
    }

    /// The compiled code.
    pub(super) fn output(&self) -> Result<Vec<u8>, NvvmError> {
        let table = self.nvvm.table();
        let size = ("nvvmGetCompiledResultSize", table.nvvmGetCompiledResultSize);
        self.bytes(size, ("nvvmGetCompiledResult", table.nvvmGetCompiledResult))
    }

    /// An output of the program, by the two calls that have its size and its bytes.
    fn bytes(&self, size: (&'static str, Size), fill: (&'static str, Fill)) -> Result<Vec<u8>, NvvmError> {
        let code = NvvmCode::OUT_OF_MEMORY;
        // SAFETY: the program is alive, and the two calls are for the same output.
        unsafe {
            output::read(self.raw, size, fill, answer, |function, detail| NvvmError::Call { function, code, detail })
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and this is the end of it.
        let code = unsafe { (self.nvvm.table().nvvmDestroyProgram)(&raw mut self.raw) };
        diagnostics::report(|| Subject::Program, answer("nvvmDestroyProgram", code));
    }
}
