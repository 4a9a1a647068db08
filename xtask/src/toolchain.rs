//! Nightly toolchains, and the components they have.

use std::path::PathBuf;
use std::process::Command;

/// An installed toolchain.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// Its name, or its folder, as rustup takes it.
    name: String,
    sysroot: PathBuf,
}

impl Toolchain {
    /// A toolchain by its name or folder; the error says why its compiler cannot be asked or used.
    pub(crate) fn find(name: &str) -> Result<Toolchain, String> {
        let output = rustup(name, "rustc")
            .args(["--print", "sysroot"])
            .output()
            .map_err(|error| format!("rustc could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("no toolchain {name}; rustup toolchain install {name}"));
        }
        let toolchain =
            Toolchain { name: name.to_owned(), sysroot: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) };
        let version = rustup(name, "rustc").arg("--version").output();
        let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        match version {
            Ok(version) if version.contains("nightly") || version.contains("dev") => Ok(toolchain),
            Ok(version) => Err(format!("a nightly compiler is needed, and {name} is {version}")),
            Err(error) => Err(format!("rustc could not be started: {error}")),
        }
    }

    /// Its cargo.
    pub(crate) fn cargo(&self) -> Command {
        rustup(&self.name, "cargo")
    }

    /// The reason why programs cannot be linked with a sanitizer's run-time library.
    pub(crate) fn lacks_runtime(&self, target: &str, name: &str) -> Option<String> {
        let folder = self.sysroot.join("lib/rustlib").join(target).join("lib");
        let suffix = format!("_rt.{name}.a");
        let is_there = std::fs::read_dir(&folder)
            .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().ends_with(&suffix)));
        (!is_there).then(|| format!("no *{suffix} in {}", folder.display()))
    }

    /// The reason why the standard library cannot be built.
    pub(crate) fn lacks_source(&self) -> Option<String> {
        let is_there = self.sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file();
        (!is_there).then(|| self.missing("rust-src"))
    }

    /// The reason why Miri cannot be started.
    pub(crate) fn lacks_miri(&self) -> Option<String> {
        let is_there = self.sysroot.join("bin/cargo-miri").is_file();
        (!is_there).then(|| self.missing("miri"))
    }

    fn missing(&self, component: &str) -> String {
        format!("no {component}; rustup component add {component} --toolchain {}", self.name)
    }
}

/// A program of a toolchain, through rustup's proxy. The toolchain that runs this task is not handed on.
fn rustup(toolchain: &str, program: &str) -> Command {
    let mut command = Command::new(program);
    for inherited in ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTDOCFLAGS"] {
        command.env_remove(inherited);
    }
    command.env("RUSTUP_TOOLCHAIN", toolchain);
    command
}
