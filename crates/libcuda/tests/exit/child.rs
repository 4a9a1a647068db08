//! Running a program in a process of its own.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use warploom_cuda::{REPORT_VARIABLE, TIMELINE_VARIABLE};
use warploom_driver::Driver;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Says which program a process is.
pub(crate) const PROGRAM_VARIABLE: &str = "WARPLOOM_TEST_PROGRAM";

/// The library, as any program would load the driver.
pub(crate) fn load() -> Outcome<Driver> {
    let path = std::env::current_exe()?.with_file_name("libwarploom_cuda.so");
    // SAFETY: the library is this package's own.
    Ok(unsafe { Driver::load_from(&path) }?)
}

/// A program that has ended: its output, and the folder of its files.
pub(crate) struct Ended {
    pub(crate) output: Output,
    folder: PathBuf,
}

/// A program and the variables it is given.
pub(crate) struct Program {
    command: Command,
    folder: PathBuf,
}

impl Program {
    /// A program by its name, with a folder of its own.
    pub(crate) fn named(program: &str, test: &str) -> Outcome<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exit").join(test);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => std::fs::create_dir_all(&folder)?,
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "programs::the_program_that_was_asked_for", "--ignored", "--nocapture"]);
        command.env(PROGRAM_VARIABLE, program).current_dir(&folder);
        Ok(Self { command, folder })
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    pub(crate) fn run(mut self) -> Outcome<Ended> {
        Ok(Ended { output: self.command.output()?, folder: self.folder })
    }

    /// Runs it with both a report and a timeline, and expects it to end well.
    pub(crate) fn succeed(self) -> Outcome<Ended> {
        let ended = self.with(REPORT_VARIABLE, "report.json").with(TIMELINE_VARIABLE, "timeline.json").run()?;
        assert!(ended.output.status.success(), "{}: {}", ended.output.status, ended.said());
        Ok(ended)
    }
}

impl Ended {
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The files that were left in the program's folder.
    pub(crate) fn files(&self) -> Outcome<Vec<String>> {
        let names = std::fs::read_dir(&self.folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<Outcome<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    /// A path in the program's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn json(&self, name: &str) -> Outcome<Value> {
        Ok(serde_json::from_slice(&std::fs::read(self.folder.join(name))?)?)
    }

    pub(crate) fn text(&self, name: &str) -> Outcome<String> {
        Ok(std::fs::read_to_string(self.folder.join(name))?)
    }

    /// The number of calls of a function, by the report.
    pub(crate) fn calls_of(&self, function: &str) -> Outcome<u64> {
        let report = self.json("report.json")?;
        let calls = report["calls"].as_array().ok_or("a report has calls")?.clone();
        let count = calls.iter().find(|count| count["function"] == function);
        Ok(count.and_then(|count| count["calls"].as_u64()).unwrap_or(0))
    }
}
