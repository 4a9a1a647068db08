//! The archive of programs: tar and xz, with one dictionary over all of them.
//!
//! Every test program links the simulator and the core, so most of its code is in the others too, at the same
//! place relative to its neighbours. A dictionary as long as all programs together finds each repetition;
//! gzip's 32 KiB find none of them. Unpacking needs the dictionary's size in memory, packing about eleven
//! times as much.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::at;

/// The name of the archive in the pack.
pub(super) const ARCHIVE: &str = "programs.tar.xz";

/// The folders that it holds.
const PARTS: [&str; 2] = ["tests", "benches"];

const MIB: u64 = 1 << 20;

/// The longest dictionary, in MiB. Packing with it takes 6 GB of memory.
const LONGEST_DICTIONARY: u64 = 512;

/// Moves the programs of a pack into its archive; the sizes before and after, in bytes.
pub(super) fn archive(folder: &Path) -> Result<(u64, u64), String> {
    let files = files(folder)?;
    if files.is_empty() {
        return Err("there is neither a test for a GPU nor a benchmark".to_owned());
    }
    let mut size = 0;
    for file in &files {
        let path = folder.join(file);
        size += fs::metadata(&path).map_err(at(&path))?.len();
    }
    let path = folder.join(ARCHIVE);
    compress(folder, &files, size, &path)?;
    for part in PARTS.map(|part| folder.join(part)).iter().filter(|part| part.is_dir()) {
        fs::remove_dir_all(part).map_err(at(part))?;
    }
    Ok((size, fs::metadata(&path).map_err(at(&path))?.len()))
}

/// The files to archive, relative to the pack and sorted by name, so that programs of one crate follow each
/// other.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for part in PARTS.iter().filter(|part| folder.join(part).is_dir()) {
        let source = folder.join(part);
        for entry in fs::read_dir(&source).map_err(at(&source))? {
            files.push(Path::new(part).join(entry.map_err(at(&source))?.file_name()));
        }
    }
    files.sort();
    Ok(files)
}

/// Runs `tar | xz` over files of `size` bytes together.
fn compress(folder: &Path, files: &[PathBuf], size: u64, target: &Path) -> Result<(), String> {
    let dictionary = size.div_ceil(MIB).clamp(1, LONGEST_DICTIONARY);
    let mut tar = Command::new("tar")
        .args(["--create", "--file=-", "--"])
        .args(files)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("tar could not be started: {error}"))?;
    let programs = tar.stdout.take().ok_or("tar has no output")?;
    // One thread: several would each begin with an empty dictionary.
    let xz = Command::new("xz")
        .args(["--compress", "--stdout", "--threads=1", &format!("--lzma2=preset=6,dict={dictionary}MiB")])
        .stdin(programs)
        .stdout(File::create(target).map_err(at(target))?)
        .status();
    let tar = tar.wait().map_err(|error| format!("tar: {error}"))?;
    let xz = xz.map_err(|error| format!("xz could not be started: {error}; install xz-utils"))?;
    if !xz.success() {
        return Err(format!("xz could not write {}, with a dictionary of {dictionary} MiB: {xz}", target.display()));
    }
    if !tar.success() {
        return Err(format!("tar could not read the programs in {}: {tar}", folder.display()));
    }
    Ok(())
}
