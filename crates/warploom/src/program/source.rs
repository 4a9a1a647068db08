//! Programs in CUDA C++ and their compilation.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fmt;

use super::arguments::c_string;
use super::handle::Handle;
use super::precompiled::{self, Fate};
use super::{CacheTrustError, CodeKind, CompileOptions, Nvrtc, NvrtcCode, NvrtcError, ObjectCode, PrecompiledHeader};
use crate::Result;

/// Targets of a compilation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// PTX, which the driver compiles when it is loaded.
    Ptx,
    /// Code for one real architecture.
    Cubin,
    /// Code to be linked with more of its kind, and compiled then.
    LtoIr,
}

impl Target {
    /// The kind of code that it is.
    #[must_use]
    pub fn kind(self) -> CodeKind {
        match self {
            Target::Ptx => CodeKind::Ptx,
            Target::Cubin => CodeKind::Cubin,
            Target::LtoIr => CodeKind::LtoIr,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(formatter)
    }
}

/// A program in CUDA C++: its source, headers that it includes by name, the names that are asked for, and how
/// it is compiled.
///
/// It is a value: nothing is compiled before [`compile`](Program::compile), and NVRTC keeps nothing after it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use]
pub struct Program {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) options: CompileOptions,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) names: BTreeSet<String>,
    pub(super) files: Option<Vec<u8>>,
}

/// The result of a compilation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The code.
    pub code: ObjectCode,
    /// The compiler's log, with warnings; empty if it wrote none. A cache keeps it with the code.
    pub log: String,
    /// `true` if it came from a cache, or went to one.
    pub cached: Cached,
    /// The outcome of a precompiled header; `None` if no option asked for one, if the NVRTC is too old to
    /// tell, or if the code is from a cache.
    #[doc(alias = "nvrtcGetPCHCreateStatus")]
    pub precompiled_header: Option<PrecompiledHeader>,
}

/// The cache's part in a compilation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cached {
    /// None was given.
    No,
    /// The cache had it, and nothing was compiled.
    Hit,
    /// The cache did not have it, and took it.
    Stored,
    /// The cache was not used, because other users may have written its files. The program was compiled.
    Untrusted {
        /// The file or folder, its owner and its mode.
        reason: CacheTrustError,
    },
    /// The cache failed. The program was compiled, as without one.
    Failed {
        /// The error.
        why: String,
    },
}

impl Program {
    /// A program of this source. Its name is for people: it stands in messages and in debug information.
    pub fn new(name: impl Into<String>, source: impl Into<String>, options: CompileOptions) -> Program {
        Program {
            name: name.into(),
            source: source.into(),
            options,
            headers: BTreeMap::new(),
            names: BTreeSet::new(),
            files: None,
        }
    }

    /// The same with a header, which is found by this name before any file is looked for.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Program {
        self.headers.insert(name.into(), text.into());
        self
    }

    /// The same with a name that is asked for: an expression such as `scale<float>` for a kernel, or `&table`
    /// for a variable. The template is instantiated, and [`ObjectCode::lowered_name`] has its lowered name in
    /// the code.
    #[doc(alias("nvrtcAddNameExpression", "nvrtcGetLoweredName"))]
    pub fn name_expression(mut self, expression: impl Into<String>) -> Program {
        self.names.insert(expression.into());
        self
    }

    /// The same with a digest of everything that it reads from files, by any function, so that a cache may
    /// keep it.
    pub fn files_digest(mut self, digest: impl Into<Vec<u8>>) -> Program {
        self.files = Some(digest.into());
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

    /// Compiles it.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::Compilation`] with the log, [`NvrtcError::OptionRefused`] with the log and all options,
    /// and NVRTC's other errors. Before NVRTC is called: the errors of [`CompileOptions::arguments`],
    /// [`NvrtcError::Zero`], and [`NvrtcError::UnsupportedArchitecture`].
    #[doc(alias = "nvrtcCompileProgram")]
    pub fn compile(&self, nvrtc: &Nvrtc, target: Target) -> Result<Compiled> {
        let options = self.options_for(nvrtc, target)?;
        Ok(self.compile_with(nvrtc, target, &options)?)
    }

    /// The words for this NVRTC, if it has the architecture.
    pub(super) fn options_for(&self, nvrtc: &Nvrtc, target: Target) -> Result<Vec<CString>, NvrtcError> {
        let architecture = self.options.architecture;
        if !nvrtc.architectures().contains(&architecture.number()) {
            let (version, supported) = (nvrtc.version(), nvrtc.architectures().to_owned());
            return Err(NvrtcError::UnsupportedArchitecture { architecture, version, supported });
        }
        self.options.words(target)
    }

    /// Checks the program without generating code; returns the compiler's log.
    ///
    /// ```no_run
    /// # use warploom::program::{Architecture, CompileOptions, Nvrtc, Program};
    /// # fn main() -> warploom::Result<()> {
    /// let options = CompileOptions::new(Architecture::sm(90));
    /// let program = Program::new("k.cu", "__global__ void k() { int x; }", options);
    /// let warnings = program.check_syntax(&Nvrtc::load()?)?;
    /// assert!(warnings.contains("never referenced"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`compile`](Program::compile), without the errors of generating code.
    #[doc(alias = "--fdevice-syntax-only")]
    pub fn check_syntax(&self, nvrtc: &Nvrtc) -> Result<String> {
        let mut options = self.options_for(nvrtc, Target::Ptx)?;
        options.push(c_string("an option", "--fdevice-syntax-only")?);
        let texts = self.texts()?;
        let _turn = precompiled::turn_for(&options);
        Ok(texts.run(self, nvrtc, &options)?.1)
    }

    pub(super) fn compile_with(
        &self,
        nvrtc: &Nvrtc,
        target: Target,
        options: &[CString],
    ) -> Result<Compiled, NvrtcError> {
        let texts = self.texts()?;
        let turn = precompiled::turn_for(options);
        let (mut handle, mut log) = texts.run(self, nvrtc, options)?;
        let mut fate = if turn.is_some() { handle.precompiled()? } else { None };
        if let Some(Fate::Exhausted { needed }) = fate {
            // Headers in the memory are freed before the memory.
            drop(handle);
            nvrtc.resize(needed)?;
            (handle, log) = texts.run(self, nvrtc, options)?;
            fate = handle.precompiled()?;
        }
        let precompiled_header = fate.map(|fate| match fate {
            Fate::Known(header) => header,
            Fate::Exhausted { .. } => PrecompiledHeader::Failed,
        });
        let bytes = handle.output(target)?;
        if bytes.is_empty() {
            return Err(NvrtcError::NoOutput { program: self.name.clone(), target });
        }
        let lowered = texts.names.iter().map(|expression| handle.lowered(expression)).collect::<Result<Vec<_>, _>>()?;
        let lowered = self.names.iter().cloned().zip(lowered);
        let code = ObjectCode::made(target.kind(), &self.name, bytes).with_lowered_names(lowered);
        Ok(Compiled { code, log, cached: Cached::No, precompiled_header })
    }

    fn texts(&self) -> Result<Texts, NvrtcError> {
        let (source, name) = (c_string("the source", &self.source)?, c_string("the program's name", &self.name)?);
        let header = |(name, text): (&String, &String)| {
            Ok((c_string("a header's name", name)?, c_string(&format!("the header {name:?}"), text)?))
        };
        let headers = self.headers.iter().map(header).collect::<Result<Vec<_>, NvrtcError>>()?;
        let expression = |expression: &String| c_string("a name expression", expression);
        let names = self.names.iter().map(expression).collect::<Result<Vec<_>, _>>()?;
        Ok(Texts { source, name, headers, names })
    }

    fn failure(&self, nvrtc: &Nvrtc, code: NvrtcCode, log: String, options: &[CString]) -> NvrtcError {
        let program = self.name.clone();
        match code {
            NvrtcCode::COMPILATION => NvrtcError::Compilation { program, log },
            NvrtcCode::INVALID_OPTION => {
                let options = options.iter().map(|option| option.to_string_lossy().into_owned()).collect();
                NvrtcError::OptionRefused { program, version: nvrtc.version(), options, log }
            }
            code => NvrtcError::Call { function: "nvrtcCompileProgram", code, detail: log },
        }
    }
}

/// A program as C has it.
struct Texts {
    source: CString,
    name: CString,
    headers: Vec<(CString, CString)>,
    names: Vec<CString>,
}

impl Texts {
    /// A program of NVRTC's that was compiled, and the log.
    fn run<'n>(
        &self,
        program: &Program,
        nvrtc: &'n Nvrtc,
        options: &[CString],
    ) -> Result<(Handle<'n>, String), NvrtcError> {
        let handle = Handle::new(nvrtc, &self.source, &self.name, &self.headers)?;
        self.names.iter().try_for_each(|expression| handle.add_name(expression))?;
        match handle.compile(options)? {
            (NvrtcCode::SUCCESS, log) => Ok((handle, log)),
            (code, log) => Err(program.failure(nvrtc, code, log, options)),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Program");
        text.field("name", &self.name).field("source", &format_args!("{} bytes", self.source.len()));
        text.field("headers", &self.headers.keys()).field("names", &self.names).field("options", &self.options).finish()
    }
}
