//! The program of a run: its file, and the reasons for which it cannot run on the simulated driver.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, FileKind};

use crate::failure::{Failure, code};

/// Enough of a file for its header, its segments and the name of its loader.
const HEAD: u64 = 64 * 1024;
/// Scripts of scripts: the limit of the Linux kernel is 5.
const SCRIPTS: usize = 5;
/// The largest program whose search path is looked at.
const LARGEST: u64 = 512 << 20;

/// The processor that this command is built for; programs for others are refused where it is known.
const MACHINE: Option<(elf::Machine, &str)> = if cfg!(target_arch = "x86_64") {
    Some((elf::EM_X86_64, "x86-64"))
} else if cfg!(target_arch = "aarch64") {
    Some((elf::EM_AARCH64, "ARM64"))
} else {
    None
};

/// A program that the loader can run with other libraries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The file that the loader loads: the program, or the interpreter of a script.
    binary: PathBuf,
}

impl Program {
    /// The program that a name means, as a shell finds it.
    pub(super) fn find(name: &OsStr, search: Option<OsString>) -> Result<Self, Failure> {
        let path = locate(name, search)?;
        let binary = binary_of(&path)?;
        Ok(Self { path, binary })
    }

    /// A folder that the program searches before `LD_LIBRARY_PATH` and that has a driver: an entry of
    /// `DT_RPATH`, which counts only without `DT_RUNPATH`.
    pub(super) fn own_driver(&self) -> Option<PathBuf> {
        if std::fs::metadata(&self.binary).ok()?.len() > LARGEST {
            return None;
        }
        let path = rpath(&std::fs::read(&self.binary).ok()?)?;
        let origin = self.binary.parent()?.to_string_lossy().into_owned();
        let folders = path.split(':').map(|folder| folder.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin));
        folders.map(PathBuf::from).find(|folder| folder.join("libcuda.so.1").exists())
    }
}

/// A program that is there and cannot be run.
fn unusable(path: &Path, reason: impl Display, hint: &str) -> Failure {
    let failure = Failure::new(format_args!("{} cannot run on the simulated driver: {reason}", path.display()));
    Failure { code: code::CANNOT_RUN, ..failure.hint(hint) }
}

fn locate(name: &OsStr, search: Option<OsString>) -> Result<PathBuf, Failure> {
    let missing = |message: String, hint: &str| Failure { code: code::NOT_FOUND, ..Failure::new(message).hint(hint) };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match std::fs::metadata(&path) {
            Ok(_) => Ok(path),
            Err(error) => Err(missing(format!("{}: {error}", path.display()), "check the path of the program")),
        };
    }
    let search = search.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found: Vec<PathBuf> =
        std::env::split_paths(&search).map(|folder| folder.join(name)).filter(|path| path.is_file()).collect();
    if let Some(path) = found.iter().find(|path| is_executable(path)).or(found.first()) {
        return Ok(path.clone());
    }
    let shown = name.to_string_lossy();
    if Path::new(name).is_file() {
        let message = format!("there is no program {shown:?} in PATH, but one in this folder");
        return Err(missing(message, &format!("write ./{shown}")));
    }
    Err(missing(format!("there is no program {shown:?} in PATH"), "write its path, or install it"))
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The file that the loader loads for a program, after all checks.
fn binary_of(path: &Path) -> Result<PathBuf, Failure> {
    let mut file = path.to_owned();
    for _ in 0..SCRIPTS {
        match check(&file).map_err(|failure| match file == path {
            true => failure,
            false => Failure {
                message: format!("{}, the interpreter of a script: {}", file.display(), failure.message),
                ..failure
            },
        })? {
            Kind::Binary => return Ok(file),
            Kind::Script(interpreter) => file = interpreter,
        }
    }
    Err(unusable(path, "its interpreters are scripts themselves, more than 5 deep", "run the innermost program"))
}

enum Kind {
    Binary,
    Script(PathBuf),
}

fn check(path: &Path) -> Result<Kind, Failure> {
    let read = |error| Failure { code: code::CANNOT_RUN, ..Failure::file(path, error) };
    let about = std::fs::metadata(path).map_err(read)?;
    if about.is_dir() {
        return Err(unusable(path, "it is a folder", "name the program in it"));
    }
    if !is_executable(path) {
        return Err(unusable(path, "it is not executable", &format!("chmod +x {}", path.display())));
    }
    if gains_privileges(path, &about) {
        let reason = "it is setuid or setgid, or has capabilities, and then the loader ignores LD_LIBRARY_PATH";
        return Err(unusable(path, reason, "run a copy of it without these rights, or as the user that it becomes"));
    }
    let mut head = Vec::new();
    match File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)) {
        Ok(_) => {}
        // A program that can be run and not read is left to the kernel.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(Kind::Binary),
        Err(error) => return Err(read(error)),
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        return interpreter(path, line).map(Kind::Script);
    }
    check_binary(path, &head).map(|()| Kind::Binary)
}

/// `true` if the kernel gives the program rights that this user does not have.
fn gains_privileges(path: &Path, about: &std::fs::Metadata) -> bool {
    use rustix::process::{getegid, geteuid};
    let setuid = about.mode() & 0o4000 != 0 && about.uid() != geteuid().as_raw();
    let setgid = about.mode() & 0o2010 == 0o2010 && about.gid() != getegid().as_raw();
    let capabilities = !geteuid().is_root()
        && rustix::fs::getxattr(path, c"security.capability", &mut [0_u8; 64][..]).is_ok_and(|length| length > 0);
    setuid || setgid || capabilities
}

/// The interpreter in the first line of a script.
fn interpreter(path: &Path, line: &[u8]) -> Result<PathBuf, Failure> {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|word| !word.is_empty());
    let Some(word) = words.next() else {
        return Err(unusable(path, "it is a script, and its first line names no interpreter", "write one after #!"));
    };
    let interpreter = PathBuf::from(OsStr::from_bytes(word));
    if interpreter.exists() {
        return Ok(interpreter);
    }
    let reason = format!("it is a script, and its interpreter {} is not there", interpreter.display());
    Err(unusable(path, reason, "install the interpreter, or mend the first line"))
}

fn check_binary(path: &Path, head: &[u8]) -> Result<(), Failure> {
    let elsewhere = "use a build of it for this machine, linked dynamically";
    match FileKind::parse(head) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => {
            return Err(unusable(path, "it is a 32-bit program, and the simulated driver has 64 bits", elsewhere));
        }
        _ => {
            let reason = "it is neither an ELF program nor a script that begins with #!";
            return Err(unusable(path, reason, "run its interpreter: warploom sim -- sh FILE"));
        }
    }
    let broken = |error| unusable(path, format_args!("its ELF header is broken: {error}"), elsewhere);
    let header = FileHeader64::<Endianness>::parse(head).map_err(broken)?;
    let endian = header.endian().map_err(broken)?;
    let found = header.e_machine.get(endian);
    if let Some((_, name)) = MACHINE.filter(|(machine, _)| *machine != found) {
        let number = found.0;
        let reason = format!("it is for another processor (ELF machine {number}), and this one is {name}");
        return Err(unusable(path, reason, elsewhere));
    }
    if ![elf::ET_EXEC, elf::ET_DYN].contains(&header.e_type.get(endian)) {
        return Err(unusable(path, "it is an object file or a core dump, no program", "link it first"));
    }
    let segments = header.program_headers(endian, head).map_err(broken)?;
    let loader = segments.iter().find_map(|segment| segment.interpreter(endian, head).ok().flatten());
    match loader {
        None => {
            let reason = "it is linked statically, so no library can be loaded in place of the driver";
            Err(unusable(path, reason, "link it dynamically"))
        }
        Some(loader) if loader.windows(7).any(|part| part == b"ld-musl") => {
            let reason = "it is for musl, and the simulated driver is for the GNU C library";
            Err(unusable(path, reason, "use a build of it for the GNU C library"))
        }
        Some(_) => Ok(()),
    }
}

/// `DT_RPATH` of a program without `DT_RUNPATH`.
fn rpath(bytes: &[u8]) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).ok().flatten())?;
    let value = |tag| entries.iter().find(|entry| entry.tag(endian) == tag).map(|entry| entry.d_val(endian));
    if value(elf::DT_RUNPATH).is_some() {
        return None;
    }
    let at = value(elf::DT_STRTAB)?.checked_add(value(elf::DT_RPATH)?)?;
    let text = segments.iter().find_map(|segment| {
        let (from, size) = (segment.p_vaddr(endian), segment.p_filesz(endian));
        let inside = at.checked_sub(from).filter(|inside| *inside < size)?;
        bytes.get(usize::try_from(segment.p_offset(endian).checked_add(inside)?).ok()?..)
    })?;
    Some(String::from_utf8_lossy(text.split(|byte| *byte == 0).next()?).into_owned())
}
