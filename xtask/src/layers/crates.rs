//! Dependencies between the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::table::CRATES;

/// Each crate's folder with the folders of the crates that it needs outside of its tests.
pub(crate) type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// Asks cargo for them.
pub(crate) fn dependencies(root: &Path) -> Result<Dependencies, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .output()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(of_metadata(&metadata))
}

/// Reads cargo's metadata.
pub(crate) fn of_metadata(metadata: &Value) -> Dependencies {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let folder = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut all = Dependencies::new();
    for package in packages {
        let manifest = package["manifest_path"].as_str().and_then(|path| path.strip_suffix("/Cargo.toml"));
        let Some(name) = manifest.and_then(folder) else { continue };
        let needed = package["dependencies"].as_array().into_iter().flatten();
        let needed = needed.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        all.insert(name, needed.filter_map(|dependency| dependency["path"].as_str().and_then(folder)).collect());
    }
    all
}

/// The dependencies as text, from the top down.
pub(crate) fn table(dependencies: &Dependencies) -> String {
    let mut out = "crates\n".to_owned();
    for row in CRATES {
        let Some(needed) = dependencies.get(row.name) else { continue };
        let needed = needed.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "  {:<10} → {:<26} {}", row.name, needed, row.job);
    }
    out
}

/// Dependencies that the table does not have, and crates without a row in it.
pub(crate) fn problems(dependencies: &Dependencies) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, needed) in dependencies {
        match CRATES.iter().find(|row| row.name == name) {
            None => problems.push(format!("crate `{name}` is not in the table")),
            Some(row) => problems.extend(
                needed
                    .iter()
                    .filter(|other| !row.may_use.contains(&other.as_str()))
                    .map(|other| format!("crates/{name}/Cargo.toml: {name} → {other}")),
            ),
        }
    }
    problems
}
