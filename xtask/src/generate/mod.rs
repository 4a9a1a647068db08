//! Rebuilds `crates/sys` from the CUDA headers: wheel → bindgen → types, and the function list with its
//! signatures.

mod bindings;
mod functions;
mod symbols;

use std::fs;
use std::path::{Path, PathBuf};

use crate::wheels;

const TYPES: &str = "crates/sys/src/generated/types.rs";
const FUNCTIONS: &str = "crates/sys/src/generated/functions.rs";
const CODES: &str = "crates/sys/src/generated/codes.rs";
const SYMBOLS: &str = "crates/sys/symbols.txt";
const LIST: &str = "crates/sys/functions.txt";

/// The headers, and the parser that reads them.
const REQUIREMENTS: &str = "\
nvidia-cuda-runtime==13.4.92 --hash=sha256:9641f797da20ce1dd8e779b6e96d08cf9ba564cec8e8225458811ee26423f3a5
libclang==18.1.1 --hash=sha256:c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b
";

/// The folders of the unpacked inputs.
struct Wheels {
    include: PathBuf,
    libclang: PathBuf,
}

/// Writes the generated files.
pub(crate) fn write() -> Result<String, String> {
    let files = generate()?;
    let mut changed = 0;
    for (path, text) in &files {
        if fs::read_to_string(path).ok().as_ref() != Some(text) {
            fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            changed += 1;
        }
    }
    Ok(format!("generate: {} files, {changed} changed", files.len()))
}

/// Compares the generated files with what is checked in.
pub(crate) fn check() -> Result<String, String> {
    for (path, text) in generate()? {
        let there = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if there != text {
            return Err(format!("{} is not what `cargo xtask generate` writes", path.display()));
        }
    }
    Ok("generate --check: the bindings are reproduced byte for byte".to_owned())
}

fn generate() -> Result<Vec<(PathBuf, String)>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let work = root.join("target/generate");
    let unpacked = work.join("wheels");
    wheels::fetch(REQUIREMENTS, &unpacked, &["nvidia/cu13/include/cudaTypedefs.h", "clang/native/libclang.so"])?;
    let wheels = Wheels { include: unpacked.join("nvidia/cu13/include"), libclang: unpacked.join("clang/native") };
    let bindings = bindings::generate(&work, &wheels)?;
    let list = root.join(LIST);
    let rows = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    Ok(vec![
        (root.join(TYPES), bindings.types()),
        (root.join(CODES), bindings.codes()?),
        (root.join(FUNCTIONS), functions::render(&rows, &bindings)?),
        (root.join(SYMBOLS), symbols::render(&wheels.include)?),
    ])
}
