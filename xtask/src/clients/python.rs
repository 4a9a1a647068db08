//! The clients in Python: the published wheels, pinned by hash, each in an environment of its own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::command::run_in;
use super::{Folders, Obstacle, build, fetch, reason};
use crate::workspace::at;

/// Python versions with pinned hashes, as an interpreter names its ABI.
const VERSIONS: [&str; 4] = ["cpython-311-", "cpython-312-", "cpython-313-", "cpython-314-"];
const SYSTEMS: [&str; 2] = ["x86_64-linux-gnu", "aarch64-linux-gnu"];

const INTERFACE: &str = "import sysconfig; print(sysconfig.get_config_var('SOABI'))";

pub(super) fn prepare(folders: &Folders) -> Result<Command, Obstacle> {
    let interface = interface(folders)?;
    let (environment, requirements) = (folders.made.join("environment"), folders.source.join("requirements.txt"));
    let pinned = fs::read_to_string(&requirements).map_err(at(&requirements)).map_err(Obstacle::Broken)?;
    // Written last, so that an environment with it is complete.
    let (stamp, complete) = (environment.join("complete"), format!("{interface}\n{pinned}"));
    let python = environment.join("bin/python");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&complete) {
        create(folders, &environment)?;
        install(folders, &python, &requirements)?;
        fs::write(&stamp, complete).map_err(at(&stamp)).map_err(Obstacle::Broken)?;
    }
    let mut client = Command::new(python);
    client.arg("-B").arg(folders.source.join("client.py")).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    Ok(client)
}

/// The interpreter's binary interface, if there are hashes for it.
fn interface(folders: &Folders) -> Result<String, Obstacle> {
    let mut python = Command::new("python3");
    let ended = run_in(&folders.made, python.args(["-c", INTERFACE]), Duration::from_secs(30));
    let ended = ended.map_err(Obstacle::Missing)?;
    if !ended.succeeded() {
        return Err(Obstacle::Missing(format!("python3 does not work: {}", reason(&ended))));
    }
    let interface = ended.output.trim();
    if is_pinned(interface) {
        return Ok(interface.to_owned());
    }
    Err(Obstacle::Missing(format!(
        "the wheels are pinned for CPython 3.11 to 3.14 on Linux, and python3 is {interface}"
    )))
}

fn is_pinned(interface: &str) -> bool {
    VERSIONS.iter().any(|version| interface.strip_prefix(version).is_some_and(|system| SYSTEMS.contains(&system)))
}

fn create(folders: &Folders, environment: &Path) -> Result<(), Obstacle> {
    let mut python = Command::new("python3");
    python.args(["-m", "venv", "--clear"]).arg(environment);
    let ended = run_in(&folders.made, &mut python, Duration::from_secs(60)).map_err(Obstacle::Missing)?;
    if ended.succeeded() {
        return Ok(());
    }
    Err(Obstacle::Missing(format!("python3 -m venv does not work: {}", reason(&ended))))
}

/// Fetching and installing are two steps, because only the first may fail for want of a registry.
fn install(folders: &Folders, python: &Path, requirements: &Path) -> Result<(), Obstacle> {
    let wheels = folders.made.join("wheels");
    let pip = |verb: &str| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
        pip.arg("--only-binary=:all:").arg("--requirement").arg(requirements);
        pip
    };
    let mut fetching = pip("download");
    fetch(
        folders,
        "what requirements.txt names",
        fetching.args(["--timeout", "15", "--retries", "1", "--dest"]).arg(&wheels),
    )?;
    build(folders, pip("install").args(["--no-index", "--find-links"]).arg(&wheels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_interpreters_with_pinned_wheels_are_used() {
        for pinned in ["cpython-311-x86_64-linux-gnu", "cpython-314-aarch64-linux-gnu"] {
            assert!(is_pinned(pinned), "{pinned}");
        }
        for other in
            ["cpython-310-x86_64-linux-gnu", "cpython-313t-x86_64-linux-gnu", "cpython-312-x86_64-linux-musl", "None"]
        {
            assert!(!is_pinned(other), "{other}");
        }
    }
}
