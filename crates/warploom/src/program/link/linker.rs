//! Linkers: the code to link and its options.

use std::ffi::CString;

use super::driver::{self, DriverLink};
use super::handle::Handle;
use super::option::LinkOption;
use super::{LinkError, NvJitLink};
use crate::program::{Architecture, Cached, CodeKind, ObjectCode, Target};
use crate::{Context, Result};

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
/// let source = r#"extern __device__ int f(int); extern "C" __global__ void k(int *p) { *p = f(*p); }"#;
/// let kernel = compile("k.cu", source)?;
/// let function = compile("f.cu", "__device__ int f(int a) { return a + 1; }")?;
/// let linker = Linker::new("k", sm_90).input(kernel).input(function);
/// let linked = linker.link(&NvJitLink::load()?, Target::Cubin)?;
/// assert!(linked.code.bytes().starts_with(b"\x7fELF"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Linker {
    pub(super) name: String,
    pub(super) architecture: Architecture,
    pub(super) inputs: Vec<ObjectCode>,
    pub(super) options: Vec<LinkOption>,
}

/// The result of linking.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The code. It has the lowered names of all inputs.
    pub code: ObjectCode,
    /// The linker's log; empty if it wrote none. A cache keeps it with the code.
    pub log: String,
    /// `true` if it came from a cache, or went to one.
    pub cached: Cached,
}

impl Linker {
    /// Nothing yet, to be linked for this real architecture; the name is for people.
    pub fn new(name: impl Into<String>, architecture: impl Into<Architecture>) -> Linker {
        Linker { name: name.into(), architecture: architecture.into(), inputs: Vec::new(), options: Vec::new() }
    }

    /// The same with one more piece, of any kind. Those compiled to be linked are
    /// [`relocatable`](crate::program::CompileOptions::relocatable), or LTO-IR.
    ///
    /// Linkers do not check binaries. A piece is PTX or was made by a compiler; bytes of other origin become
    /// a piece by [`UntrustedCode::trust`](crate::program::UntrustedCode::trust).
    pub fn input(mut self, code: ObjectCode) -> Linker {
        self.inputs.push(code);
        self
    }

    /// Links by nvJitLink: to a cubin, or to PTX if all inputs are LTO-IR.
    ///
    /// # Errors
    ///
    /// [`LinkError::Call`] with the log. Before nvJitLink is asked: [`LinkError::NoInputs`],
    /// [`LinkError::EmptyInput`], [`LinkError::VirtualArchitecture`], [`LinkError::NotAnOutput`],
    /// [`LinkError::Zero`].
    #[doc(alias = "nvJitLinkComplete")]
    pub fn link(&self, library: &NvJitLink, target: Target) -> Result<Linked> {
        Ok(self.linked(library, target)?)
    }

    /// Links by the linker that every driver has, to a cubin. It needs no other library, and takes everything
    /// but LTO-IR.
    ///
    /// ```
    /// use warploom::program::{Linker, ObjectCode};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = warploom::Driver::open(&warploom_sim::Machine::builder().start()?)?;
    /// let context = driver.device(0)?.context()?;
    /// let ptx = |name: &str, body: &str| {
    ///     ObjectCode::from_ptx(name, format!(".version 8.3\n.target sm_75\n.address_size 64\n{body}"))
    /// };
    /// let kernel = ptx("kernel", ".extern .func f();\n.visible .entry k() { call f; ret; }")?;
    /// let linker = Linker::new("k", context.device().compute_capability()?).input(kernel);
    /// let error = linker.link_by_driver(&context).unwrap_err();
    /// assert!(error.to_string().contains("Undefined reference to 'f' in 'kernel'"), "{error}");
    ///
    /// let linked = linker.input(ptx("function", ".visible .func f() { ret; }")?).link_by_driver(&context)?;
    /// linked.code.load(&driver)?.kernel("k")?; // the driver has made it, so that loading it is safe
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`LinkError::Driver`] with the log. Before the driver is asked: [`LinkError::NoInputs`],
    /// [`LinkError::EmptyInput`], [`LinkError::Registers`], [`LinkError::VirtualArchitecture`],
    /// [`LinkError::Zero`], [`LinkError::NotForDrivers`] for LTO-IR, and [`LinkError::UnsupportedOption`] for options that only
    /// nvJitLink can be asked.
    #[doc(alias = "cuLinkComplete")]
    pub fn link_by_driver(&self, context: &Context) -> Result<Linked> {
        self.check_for_driver()?;
        let pieces = driver::pieces(&self.inputs)?;
        let link = DriverLink::new(context, &self.options, self.architecture)?;
        pieces.iter().try_for_each(|piece| link.add(piece))?;
        let (bytes, log) = link.complete()?;
        Ok(self.outcome(CodeKind::Cubin, bytes, log))
    }

    pub(super) fn linked(&self, library: &NvJitLink, target: Target) -> Result<Linked, LinkError> {
        let options = self.words(target)?;
        let names = self.inputs.iter().map(|input| c_string(input.name())).collect::<Result<Vec<_>, _>>()?;
        let handle = Handle::new(library, &options)?;
        for (input, name) in self.inputs.iter().zip(&names) {
            handle.add(input, name)?;
        }
        handle.complete()?;
        let bytes = if target == Target::Ptx { handle.ptx()? } else { handle.cubin()? };
        Ok(self.outcome(target.kind(), bytes, handle.log()?))
    }

    /// Code that has the lowered names of all inputs.
    fn outcome(&self, kind: CodeKind, bytes: Vec<u8>, log: String) -> Linked {
        let lowered = self.inputs.iter().flat_map(ObjectCode::lowered_names);
        let lowered = lowered.map(|(expression, name)| (expression.to_owned(), name.to_owned()));
        Linked { code: ObjectCode::made(kind, &self.name, bytes).with_lowered_names(lowered), log, cached: Cached::No }
    }

    /// Refuses code and options that no driver takes.
    pub(super) fn check_for_driver(&self) -> Result<(), LinkError> {
        self.check()?;
        LinkOption::jit(&self.options).map(|_| ())?;
        driver::pieces(&self.inputs).map(drop)
    }

    /// Refuses code that no linker takes.
    pub(super) fn check(&self) -> Result<(), LinkError> {
        if self.inputs.is_empty() {
            return Err(LinkError::NoInputs);
        }
        if let Some(input) = self.inputs.iter().find(|input| input.bytes().is_empty()) {
            return Err(LinkError::EmptyInput { name: input.name().to_owned() });
        }
        if let Some(registers) = self.options.iter().find_map(LinkOption::impossible_registers) {
            return Err(LinkError::Registers { registers });
        }
        if !self.architecture.is_real() {
            return Err(LinkError::VirtualArchitecture { architecture: self.architecture });
        }
        Ok(())
    }

    pub(super) fn words(&self, target: Target) -> Result<Vec<CString>, LinkError> {
        let is_lto = |input: &ObjectCode| input.kind() == CodeKind::LtoIr;
        self.check()?;
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
            words.push(c_string(&option.word())?);
        }
        Ok(words)
    }
}

pub(super) fn c_string(text: &str) -> Result<CString, LinkError> {
    CString::new(text).map_err(|_| LinkError::Zero { text: text.to_owned() })
}
