//! What is linked, and how.

use std::ffi::CString;

use super::handle::Handle;
use super::{LinkError, NvJitLink};
use crate::Result;
use crate::program::{Architecture, CodeKind, ObjectCode, Target};

/// Pieces of code that are to become one. It is a value: nothing is linked before [`link`](Linker::link).
///
/// ```no_run
/// use warploom::program::{Architecture, CompileOptions, Linker, NvJitLink, Nvrtc, Program, Target};
///
/// # fn main() -> warploom::Result<()> {
/// let nvrtc = Nvrtc::load()?;
/// let sm_90 = Architecture::sm(90);
/// let compile = |name: &str, source: &str| -> warploom::Result<_> {
///     Ok(Program::new(name, source, CompileOptions::new(sm_90)).compile(&nvrtc, Target::LtoIr)?.code)
/// };
/// let kernel = compile("k.cu", "extern __device__ int f(int); extern \"C\" __global__ void k(int *p) { *p = f(*p); }")?;
/// let function = compile("f.cu", "__device__ int f(int a) { return a + 1; }")?;
/// let linked = Linker::new("k", sm_90).input(kernel).input(function).link(&NvJitLink::load()?, Target::Cubin)?;
/// assert!(linked.code.bytes().starts_with(b"\x7fELF"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Linker {
    name: String,
    architecture: Architecture,
    inputs: Vec<ObjectCode>,
    options: Vec<String>,
}

/// What came of linking.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The code. It has the lowered names of all inputs.
    pub code: ObjectCode,
    /// What the linker has to say all the same; empty if it has nothing to say.
    pub log: String,
}

impl Linker {
    /// Nothing yet, to be linked for this real architecture; the name is for people.
    pub fn new(name: impl Into<String>, architecture: impl Into<Architecture>) -> Linker {
        Linker { name: name.into(), architecture: architecture.into(), inputs: Vec::new(), options: Vec::new() }
    }

    /// The same with one more piece, of any kind. Those compiled to be linked are
    /// [`relocatable`](crate::program::CompileOptions::relocatable), or LTO-IR.
    pub fn input(mut self, code: ObjectCode) -> Linker {
        self.inputs.push(code);
        self
    }

    /// Code that tells which line an instruction comes from.
    pub fn line_info(self) -> Linker {
        self.raw("-lineinfo")
    }

    /// Code for a debugger.
    pub fn debug(self) -> Linker {
        self.raw("-g")
    }

    /// The most registers that a thread of a kernel has.
    pub fn max_registers(self, registers: u32) -> Linker {
        self.raw(format!("-maxrregcount={registers}"))
    }

    /// What is left when all else that is not used goes: this kernel, and others so named.
    pub fn keep_kernel(self, name: &str) -> Linker {
        self.raw(format!("-kernels-used={name}"))
    }

    /// What is left when all else that is not used goes: this variable, and others so named.
    pub fn keep_variable(self, name: &str) -> Linker {
        self.raw(format!("-variables-used={name}"))
    }

    /// An option as it is, after those before it.
    pub fn raw(mut self, option: impl Into<String>) -> Linker {
        self.options.push(option.into());
        self
    }

    /// Links: to a cubin, or to PTX if all inputs are LTO-IR.
    ///
    /// # Errors
    ///
    /// [`LinkError::Call`] with the log. Before nvJitLink is asked: [`LinkError::NoInputs`],
    /// [`LinkError::EmptyInput`], [`LinkError::VirtualArchitecture`], [`LinkError::NotAnOutput`], [`LinkError::Zero`].
    #[doc(alias = "nvJitLinkComplete")]
    pub fn link(&self, library: &NvJitLink, target: Target) -> Result<Linked> {
        Ok(self.linked(library, target)?)
    }

    fn linked(&self, library: &NvJitLink, target: Target) -> Result<Linked, LinkError> {
        let options = self.words(target)?;
        let names = self.inputs.iter().map(|input| c_string(input.name())).collect::<Result<Vec<_>, _>>()?;
        let handle = Handle::new(library, &options)?;
        for (input, name) in self.inputs.iter().zip(&names) {
            handle.add(input, name)?;
        }
        handle.complete()?;
        let bytes = if target == Target::Ptx { handle.ptx()? } else { handle.cubin()? };
        let lowered = self.inputs.iter().flat_map(ObjectCode::lowered_names);
        let lowered = lowered.map(|(expression, name)| (expression.to_owned(), name.to_owned()));
        let code = ObjectCode::new(target.kind(), &self.name, bytes).with_lowered_names(lowered);
        Ok(Linked { code, log: handle.log()? })
    }

    fn words(&self, target: Target) -> Result<Vec<CString>, LinkError> {
        let is_lto = |input: &ObjectCode| input.kind() == CodeKind::LtoIr;
        if self.inputs.is_empty() {
            return Err(LinkError::NoInputs);
        }
        if let Some(input) = self.inputs.iter().find(|input| input.bytes().is_empty()) {
            return Err(LinkError::EmptyInput { name: input.name().to_owned() });
        }
        if !self.architecture.is_real() {
            return Err(LinkError::VirtualArchitecture { architecture: self.architecture });
        }
        if target == Target::LtoIr || (target == Target::Ptx && !self.inputs.iter().all(is_lto)) {
            return Err(LinkError::NotAnOutput { kind: target.kind() });
        }
        let mut words = vec![c_string(&format!("-arch={}", self.architecture))?];
        if self.inputs.iter().any(is_lto) {
            words.push(c_string("-lto")?);
        }
        if target == Target::Ptx {
            words.push(c_string("-ptx")?);
        }
        for option in &self.options {
            words.push(c_string(option)?);
        }
        Ok(words)
    }
}

fn c_string(text: &str) -> Result<CString, LinkError> {
    CString::new(text).map_err(|_| LinkError::Zero { text: text.to_owned() })
}
