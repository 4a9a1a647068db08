//! A program object of NVRTC, destroyed on drop.
#![expect(unsafe_code, reason = "calls NVRTC with pointers")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{null, null_mut};

use super::nvrtc::answer;
use super::raw::{nvrtcProgram, nvrtcResult};
use super::{Nvrtc, NvrtcCode, NvrtcError, Target, output};
use crate::diagnostics::{self, Subject};

/// A program of NVRTC's. Its handle is alive as long as this is.
pub(super) struct Handle<'n> {
    nvrtc: &'n Nvrtc,
    raw: nvrtcProgram,
}

type Size = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult;
type Fill = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult;

impl<'n> Handle<'n> {
    /// A program of these texts, which NVRTC copies.
    pub(super) fn new(
        nvrtc: &'n Nvrtc,
        source: &CStr,
        name: &CStr,
        headers: &[(CString, CString)],
    ) -> Result<Handle<'n>, NvrtcError> {
        let count = count("headers", headers.len())?;
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, and the texts end with a zero and live until the call returns; there are
        // `count` of each.
        let code = unsafe {
            let create = nvrtc.table().nvrtcCreateProgram;
            create(&raw mut raw, source.as_ptr(), name.as_ptr(), count, texts.as_ptr(), names.as_ptr())
        };
        answer("nvrtcCreateProgram", code)?;
        Ok(Handle { nvrtc, raw })
    }

    /// Its handle, which is alive as long as this is.
    pub(super) fn raw(&self) -> (&'n Nvrtc, nvrtcProgram) {
        (self.nvrtc, self.raw)
    }

    /// Asks for a lowered name, before the program is compiled.
    pub(super) fn add_name(&self, expression: &CStr) -> Result<(), NvrtcError> {
        // SAFETY: the program is alive, and the text until the call returns.
        let code = unsafe { (self.nvrtc.table().nvrtcAddNameExpression)(self.raw, expression.as_ptr()) };
        answer("nvrtcAddNameExpression", code).map_err(|error| about(error, expression))
    }

    /// Compiles; returns the status and the log.
    pub(super) fn compile(&self, options: &[CString]) -> Result<(NvrtcCode, String), NvrtcError> {
        let count = count("options", options.len())?;
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is alive, and the `count` texts until the call returns.
        let code = unsafe { (self.nvrtc.table().nvrtcCompileProgram)(self.raw, count, options.as_ptr()) };
        Ok((NvrtcCode(code), self.log()?))
    }

    fn log(&self) -> Result<String, NvrtcError> {
        let table = self.nvrtc.table();
        let size = ("nvrtcGetProgramLogSize", table.nvrtcGetProgramLogSize);
        let bytes = self.bytes(size, ("nvrtcGetProgramLog", table.nvrtcGetProgramLog))?;
        Ok(output::text(&bytes))
    }

    /// The compiled code for a target; empty if there is none.
    pub(super) fn output(&self, target: Target) -> Result<Vec<u8>, NvrtcError> {
        let table = self.nvrtc.table();
        match target {
            Target::Ptx => {
                let size = ("nvrtcGetPTXSize", table.nvrtcGetPTXSize);
                let mut bytes = self.bytes(size, ("nvrtcGetPTX", table.nvrtcGetPTX))?;
                bytes.truncate(output::until_zero(&bytes).len());
                Ok(bytes)
            }
            Target::Cubin => {
                let size = ("nvrtcGetCUBINSize", table.nvrtcGetCUBINSize);
                self.bytes(size, ("nvrtcGetCUBIN", table.nvrtcGetCUBIN))
            }
            Target::LtoIr => {
                let size = ("nvrtcGetLTOIRSize", table.nvrtcGetLTOIRSize);
                self.bytes(size, ("nvrtcGetLTOIR", table.nvrtcGetLTOIR))
            }
        }
    }

    /// The lowered name.
    pub(super) fn lowered(&self, expression: &CStr) -> Result<String, NvrtcError> {
        let mut name = null();
        // SAFETY: the program is alive, `name` is writable, and the text lives until the call returns.
        let code = unsafe { (self.nvrtc.table().nvrtcGetLoweredName)(self.raw, expression.as_ptr(), &raw mut name) };
        answer("nvrtcGetLoweredName", code).map_err(|error| about(error, expression))?;
        // SAFETY: after a success it is a text with an end, which stays as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// An output of the program, by the two calls that have its size and its bytes.
    fn bytes(&self, size: (&'static str, Size), fill: (&'static str, Fill)) -> Result<Vec<u8>, NvrtcError> {
        let code = NvrtcCode::OUT_OF_MEMORY;
        // SAFETY: the program is alive, and the two calls are for the same output.
        unsafe {
            output::read(self.raw, size, fill, answer, |function, detail| NvrtcError::Call { function, code, detail })
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and this is the end of it.
        let code = unsafe { (self.nvrtc.table().nvrtcDestroyProgram)(&raw mut self.raw) };
        diagnostics::report(|| Subject::Program, answer("nvrtcDestroyProgram", code));
    }
}

fn about(error: NvrtcError, expression: &CStr) -> NvrtcError {
    match error {
        NvrtcError::Call { function, code, .. } => {
            NvrtcError::Call { function, code, detail: format!("the name expression {expression:?}") }
        }
        error => error,
    }
}

fn count(what: &'static str, count: usize) -> Result<c_int, NvrtcError> {
    c_int::try_from(count).map_err(|_| NvrtcError::TooMany { what, count })
}
