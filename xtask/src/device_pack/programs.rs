//! The workspace's test and benchmark programs: built by cargo, found in what it reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The folder of its crate and its own name, such as `sim-streams`.
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) path: PathBuf,
}

/// What a program is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    Test,
    Bench,
}

/// Builds every test and every benchmark, optimised and stripped.
pub(super) fn build(root: &Path) -> Result<Vec<Program>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["test", "--workspace", "--tests", "--benches", "--no-run", "--profile", "device"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err("the tests and benchmarks do not build".to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect())
}

/// The program that a line of cargo's report is about, if it is about one.
pub(super) fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?;
    let target = message["target"]["name"].as_str()?;
    let role = match message["target"]["kind"][0].as_str()? {
        "bench" => Role::Bench,
        _ if message["profile"]["test"] == true => Role::Test,
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
        .map_err(|error| format!("{}: {error}", program.path.display()))?;
    if !output.status.success() {
        return Err(format!("{} does not list its tests", program.path.display()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).filter(for_device).map(str::to_owned).collect())
}

fn for_device(name: &&str) -> bool {
    name.ends_with("::cuda")
}
