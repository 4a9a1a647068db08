//! Journal of a process in the folder of a run.
//!
//! Each process has a file of its own with a JSON object a line: `start`, a `finding` when it is found, and
//! at exit `end` with the report. A process that is killed leaves the lines before its end.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use serde::Serialize;
use warploom_sim::Finding;

use crate::complaint::complain;
use crate::report::Report;
use crate::settings::Settings;

/// The most arguments of a program that are written down, and the most characters of each.
const ARGUMENTS: (usize, usize) = (16, 200);
/// The most files of one process number: programs that replace each other by `exec`, and numbers used again.
const SAME_NUMBER: u32 = 1000;

/// The file of this process.
#[derive(Debug)]
pub(crate) struct Journal(File);

/// A line of a journal.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Start { process: u32, parent: u32, arguments: Vec<String>, machine: &'a str, devices: usize },
    Finding { text: String, finding: &'a Finding },
    End { texts: Vec<String>, report: &'a Report },
}

impl Journal {
    /// Creates the file of this process, with the line `start`.
    pub(crate) fn create(folder: &Path, settings: &Settings) -> io::Result<Self> {
        let journal = Self(new_file(folder, std::process::id())?);
        let (most, longest) = ARGUMENTS;
        let short = |text: std::ffi::OsString| text.to_string_lossy().chars().take(longest).collect();
        journal.write(&Line::Start {
            process: std::process::id(),
            parent: std::os::unix::process::parent_id(),
            arguments: std::env::args_os().take(most).map(short).collect(),
            machine: &settings.name,
            devices: settings.topology.devices.len(),
        })?;
        Ok(journal)
    }

    pub(crate) fn finding(&self, finding: &Finding) {
        self.write_or_complain(&Line::Finding { text: finding.to_string(), finding });
    }

    pub(crate) fn end(&self, report: &Report) {
        self.write_or_complain(&Line::End { texts: report.finding_texts(), report });
    }

    fn write_or_complain(&self, line: &Line<'_>) {
        if let Err(error) = self.write(line) {
            complain(format_args!("the journal of process {} could not be written: {error}", std::process::id()));
        }
    }

    /// One write for a line, so that lines of several threads do not mix.
    fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        (&self.0).write_all(&text)
    }
}

/// A file that no other process has.
fn new_file(folder: &Path, process: u32) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create_new(true);
    for number in 0..SAME_NUMBER {
        let name = if number == 0 { format!("{process}.jsonl") } else { format!("{process}-{number}.jsonl") };
        match options.open(folder.join(name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
