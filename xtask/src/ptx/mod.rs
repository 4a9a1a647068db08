//! Compiles the kernels of `crates/ptx` to the PTX that is checked in beside them.
//!
//! Comments of a kernel file name its architectures, if not 75 and 90, and its options:
//! `// architectures: 80 90`, `// options: -lineinfo`. A text that differs from the one for the architecture
//! before it in its target alone is not kept.

mod nvrtc;
mod registers;
mod verdicts;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::nvrtc::Compiler;
use crate::wheels;
use crate::workspace::{at, root};

/// The compiler, its headers, and the assembler that judges what it wrote.
const REQUIREMENTS: &str = "\
nvidia-cuda-nvrtc==13.4.92 --hash=sha256:5ce8c97b00b232c4f50c8c4b5a3b68cafee08bdb82ea86f2052ff01d03194f4a
nvidia-cuda-runtime==13.4.92 --hash=sha256:9641f797da20ce1dd8e779b6e96d08cf9ba564cec8e8225458811ee26423f3a5
nvidia-cuda-crt==13.4.92 --hash=sha256:731ce3de11df8add8306404417a1edaede225dbe27eb233aed37c8de9d4fe720
nvidia-cuda-cccl==13.3.5.0.6 --hash=sha256:d5230098fa2df5021e1a00c0c4eee41797671a91119d31e892463e5ccf3ee326
nvidia-cuda-nvcc==13.4.92 --hash=sha256:a1f3bfb27299e060b444d5df1f4bcd762501326cf0fd3141ed61756816ab9a0e
";

const LIBRARY: &str = "nvidia/cu13/lib/libnvrtc.so.13";
const ASSEMBLER: &str = "nvidia/cu13/bin/ptxas";
/// Kernels that are right, and those with planted mistakes.
const KERNELS: [&str; 2] = ["crates/ptx/kernels", "crates/ptx/kernels/planted"];

/// The architectures of a kernel that names none.
const ARCHITECTURES: &str = "75 90";

/// Texts by where they belong below the kernels' folder: `ptx/compute_75/vector.ptx`.
type Texts = BTreeMap<PathBuf, String>;

/// Writes the texts, and removes those that no kernel gives any more.
pub(crate) fn write() -> Result<String, String> {
    let (root, unpacked) = (root()?, fetched()?);
    let mut count = 0;
    for folder in KERNELS.map(|folder| root.join(folder)) {
        let texts = compile(&folder, &unpacked)?;
        for stale in checked_in(&folder)?.into_keys().filter(|path| !texts.contains_key(path)) {
            let path = folder.join(stale);
            fs::remove_file(&path).map_err(at(&path))?;
        }
        for (path, text) in &texts {
            let path = folder.join(path);
            let parent = path.parent().ok_or("a text has no folder")?;
            fs::create_dir_all(parent).map_err(at(parent))?;
            fs::write(&path, text).map_err(at(&path))?;
        }
        count += texts.len();
    }
    let (path, taken) = (verdicts::path()?, verdicts::ask(&unpacked.join(ASSEMBLER))?);
    fs::write(&path, &taken).map_err(at(&path))?;
    let path = registers::path()?;
    fs::write(&path, registers::ask(&unpacked.join(ASSEMBLER))?).map_err(at(&path))?;
    Ok(format!("ptx: {count} texts, and {} instructions that the assembler takes", taken.lines().count() - 1))
}

/// Compares what is checked in with what the compiler writes, and lets the assembler read it.
pub(crate) fn check() -> Result<String, String> {
    let (root, unpacked) = (root()?, fetched()?);
    let mut count = 0;
    for folder in KERNELS.map(|folder| root.join(folder)) {
        let (texts, there) = (compile(&folder, &unpacked)?, checked_in(&folder)?);
        let differing = texts.keys().chain(there.keys()).find(|path| texts.get(*path) != there.get(*path));
        if let Some(path) = differing {
            return Err(format!("{} is not what `cargo xtask ptx` writes", folder.join(path).display()));
        }
        for path in texts.keys() {
            assemble(&unpacked.join(ASSEMBLER), &folder.join(path))?;
        }
        count += texts.len();
    }
    let instructions = instructions()?;
    for path in &instructions {
        assemble(&unpacked.join(ASSEMBLER), path)?;
    }
    let more = instructions.len();
    let path = verdicts::path()?;
    if verdicts::ask(&unpacked.join(ASSEMBLER))? != fs::read_to_string(&path).map_err(at(&path))? {
        return Err(format!("{} is not what the assembler takes; run `cargo xtask ptx`", path.display()));
    }
    let path = registers::path()?;
    if registers::ask(&unpacked.join(ASSEMBLER))? != fs::read_to_string(&path).map_err(at(&path))? {
        return Err(format!("{} is not what the assembler says; run `cargo xtask ptx`", path.display()));
    }
    Ok(format!(
        "ptx --check: {count} texts are reproduced byte for byte, and assemble with {more} of single instructions"
    ))
}

/// The texts that the simulator's test of single instructions runs, for the assembler to judge.
fn instructions() -> Result<Vec<PathBuf>, String> {
    let folder = root()?.join("target/ptx/compute_90");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    written(&folder, "instructions", "texts_are_written")?;
    files(&folder, "ptx")
}

/// Has a test write its texts into a folder. It is chosen among all of the workspace, as its tests are compiled:
/// a package alone has dependencies with other features.
fn written(folder: &Path, test: &str, name: &str) -> Result<(), String> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--workspace", "--test", test, name, "--", "--ignored"])
        .current_dir(root()?)
        .env("WARPLOOM_TEXTS", folder)
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the test `{test} {name}` could not write its texts")) }
}

fn fetched() -> Result<PathBuf, String> {
    let unpacked = root()?.join("target/ptx/wheels");
    wheels::fetch(REQUIREMENTS, &unpacked, &[LIBRARY, ASSEMBLER])?;
    Ok(unpacked)
}

fn compile(folder: &Path, unpacked: &Path) -> Result<Texts, String> {
    let toolkit = unpacked.join("nvidia/cu13");
    let compiler = Compiler::open(&unpacked.join(LIBRARY))?;
    // Debug information names the current folder, which must not depend on whose machine this is.
    std::env::set_current_dir("/").map_err(at(Path::new("/")))?;
    let mut texts = Texts::new();
    for source in files(folder, "cu")? {
        let name = source.file_stem().ok_or("a kernel has no name")?;
        let code = fs::read_to_string(&source).map_err(at(&source))?;
        let mut kept = None;
        for architecture in stated(&code, "architectures").unwrap_or(ARCHITECTURES).split_whitespace() {
            let mut options = vec![
                format!("--gpu-architecture=compute_{architecture}"),
                "--std=c++17".to_owned(),
                format!("--include-path={}", toolkit.join("include").display()),
                format!("--include-path={}", toolkit.join("include/cccl").display()),
            ];
            options.extend(stated(&code, "options").into_iter().flat_map(str::split_whitespace).map(str::to_owned));
            let text = compiler.compile(&code, &format!("{}.cu", name.display()), &options)?;
            let text = without_banner(&text);
            let body = text.replacen(&format!("sm_{architecture}"), "sm", 1);
            if kept.as_ref() != Some(&body) {
                let path = format!("ptx/compute_{architecture}/{}.ptx", name.display());
                texts.insert(path.into(), text.to_owned());
                kept = Some(body);
            }
        }
    }
    Ok(texts)
}

/// The value of a directive on a comment line of its own: `// options: -G`.
fn stated<'c>(code: &'c str, what: &str) -> Option<&'c str> {
    code.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(what)?.strip_prefix(": "))
}

/// The text from its version on; in front of that the compiler only introduces itself.
fn without_banner(text: &str) -> &str {
    text.find(".version").map_or(text, |start| &text[start..])
}

fn checked_in(folder: &Path) -> Result<Texts, String> {
    let mut texts = Texts::new();
    let top = folder.join("ptx");
    if !top.is_dir() {
        return Ok(texts);
    }
    for entry in fs::read_dir(&top).map_err(at(&top))? {
        let entry = entry.map_err(at(&top))?;
        for path in files(&entry.path(), "ptx")? {
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            let below = path.strip_prefix(folder).map_err(|error| error.to_string())?;
            texts.insert(below.to_owned(), text);
        }
    }
    Ok(texts)
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.extension() == Some(OsStr::new(extension)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Lets the assembler read a text for the architecture that its folder names.
fn assemble(assembler: &Path, path: &Path) -> Result<(), String> {
    let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default();
    let architecture = folder.strip_prefix("compute_").ok_or_else(|| format!("{folder} names no architecture"))?;
    let mut command = Command::new(assembler);
    // Texts that are meant to be linked have names that nobody defines yet.
    command
        .arg(format!("--gpu-name=sm_{architecture}"))
        .args(["--compile-only", "--output-file", "/dev/null"])
        .arg(path);
    let output = command.output().map_err(at(assembler))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ptxas refuses {}:\n{}", path.display(), String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_says_what_it_needs_in_comments() {
        let code = "// architectures: 80 90\n// options: -G -lineinfo\n// other: words\n";
        assert_eq!(stated(code, "architectures"), Some("80 90"));
        assert_eq!(stated(code, "options"), Some("-G -lineinfo"));
        assert_eq!(stated("int options;\n", "options"), None);
    }

    #[test]
    fn the_compilers_banner_is_left_out() {
        assert_eq!(
            without_banner("//\n// words\n//\n\n.version 9.4\n.target sm_90\n"),
            ".version 9.4\n.target sm_90\n"
        );
    }
}
