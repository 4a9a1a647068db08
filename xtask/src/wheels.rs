//! Packages that chores read, pinned by hash and fetched with pip.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workspace::at;

/// Downloads and unpacks the packages of `requirements` into `unpacked`, unless `needed` is all there
/// already.
///
/// A changed hash means a changed input: look before you pin it anew.
pub(crate) fn fetch(requirements: &str, unpacked: &Path, needed: &[&str]) -> Result<(), String> {
    let missing = || needed.iter().map(|name| unpacked.join(name)).find(|path| !path.is_file());
    if missing().is_none() {
        return Ok(());
    }
    fs::create_dir_all(unpacked).map_err(at(unpacked))?;
    let list = unpacked.join("requirements.txt");
    fs::write(&list, requirements).map_err(at(&list))?;
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--upgrade"])
        .arg("--target")
        .arg(unpacked)
        .arg("--requirement")
        .arg(&list)
        .status()
        .map_err(|error| format!("python3 -m pip could not be started: {error}"))?;
    if !status.success() {
        return Err("pip could not fetch the pinned packages".to_owned());
    }
    match missing() {
        Some(path) => Err(format!("the pinned packages hold no {}", path.display())),
        None => Ok(()),
    }
}
