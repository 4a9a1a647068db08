//! The clients on cudarc: packages with lock files of their own.

use std::process::Command;

use super::{Folders, Obstacle, build, fetch};

pub(super) fn prepare(folders: &Folders) -> Result<Command, Obstacle> {
    fetch_and(folders, "build")?;
    Ok(Command::new(folders.made.join("build/debug/warploom-client-cudarc")))
}

/// Sees that a program compiles, without the time that it takes to make it.
pub(super) fn check(folders: &Folders) -> Result<(), Obstacle> {
    fetch_and(folders, "check")
}

fn fetch_and(folders: &Folders, verb: &str) -> Result<(), Obstacle> {
    // A registry that does not answer is given up soon: nothing waits for it but this.
    let mut fetching = cargo(folders, "fetch");
    fetch(folders, "cudarc", fetching.env("CARGO_NET_RETRY", "1").env("CARGO_HTTP_TIMEOUT", "20"))?;
    let mut building = cargo(folders, verb);
    build(folders, building.arg("--offline").arg("--target-dir").arg(folders.made.join("build")))
}

fn cargo(folders: &Folders, verb: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([verb, "--locked", "--manifest-path"]).arg(folders.source.join("Cargo.toml"));
    // It would put the program into another folder.
    cargo.env_remove("CARGO_BUILD_TARGET");
    cargo
}
