//! Code of a kernel: CUDA C++ that NVRTC compiles, or PTX.

use std::fs;
use std::path::{Path, PathBuf};

use warploom::program::{Architecture, CompileOptions, Compiled, Nvrtc, NvrtcError, ObjectCode, Program, Target};
use warploom::{Context, Error, Library};
use warploom_ptx::{Header, Version};
use warploom_sim::{CodeImage, LogKind, Machine};

use crate::failure::Failure;
use crate::report::CompilerReport;

/// Options of the compiler.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of the compiler")]
pub(crate) struct CompilerArgs {
    /// Define a macro, as 1 without a value
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Look for headers in a folder; the folder of the file is looked at in any case
    #[arg(short = 'I', long, value_name = "FOLDER")]
    include: Vec<PathBuf>,
}

/// Loaded code, and the compiler that made it.
pub(crate) struct Code {
    pub(crate) library: Library,
    pub(crate) compiler: Option<CompilerReport>,
}

/// Loads the kernels of a file for a context. A name with template arguments or a namespace is instantiated.
pub(crate) fn load(
    file: &Path,
    arguments: &CompilerArgs,
    kernel: Option<&str>,
    context: &Context,
    machine: Option<&Machine>,
) -> Result<Code, Failure> {
    let text = || fs::read_to_string(file).map_err(|error| Failure::file(file, error));
    let code = match file.extension().and_then(|extension| extension.to_str()) {
        Some("cu") => compile(file, text()?, arguments, kernel, context, machine)?,
        Some("ptx") => {
            let library = Library::from_ptx(context.driver(), &text()?);
            Code { library: library.map_err(|error| refused(file, error, machine))?, compiler: None }
        }
        _ => {
            return Err(Failure::misuse(format_args!("{}: expected a file that ends in .cu or .ptx", file.display()))
                .hint("`warploom ptx FILE` lists the PTX of other files"));
        }
    };
    code.library.load_in(context).map_err(|error| refused(file, error, machine))?;
    Ok(code)
}

fn compile(
    file: &Path,
    source: String,
    CompilerArgs { define, include }: &CompilerArgs,
    kernel: Option<&str>,
    context: &Context,
    machine: Option<&Machine>,
) -> Result<Code, Failure> {
    let nvrtc = Nvrtc::load().map_err(without_compiler)?;
    let capability = context.device().compute_capability()?;
    let there = Architecture::from(capability).number();
    let newest = nvrtc.architectures().iter().copied().filter(|number| *number <= there).max();
    let newest = newest.ok_or_else(|| {
        let oldest = nvrtc.architectures().first().copied().unwrap_or_default();
        Failure::new(format_args!(
            "NVRTC {} compiles for sm_{oldest} and newer; the device is sm_{there}",
            nvrtc.version()
        ))
        .hint("an older NVRTC does, named by WARPLOOM_NVRTC; --machine NAME selects another device")
    })?;
    // A driver takes machine code of a newer NVRTC, too. A simulated device runs PTX, and an architecture that
    // NVRTC does not know leaves PTX for the driver to compile.
    let (architecture, target) = match newest == there && machine.is_none() {
        true => (Architecture::sm(newest), Target::Cubin),
        false => (Architecture::compute(newest), Target::Ptx),
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut options = CompileOptions::new(architecture).line_info().include(folder);
    for folder in include {
        options = options.include(folder);
    }
    for macro_ in define {
        options = match macro_.split_once('=') {
            Some((name, value)) => options.define(name, value),
            None => options.define_flag(macro_),
        };
    }
    let mut program = Program::new(file.to_string_lossy(), source, options);
    if let Some(name) = kernel.filter(|name| name.contains('<') || name.contains("::")) {
        program = program.name_expression(name);
    }
    let Compiled { mut code, log, .. } = program.compile(&nvrtc, target)?;
    if let Some(machine) = machine {
        code = readable(code, machine)?;
    }
    let compiler =
        Some(CompilerReport { nvrtc: nvrtc.version().to_string(), architecture: architecture.to_string(), log });
    Ok(Code { library: code.load(context.driver())?, compiler })
}

/// PTX that the driver of a simulated machine reads. NVRTC writes its own version of PTX into the header, also
/// where nothing in the text is newer than the driver; an instruction that the machine does not have is refused
/// by its name.
fn readable(code: ObjectCode, machine: &Machine) -> Result<ObjectCode, Failure> {
    let (major, minor) = CodeImage::newest_ptx(machine.topology());
    let newest = Version { major, minor };
    let Some(text) = code.text() else { return Ok(code) };
    let written = Header::read(text)?.version;
    if written <= newest {
        return Ok(code);
    }
    let text = text.replacen(&format!(".version {written}"), &format!(".version {newest}"), 1);
    let names: Vec<(String, String)> =
        code.lowered_names().map(|(expression, name)| (expression.to_owned(), name.to_owned())).collect();
    Ok(ObjectCode::from_ptx(code.name(), text)?.with_lowered_names(names))
}

/// The failure of a load, with the line that a simulated driver refuses.
fn refused(file: &Path, error: Error, machine: Option<&Machine>) -> Failure {
    let log = machine.map(Machine::log).unwrap_or_default();
    let refusal = log.iter().rev().find(|entry| {
        matches!(entry.kind, LogKind::Refused | LogKind::Unsupported) && error.code() == Some(entry.code)
    });
    match refusal {
        Some(entry) => Failure::new(format_args!("{}:{}", file.display(), entry.reason))
            .hint(format!("`warploom ptx {}` lists everything that would be refused", file.display())),
        None => Failure::file(file, error),
    }
}

/// The failure of a machine without NVRTC.
fn without_compiler(error: Error) -> Failure {
    let is_missing = matches!(&error, Error::Nvrtc(nvrtc) if matches!(**nvrtc, NvrtcError::NotFound { .. }));
    let failure = Failure::new(error);
    if is_missing { failure.hint("`nvcc -ptx` makes PTX of the file, which needs no NVRTC here") } else { failure }
}
