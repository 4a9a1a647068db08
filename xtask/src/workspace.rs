//! The root of the workspace, and its cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The workspace's root folder.
pub(crate) fn root() -> Result<&'static Path, String> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or_else(|| "xtask has no parent folder".to_owned())
}

/// Builds something; what cargo reports about each thing it built. Compiler messages go to the terminal.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<Value>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root()?)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {} failed", arguments.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(artifact).collect())
}

/// A line of cargo's report, if it is about something that was built.
pub(crate) fn artifact(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(|message: &Value| message["reason"] == "compiler-artifact")
}

/// Adds the path to an error of the file system.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    let path = PathBuf::from(path);
    move |error| format!("{}: {error}", path.display())
}
