//! The two packages the generator reads, pinned by hash and fetched with pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The headers, and the parser that reads them. A changed hash means a changed input: look before you pin it anew.
const REQUIREMENTS: &str = "\
nvidia-cuda-runtime==13.4.92 --hash=sha256:9641f797da20ce1dd8e779b6e96d08cf9ba564cec8e8225458811ee26423f3a5
libclang==18.1.1 --hash=sha256:c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b
";

/// Where the unpacked inputs are.
pub(crate) struct Wheels {
    pub(crate) include: PathBuf,
    pub(crate) libclang: PathBuf,
}

/// Downloads and unpacks the packages into `work`, unless they are there already.
pub(crate) fn fetch(work: &Path) -> Result<Wheels, String> {
    let unpacked = work.join("wheels");
    let wheels = Wheels { include: unpacked.join("nvidia/cu13/include"), libclang: unpacked.join("clang/native") };
    if wheels.include.join("cudaTypedefs.h").is_file() && wheels.libclang.join("libclang.so").is_file() {
        return Ok(wheels);
    }
    fs::create_dir_all(work).map_err(|error| format!("{}: {error}", work.display()))?;
    let requirements = work.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--upgrade"])
        .arg("--target")
        .arg(&unpacked)
        .arg("--requirement")
        .arg(&requirements)
        .status()
        .map_err(|error| format!("python3 -m pip could not be started: {error}"))?;
    if !status.success() {
        return Err("pip could not fetch the pinned packages".to_owned());
    }
    if !wheels.include.join("cudaTypedefs.h").is_file() {
        return Err(format!("{} has no cudaTypedefs.h", wheels.include.display()));
    }
    Ok(wheels)
}
