//! The documentation of the workspace as data, which `rustdoc` writes only if it takes unstable options.
//!
//! A stable toolchain takes them with `RUSTC_BOOTSTRAP` set. For all of cargo, that would compile most
//! dependencies again, whose build scripts ask for it. So cargo is given this program as its `rustdoc`, which
//! sets the variable for the real one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::workspace::root;

/// Set for the processes that stand in for `rustdoc`.
const STAND_IN: &str = "WARPLOOM_XTASK_IS_RUSTDOC";

/// Documents the workspace; the folder with a file for each library.
pub(super) fn document() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("the path of this program is not known: {error}"))?;
    let mut flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
    flags.push_str(" -Zunstable-options --output-format=json");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root()?)
        .args(["doc", "--quiet", "--workspace", "--no-deps"])
        .env("RUSTDOC", this)
        .env(STAND_IN, "1")
        .env("RUSTDOCFLAGS", flags)
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if !status.success() {
        return Err("cargo doc failed".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    Ok(root()?.join(target).join("doc"))
}

/// Runs the real `rustdoc` if this process stands in for it.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    std::env::var_os(STAND_IN)?;
    let status = Command::new("rustdoc").args(std::env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status();
    Some(match status.map(|status| status.code()) {
        Ok(Some(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        _ => ExitCode::FAILURE,
    })
}
