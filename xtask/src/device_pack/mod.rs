//! Packs a run for a machine with a GPU and without cargo: every test that needs one, every benchmark, and a
//! script.
//!
//! ```text
//! device-pack/run.sh             runs everything below and prints a table
//! device-pack/programs.tar.xz    tests/sim-streams        a test program, stripped
//!                                tests/sim-streams.list   the names of its tests for a GPU
//!                                benches/driver-calls     a benchmark, stripped
//! ```
//!
//! The programs go into one archive because each of them contains the simulator: dozens of times three
//! megabytes, which compress to a fifteenth together.

mod archive;
mod programs;
#[cfg(test)]
mod tests;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use self::archive::archive;
use self::programs::{Program, Role};
use crate::workspace::{at, root};

/// The folder of the pack unless another is named: in the workspace's root, where git ignores it.
const FOLDER: &str = "device-pack";

const SCRIPT: &str = include_str!("run.sh");
const SCRIPT_NAME: &str = "run.sh";

const MIB: f64 = 1_048_576.0;

/// Builds everything and fills the folder anew.
pub(crate) fn pack(folder: Option<&str>) -> Result<String, String> {
    let folder = &match folder {
        Some(folder) => PathBuf::from(folder),
        None => root()?.join(FOLDER),
    };
    clear(folder)?;
    let (mut tests, mut programs, mut benches) = (0, 0, 0);
    for program in programs::build()? {
        match program.role {
            Role::Test => {
                let names = programs::device_tests(&program)?;
                if names.is_empty() {
                    continue;
                }
                tests += names.len();
                programs += 1;
                put(&program, &folder.join("tests"))?;
                let list = folder.join("tests").join(format!("{}.list", program.name));
                write(&list, &(names.join("\n") + "\n"))?;
            }
            Role::Bench => {
                benches += 1;
                put(&program, &folder.join("benches"))?;
            }
        }
    }
    let script = folder.join(SCRIPT_NAME);
    write(&script, SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).map_err(at(&script))?;
    let (unpacked, packed) = archive(folder)?;
    let (unpacked, packed) = (unpacked as f64 / MIB, packed as f64 / MIB);
    let folder = folder.display();
    Ok(format!(
        "device-pack: {tests} tests in {programs} programs and {benches} benchmarks, {unpacked:.0} MiB \
         packed into {packed:.1} MiB, in {folder}\n\
         copy the folder to a machine with a GPU and start {folder}/{SCRIPT_NAME}"
    ))
}

/// Empties the folder, if it is one of ours.
fn clear(folder: &Path) -> Result<(), String> {
    let occupied = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if occupied && !folder.join(SCRIPT_NAME).is_file() {
        return Err(format!("{} is not empty and not a device pack; name another folder", folder.display()));
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    fs::create_dir_all(folder).map_err(at(folder))
}

/// Copies a program.
fn put(program: &Program, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    let target = folder.join(&program.name);
    if target.exists() {
        return Err(format!("two programs would be called {}", target.display()));
    }
    fs::copy(&program.path, &target).map_err(at(&program.path))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(at(path))
}
