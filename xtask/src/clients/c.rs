//! The client in C, built by `cc` from `clients/c`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Folders, Obstacle, build};
use crate::workspace::{at, root};

/// The part that goes into a library of its own, which the program is linked with.
const LIBRARY: &str = "late_library.c";

pub(super) fn prepare(folders: &Folders) -> Result<Command, Obstacle> {
    let program = folders.made.join("client");
    let mut sources = sources(folders).map_err(Obstacle::Broken)?;
    sources.retain(|source| !source.ends_with(LIBRARY));
    let mut library = compiler();
    library.args(["-fPIC", "-shared", "-o"]).arg(folders.made.join("liblate.so"));
    build(folders, library.arg(folders.source.join(LIBRARY)))?;
    let mut link = compiler();
    // The lists of names that the client looks for.
    let lists = root().map_err(Obstacle::Broken)?.join("crates/sys");
    link.arg(format!("-DSYS_FOLDER=\"{}\"", lists.display()));
    link.args(["-pthread", "-o"]).arg(&program).args(sources).arg("-L").arg(&folders.made);
    build(folders, link.args(["-llate", "-ldl", "-Wl,-rpath,$ORIGIN"]))?;
    Ok(Command::new(program))
}

fn compiler() -> Command {
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-g"]);
    compiler
}

fn sources(folders: &Folders) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(&folders.source).map_err(at(&folders.source))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(at(&folders.source)));
    let mut sources: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    Ok(sources)
}
