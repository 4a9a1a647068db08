//! `cargo xtask targets`: the crates compile for other platforms than this one.
//!
//! A check needs the standard library of the target. It is installed with the toolchain
//! (`rustup target add TARGET`), or built for the check by a nightly toolchain that has `rust-src`. A target for
//! which neither can be had is listed as skipped with the command that installs it.

use std::path::PathBuf;
use std::process::Command;

use crate::toolchain::Toolchain;
use crate::workspace::root;

/// A platform, and the packages that compile for it.
struct Target {
    name: &'static str,
    packages: &'static [&'static str],
}

/// Packages without calls of the operating system, and the safe library with the driver below it.
const PORTABLE: &[&str] = &[
    "warploom",
    "warploom-bytes",
    "warploom-derive",
    "warploom-driver",
    "warploom-engine",
    "warploom-ptx",
    "warploom-sys",
    "warploom-topology",
];

/// Every package but the chores.
const LINUX: &[&str] = &["warploom", "warploom-cli", "warploom-libcuda", "warploom-sim", "warploom-test"];

const TARGETS: &[Target] = &[
    Target { name: "x86_64-pc-windows-msvc", packages: PORTABLE },
    Target { name: "aarch64-apple-darwin", packages: PORTABLE },
    Target { name: "aarch64-unknown-linux-gnu", packages: LINUX },
];

/// Checks every target that can be checked here.
pub(crate) fn check(toolchain: &str) -> Result<String, String> {
    let (mut checked, mut failed, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for target in TARGETS {
        match command(target, target.packages, toolchain)? {
            Ok(mut command) => {
                println!("targets: {}", target.name);
                let status = command.status().map_err(|error| format!("cargo could not be started: {error}"))?;
                let is_right =
                    status.success() && (target.packages != PORTABLE || refuses_machines(target, toolchain)?);
                if is_right { &mut checked } else { &mut failed }.push(target.name);
            }
            Err(reason) => skipped.push(format!("{} ({reason})", target.name)),
        }
    }
    for reason in &skipped {
        println!("targets: skipped {reason}");
    }
    if failed.is_empty() {
        Ok(format!("targets: {} checked, {} skipped", checked.len(), skipped.len()))
    } else {
        Err(format!("targets: the packages do not compile for {}", failed.join(", ")))
    }
}

/// `true` if simulated machines, which need Linux, are refused with that reason alone.
fn refuses_machines(target: &Target, toolchain: &str) -> Result<bool, String> {
    let Ok(mut command) = command(target, &["warploom-sim"], toolchain)? else { return Ok(false) };
    let output = command.output().map_err(|error| format!("cargo could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let is_refused = !output.status.success() && text.contains("simulated machines need Linux");
    let is_alone = !text.contains("error[E");
    if !is_refused || !is_alone {
        println!("targets: warploom-sim is not refused as it should be for {}:\n{text}", target.name);
    }
    Ok(is_refused && is_alone)
}

/// The command that checks packages for a target, or the reason why there is none.
fn command(target: &Target, packages: &[&str], nightly: &str) -> Result<Result<Command, String>, String> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let folder = root()?.join("target/targets");
    let mut command = if is_installed(target.name)? {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg("check");
        command
    } else {
        let toolchain = Toolchain::find(nightly).and_then(|toolchain| match toolchain.lacks_source() {
            Some(reason) => Err(reason),
            None => Ok(toolchain),
        });
        match toolchain {
            Ok(toolchain) => {
                let mut command = toolchain.cargo();
                command.args(["check", "-Zbuild-std"]);
                command
            }
            Err(reason) => return Ok(Err(format!("rustup target add {}; or else: {reason}", target.name))),
        }
    };
    command.current_dir(root()?).args(["--target", target.name]).args(packages).env("CARGO_TARGET_DIR", folder);
    Ok(Ok(command))
}

/// `true` if the toolchain that runs this task has the standard library of a target.
fn is_installed(target: &str) -> Result<bool, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .current_dir(root()?)
        .output()
        .map_err(|error| format!("rustc could not be started: {error}"))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(sysroot.join("lib/rustlib").join(target).join("lib").is_dir())
}
