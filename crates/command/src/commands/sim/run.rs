//! The run itself: the folder of its files, and the child.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use super::environment::Environment;
use super::program::Program;
use super::signals::Signals;
use crate::failure::{Failure, code};
use crate::report::Exit;

/// A private folder for the files of one run, removed with it.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
}

impl Folder {
    pub(super) fn create() -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let base = std::env::temp_dir();
        for attempt in 0..100 {
            let path = base.join(format!("warploom-run-{}-{now:x}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Ok(()) => return Ok(Self { path }),
                Err(error) => return Err(Failure::file(&path, error).hint("set TMPDIR to a folder of your own")),
            }
        }
        Err(Failure::file(&base, "no folder can be created in it").hint("set TMPDIR to a folder of your own"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Processes that outlive the program may still write here; their files are left to the system.
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// Runs the program until it ends. Signals go to it.
pub(super) fn run(program: &Program, arguments: &[OsString], environment: &Environment) -> Result<Exit, Failure> {
    let mut command = Command::new(&program.path);
    command.args(arguments).envs(environment.values());
    let signals = Signals::block(&mut command);
    let mut child = command.spawn().map_err(|error| Failure {
        code: if error.kind() == ErrorKind::NotFound { code::NOT_FOUND } else { code::CANNOT_RUN },
        ..Failure::file(&program.path, error)
    })?;
    let forwarding = signals.forward_to(child.id());
    let status = child.wait()?;
    forwarding.end();
    Ok(Exit { code: status.code(), signal: status.signal() })
}
