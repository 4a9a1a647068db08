//! Programs in NVVM IR.
#![expect(unsafe_code, reason = "IR is handed to libNVVM by a promise of the caller")]

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use super::arguments::c_string;
use super::handle::Handle;
use super::{Libdevice, Nvvm, NvvmCode, NvvmError};
use crate::Result;
use crate::program::{Cached, CompileOptions, Compiled, ObjectCode, Target};

/// A program in NVVM IR: modules, in order, and how they are compiled.
///
/// It is a value: nothing is compiled before [`compile`](NvvmProgram::compile), libNVVM keeps nothing after
/// it, and any number of threads may compile it at once.
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use]
pub struct NvvmProgram {
    pub(super) name: String,
    pub(super) options: CompileOptions,
    pub(super) modules: Vec<Module>,
}

/// IR with a name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) bytes: Arc<[u8]>,
    pub(super) is_lazy: bool,
}

/// The magic numbers of bitcode, bare and in a wrapper.
const BITCODE: [[u8; 4]; 2] = [*b"BC\xc0\xde", [0xde, 0xc0, 0x17, 0x0b]];

impl NvvmProgram {
    /// A program of this module, which is bitcode or a text. Its name is for people, and stands in messages.
    /// For libNVVM's options, see [`nvvm_arguments`](CompileOptions::nvvm_arguments).
    ///
    /// # Safety
    ///
    /// The IR is the output of a compiler for libNVVM, unchanged. libNVVM follows the offsets in bitcode
    /// without checking them, and asserts in its parser what a compiler never writes: other bytes may crash
    /// it.
    pub unsafe fn new(name: impl Into<String>, ir: impl AsRef<[u8]>, options: CompileOptions) -> NvvmProgram {
        let name = name.into();
        // SAFETY: the caller vouches for the IR.
        unsafe { NvvmProgram { name: name.clone(), options, modules: Vec::new() }.module(name, ir) }
    }

    /// The same with one more module, after those before, which is bitcode or a text.
    ///
    /// # Safety
    ///
    /// As [`NvvmProgram::new`].
    #[doc(alias = "nvvmAddModuleToProgram")]
    pub unsafe fn module(self, name: impl Into<String>, ir: impl AsRef<[u8]>) -> NvvmProgram {
        self.with(Module { name: name.into(), bytes: ir.as_ref().into(), is_lazy: false })
    }

    /// The same with as much of one more module as the others need, which is bitcode.
    ///
    /// # Safety
    ///
    /// As [`NvvmProgram::new`].
    #[doc(alias = "nvvmLazyAddModuleToProgram")]
    pub unsafe fn lazy_module(self, name: impl Into<String>, bitcode: impl AsRef<[u8]>) -> NvvmProgram {
        self.with(Module { name: name.into(), bytes: bitcode.as_ref().into(), is_lazy: true })
    }

    /// The same with as much of NVIDIA's functions of mathematics as the others need.
    pub fn libdevice(self, libdevice: &Libdevice) -> NvvmProgram {
        self.with(Module { name: "libdevice".to_owned(), bytes: Arc::clone(&libdevice.bytes), is_lazy: true })
    }

    fn with(mut self, module: Module) -> NvvmProgram {
        self.modules.push(module);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compile options.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// Verifies it, and compiles it to PTX or LTO-IR.
    ///
    /// A kernel that becomes LTO-IR has to be in `@llvm.used`, or else linkers leave it out as code that
    /// nothing refers to.
    ///
    /// # Errors
    ///
    /// [`NvvmError::Compilation`] and [`NvvmError::OptionRefused`] with the log, and libNVVM's other errors.
    /// Before libNVVM is called: the errors of [`CompileOptions::nvvm_arguments`],
    /// [`NvvmError::EmptyModule`], [`NvvmError::LazyText`], and [`NvvmError::Zero`].
    #[doc(alias("nvvmCompileProgram", "nvvmVerifyProgram"))]
    pub fn compile(&self, nvvm: &Nvvm, target: Target) -> Result<Compiled> {
        Ok(self.compile_with(nvvm, target, &self.options.nvvm_words(target)?)?)
    }

    pub(super) fn compile_with(&self, nvvm: &Nvvm, target: Target, options: &[CString]) -> Result<Compiled, NvvmError> {
        let names = self.modules.iter().map(Module::check).collect::<Result<Vec<_>, _>>()?;
        let handle = Handle::new(nvvm)?;
        for (module, name) in self.modules.iter().zip(&names) {
            handle.add(&module.bytes, name, module.is_lazy)?;
        }
        self.judge("nvvmVerifyProgram", handle.verify(options), &handle, options)?;
        self.judge("nvvmCompileProgram", handle.compile(options), &handle, options)?;
        let log = handle.log()?;
        let code = ObjectCode::made(target.kind(), &self.name, handle.output()?);
        if code.bytes().is_empty() {
            return Err(NvvmError::NoOutput { program: self.name.clone(), target });
        }
        Ok(Compiled { code, log, cached: Cached::No, precompiled_header: None })
    }

    /// The error for a status of libNVVM.
    fn judge(
        &self,
        function: &'static str,
        code: NvvmCode,
        handle: &Handle<'_>,
        options: &[CString],
    ) -> Result<(), NvvmError> {
        let program = self.name.clone();
        Err(match code {
            NvvmCode::SUCCESS => return Ok(()),
            NvvmCode::IR_VERSION_MISMATCH | NvvmCode::INVALID_IR | NvvmCode::COMPILATION => {
                NvvmError::Compilation { program, code, log: handle.log()? }
            }
            NvvmCode::INVALID_OPTION => {
                let options = options.iter().map(|option| option.to_string_lossy().into_owned()).collect();
                NvvmError::OptionRefused { program, options, log: handle.log()? }
            }
            code => NvvmError::Call { function, code, detail: handle.log()? },
        })
    }
}

impl Module {
    /// Its name for libNVVM, if libNVVM takes it.
    fn check(&self) -> Result<CString, NvvmError> {
        let name = || self.name.clone();
        if self.bytes.is_empty() {
            return Err(NvvmError::EmptyModule { name: name() });
        }
        if self.is_lazy && !BITCODE.iter().any(|start| self.bytes.starts_with(start)) {
            return Err(NvvmError::LazyText { name: name() });
        }
        c_string("a module's name", name())
    }
}

impl fmt::Debug for NvvmProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<_> = self.modules.iter().map(|module| (&module.name, module.bytes.len())).collect();
        let mut text = formatter.debug_struct("NvvmProgram");
        text.field("name", &self.name).field("modules", &modules).field("options", &self.options).finish()
    }
}
