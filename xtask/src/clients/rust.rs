//! The clients in Rust: packages with lock files of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{FETCH, Folders, Obstacle, build, build_within, fetch_within};
use crate::workspace::at;

/// The time limit for building all that burn needs.
const LARGE_BUILD: Duration = Duration::from_secs(3600);
/// The time limit for fetching it.
const LARGE_FETCH: Duration = Duration::from_secs(600);

pub(super) fn cudarc(folders: &Folders) -> Result<Command, Obstacle> {
    fetched(folders, "cudarc", FETCH)?;
    build(folders, &mut cargo(folders, "build"))?;
    Ok(Command::new(program(folders, "cudarc")))
}

/// Checks that a program on cudarc compiles, without the time that it takes to make it.
pub(super) fn compiles(folders: &Folders) -> Result<(), Obstacle> {
    fetched(folders, "cudarc", FETCH)?;
    build(folders, &mut cargo(folders, "check"))
}

/// The client on burn, which compiles kernels with NVRTC and NVIDIA's headers while it runs.
pub(super) fn burn(folders: &Folders) -> Result<Command, Obstacle> {
    let toolkit = toolkit(folders)?;
    fetched(folders, "burn", LARGE_FETCH)?;
    build_within(folders, &mut cargo(folders, "build"), LARGE_BUILD)?;
    // Results of tuning are kept where the program runs, and each run shall tune.
    let scratch = folders.made.join("run");
    let written = || -> Result<(), String> {
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(at(&scratch))?;
        }
        fs::create_dir_all(&scratch).map_err(at(&scratch))?;
        let settings = scratch.join("cubecl.toml");
        fs::write(&settings, "[autotune]\ncache = \"local\"\nlevel = \"minimal\"\n").map_err(at(&settings))
    };
    written().map_err(Obstacle::Broken)?;
    let mut client = Command::new(program(folders, "burn"));
    client.current_dir(scratch).env("LD_LIBRARY_PATH", toolkit.join("lib")).env("CUDA_PATH", toolkit);
    Ok(client)
}

/// A folder with NVRTC in `lib` and NVIDIA's headers in `include`, from the wheels of `requirements.txt`.
fn toolkit(folders: &Folders) -> Result<PathBuf, Obstacle> {
    let (wheels, requirements) = (folders.made.join("wheels"), folders.source.join("requirements.txt"));
    let pinned = fs::read_to_string(&requirements).map_err(at(&requirements)).map_err(Obstacle::Broken)?;
    // Written last, so that a folder with it is complete.
    let stamp = wheels.join("complete");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&pinned) {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
        pip.args(["--only-binary=:all:", "--upgrade", "--timeout", "15", "--retries", "1", "--requirement"]);
        pip.arg(&requirements).arg("--target").arg(&wheels);
        fetch_within(folders, "NVRTC", &mut pip, LARGE_FETCH)?;
        fs::write(&stamp, pinned).map_err(at(&stamp)).map_err(Obstacle::Broken)?;
    }
    Ok(wheels.join("nvidia/cu13"))
}

fn fetched(folders: &Folders, what: &str, limit: Duration) -> Result<(), Obstacle> {
    // A registry that does not answer is given up soon: nothing waits for it but this.
    let mut fetching = command(folders, "fetch");
    fetching.env("CARGO_NET_RETRY", "1").env("CARGO_HTTP_TIMEOUT", "20");
    fetch_within(folders, what, &mut fetching, limit)
}

fn program(folders: &Folders, name: &str) -> PathBuf {
    folders.made.join(format!("build/debug/warploom-client-{name}"))
}

fn cargo(folders: &Folders, verb: &str) -> Command {
    let mut cargo = command(folders, verb);
    cargo.arg("--offline").arg("--target-dir").arg(folders.made.join("build"));
    cargo
}

fn command(folders: &Folders, verb: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([verb, "--locked", "--manifest-path"]).arg(folders.source.join("Cargo.toml"));
    // One would put the program into another folder, the other would build all that it needs a second time.
    cargo.env_remove("CARGO_BUILD_TARGET").env_remove("CARGO_PROFILE_DEV_DEBUG");
    cargo
}
