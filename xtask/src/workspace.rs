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

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a key in a TOML text that has it once.
    fn value(text: &str, key: &str) -> String {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.trim_matches([' ', '=', '"']).to_owned()
    }

    #[test]
    fn the_oldest_compiler_that_packages_name_is_the_one_that_builds_everything() -> Result<(), String> {
        let read = |name: &str| std::fs::read_to_string(root()?.join(name)).map_err(at(Path::new(name)));
        let declared = value(&read("Cargo.toml")?, "rust-version");
        let pinned = value(&read("rust-toolchain.toml")?, "channel");
        assert!(!declared.is_empty() && pinned == format!("{declared}.0"), "{declared:?}, {pinned:?}");
        Ok(())
    }

    #[test]
    fn every_published_package_has_its_licences_and_no_tests() -> Result<(), String> {
        let crates = root()?.join("crates");
        let mut published = 0;
        for entry in std::fs::read_dir(&crates).map_err(at(&crates))? {
            let folder = entry.map_err(at(&crates))?.path();
            let manifest = folder.join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).map_err(at(&manifest))?;
            if text.contains("\npublish = false\n") {
                continue;
            }
            published += 1;
            for setting in ["readme.workspace = true", "include.workspace = true", "description = "] {
                assert!(text.contains(setting), "{}: no {setting}", manifest.display());
            }
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                let path = folder.join(licence);
                assert!(path.is_file(), "no {}: ln -s ../../{licence} {}", path.display(), path.display());
            }
        }
        assert!(published >= 13);
        Ok(())
    }
}
