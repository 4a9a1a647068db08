//! The workspace's test and benchmark programs, from cargo's report of a build.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::workspace::{self, at};

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The folder of its crate and its own name, such as `sim-streams`.
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) path: PathBuf,
}

/// The role of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    Test,
    Bench,
}

/// Builds every test and every benchmark, optimised and stripped.
pub(super) fn build() -> Result<Vec<Program>, String> {
    let artifacts =
        workspace::build(&["test", "--no-run", "--profile", "device", "--workspace", "--tests", "--benches"])?;
    Ok(artifacts.iter().filter_map(program).collect())
}

/// The program that was built, if it was one.
pub(super) fn program(artifact: &Value) -> Option<Program> {
    let path = PathBuf::from(artifact["executable"].as_str()?);
    let folder = Path::new(artifact["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?;
    let target = artifact["target"]["name"].as_str()?;
    let role = match artifact["target"]["kind"][0].as_str()? {
        "bench" => Role::Bench,
        _ if artifact["profile"]["test"] == true => Role::Test,
        // The command itself, which its tests start.
        _ => return None,
    };
    Some(Program { name: format!("{folder}-{target}"), role, path })
}

/// The tests of a program that need a GPU: those that `driver_tests!` calls `cuda`.
pub(super) fn device_tests(program: &Program) -> Result<Vec<String>, String> {
    let output = Command::new(&program.path)
        .args(["--list", "--ignored", "--format=terse"])
        .output()
        .map_err(at(&program.path))?;
    if !output.status.success() {
        return Err(format!("{} does not list its tests", program.path.display()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).filter(for_device).map(str::to_owned).collect())
}

fn for_device(name: &&str) -> bool {
    name.ends_with("::cuda")
}
