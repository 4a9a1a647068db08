//! A link object of nvJitLink, destroyed on drop.
#![expect(unsafe_code, reason = "calls nvJitLink with pointers")]

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use super::raw::{nvJitLinkHandle, nvJitLinkInputType, nvJitLinkResult};
use super::{LinkCode, LinkError, NvJitLink};
use crate::diagnostics::{self, Subject};
use crate::kernel::HEADER;
use crate::program::output::{text, until_zero};
use crate::program::{CodeKind, ObjectCode};

/// A link of nvJitLink's. Only this file has its handle, which is alive as long as this is.
pub(super) struct Handle<'n> {
    library: &'n NvJitLink,
    raw: nvJitLinkHandle,
}

type Size = unsafe extern "C" fn(nvJitLinkHandle, *mut usize) -> nvJitLinkResult;

impl<'n> Handle<'n> {
    pub(super) fn new(library: &'n NvJitLink, options: &[CString]) -> Result<Handle<'n>, LinkError> {
        let mut options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let count = u32::try_from(options.len()).unwrap_or(u32::MAX);
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, and at least `count` texts with an end live until the call returns.
        let code = unsafe { (library.table().nvJitLinkCreate)(&raw mut raw, count, options.as_mut_ptr()) };
        let handle = Handle { library, raw };
        handle.answer("nvJitLinkCreate", code).map(|()| handle)
    }

    pub(super) fn add(&self, code: &ObjectCode, name: &CStr) -> Result<(), LinkError> {
        let add = self.library.table().nvJitLinkAddData;
        // PTX is counted with its end. To see what it has, nvJitLink looks at the start, even of what is
        // shorter than that.
        let size = code.bytes().len() + usize::from(code.kind() == CodeKind::Ptx);
        let bytes = [code.bytes(), &[0; HEADER]].concat();
        // SAFETY: the link is alive, and the bytes and the text until the call returns, which copies what it
        // needs. The bytes are PTX, or a binary that NVIDIA's tools made, as all `ObjectCode`.
        let code = unsafe { add(self.raw, number(code.kind()), bytes.as_ptr().cast(), size, name.as_ptr()) };
        self.answer("nvJitLinkAddData", code)
    }

    pub(super) fn complete(&self) -> Result<(), LinkError> {
        // SAFETY: the link is alive.
        self.answer("nvJitLinkComplete", unsafe { (self.library.table().nvJitLinkComplete)(self.raw) })
    }

    pub(super) fn cubin(&self) -> Result<Vec<u8>, LinkError> {
        let table = self.library.table();
        let mut bytes = self.room("nvJitLinkGetLinkedCubinSize", table.nvJitLinkGetLinkedCubinSize)?;
        // SAFETY: the link is alive, and there is room for as many bytes as it has.
        let code = unsafe { (table.nvJitLinkGetLinkedCubin)(self.raw, bytes.as_mut_ptr().cast()) };
        self.answer("nvJitLinkGetLinkedCubin", code)?;
        Ok(bytes)
    }

    pub(super) fn ptx(&self) -> Result<Vec<u8>, LinkError> {
        let table = self.library.table();
        let mut bytes = self.room("nvJitLinkGetLinkedPtxSize", table.nvJitLinkGetLinkedPtxSize)?;
        // SAFETY: the link is alive, and there is room for as many bytes as it has.
        let code = unsafe { (table.nvJitLinkGetLinkedPtx)(self.raw, bytes.as_mut_ptr().cast()) };
        self.answer("nvJitLinkGetLinkedPtx", code)?;
        bytes.truncate(until_zero(&bytes).len());
        Ok(bytes)
    }

    /// The information log.
    pub(super) fn log(&self) -> Result<String, LinkError> {
        let table = self.library.table();
        let mut bytes = self.room("nvJitLinkGetInfoLogSize", table.nvJitLinkGetInfoLogSize)?;
        if !bytes.is_empty() {
            // SAFETY: the link is alive, and there is room for as many bytes as it has.
            let code = unsafe { (table.nvJitLinkGetInfoLog)(self.raw, bytes.as_mut_ptr().cast()) };
            self.answer("nvJitLinkGetInfoLog", code)?;
        }
        Ok(text(&bytes))
    }

    fn room(&self, function: &'static str, size: Size) -> Result<Vec<u8>, LinkError> {
        let mut len = 0;
        // SAFETY: the link is alive, and `len` is writable.
        self.answer(function, unsafe { size(self.raw, &raw mut len) })?;
        Ok(vec![0; len])
    }

    /// The status of a call as a result, with nvJitLink's error log.
    fn answer(&self, function: &'static str, code: nvJitLinkResult) -> Result<(), LinkError> {
        match LinkCode(code) {
            LinkCode::SUCCESS => Ok(()),
            code => Err(LinkError::Call { function, code, log: self.errors() }),
        }
    }

    fn errors(&self) -> String {
        let (table, mut len) = (self.library.table(), 0);
        // SAFETY: the link is alive, unless it is null, and `len` is writable.
        if self.raw.is_null() || unsafe { (table.nvJitLinkGetErrorLogSize)(self.raw, &raw mut len) } != 0 || len == 0 {
            return String::new();
        }
        let mut bytes = vec![0; len];
        // SAFETY: the link is alive, and there is room for as many bytes as it has.
        let code = unsafe { (table.nvJitLinkGetErrorLog)(self.raw, bytes.as_mut_ptr().cast()) };
        if LinkCode(code) == LinkCode::SUCCESS { text(&bytes) } else { String::new() }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        // SAFETY: the link is alive, and this is the end of it.
        let code = LinkCode(unsafe { (self.library.table().nvJitLinkDestroy)(&raw mut self.raw) });
        if code != LinkCode::SUCCESS {
            let error = LinkError::Call { function: "nvJitLinkDestroy", code, log: String::new() };
            diagnostics::report(|| Subject::Link, Err(error));
        }
    }
}

/// The number that nvJitLink has for a kind of code.
fn number(kind: CodeKind) -> nvJitLinkInputType {
    match kind {
        CodeKind::Cubin => 1,
        CodeKind::Ptx => 2,
        CodeKind::LtoIr => 3,
        CodeKind::Fatbin => 4,
        CodeKind::Object => 5,
        CodeKind::Library => 6,
    }
}
