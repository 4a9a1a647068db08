//! Commands with a time limit and a log file.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::workspace::at;

/// A command that is over.
pub(super) struct Ended {
    /// None if it had to be ended.
    pub(super) status: Option<ExitStatus>,
    /// All it said, on both its outputs.
    pub(super) output: String,
}

impl Ended {
    pub(super) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a command; its output is left in the file `output` of the folder. An error means that it could not be
/// started.
pub(super) fn run_in(folder: &Path, command: &mut Command, limit: Duration) -> Result<Ended, String> {
    // A file, not a pipe: a child that the command leaves running may hold a pipe open for ever.
    let path = folder.join("output");
    let file = File::create(&path).map_err(at(&path))?;
    let same = file.try_clone().map_err(at(&path))?;
    let started = command.stdin(Stdio::null()).stdout(file).stderr(same).spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{} is not there", command.get_program().display()),
        _ => format!("{} could not be started: {error}", command.get_program().display()),
    })?;
    let name = command.get_program().to_owned();
    let lost = |error| format!("{} could not be waited for: {error}", name.display());
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait().map_err(lost)? {
            Some(status) => break Some(status),
            None if Instant::now() < deadline => sleep(Duration::from_millis(10)),
            None => {
                child.kill().map_err(lost)?;
                child.wait().map_err(lost)?;
                break None;
            }
        }
    };
    let output = fs::read(&path).map_err(at(&path))?;
    Ok(Ended { status, output: String::from_utf8_lossy(&output).into_owned() })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn run(script: &str, limit: Duration) -> Ended {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("warploom-command-{}-{run}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let ended = run_in(&folder, Command::new("sh").args(["-c", script]), limit);
        fs::remove_dir_all(&folder).unwrap();
        ended.unwrap()
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let ended = run("exec sleep 600", Duration::from_millis(50));
        assert!(ended.status.is_none() && !ended.succeeded());
    }

    #[test]
    fn both_outputs_of_a_command_are_kept() {
        let ended = run("echo out; echo error >&2; exit 3", Duration::from_secs(60));
        assert_eq!(ended.output, "out\nerror\n");
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
    }
}
