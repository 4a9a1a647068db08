//! `warploom sim`: any program on a simulated machine.
//!
//! ```text
//! program: can it run? ─▶ libraries, environment ─▶ run: child, signals ─▶ journals of its processes
//!                                                                           └─▶ summary, report, timeline, page
//! ```

mod environment;
mod html;
mod journal;
mod outputs;
mod program;
mod run;
mod signals;
mod timeline;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;
use warploom_sim::fault::Plan;

use self::environment::Environment;
use self::outputs::OutputFile;
use self::program::Program;
use super::Run;
use crate::choice::MachineName;
use crate::failure::{Failure, code};
use crate::human;
use crate::libraries::Libraries;
use crate::report::SimReport;
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom sim -- ./program args                          on one simulated H200
  warploom sim --machine dgx-h100 -- python3 train.py     on eight H100
  warploom sim --check=fail -- ./tests                    findings (races, leaks …) fail the run
  warploom sim --check --html run.html -- ./program       a page with timeline, findings, memory and kernels
  warploom sim --seed 7 --faults faults.toml -- ./tests   another legal order, with failing calls
  warploom sim --explain                                  the environment, without running anything

Exit codes:
  the program's own; 128 + n if signal n killed it
  2    the command line is wrong
  3    the program succeeded, and with --check=fail there were findings
  125  nothing was run: a file could not be written, or a machine or plan could not be read
  126  the program is there and cannot run on the simulated driver
  127  there is no such program

The summary goes to standard error. Programs on the CUDA runtime library (libcudart) and cubins without PTX
do not run on a simulated machine.";

/// Arguments of `warploom sim`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The simulated machine: a preset, or a topology file; without it, one H200
    #[arg(long, value_name = "NAME")]
    machine: Option<MachineName>,
    /// Check the program: report findings, or let them fail the run (exit code 3)
    #[arg(
        long,
        value_name = "EFFECT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "report"
    )]
    check: Option<Check>,
    /// Fail driver calls by a plan in TOML
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Run work in a random legal order, the same for each run with this number
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Write a timeline of all processes, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Write an HTML page of all processes: timeline, findings, links, memory, kernels, calls
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write calls, bytes and findings of all processes as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the environment of the program and its reasons; run nothing
    #[arg(long)]
    explain: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required_unless_present = "explain")]
    program: Vec<OsString>,
}

/// The effect of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Check {
    Report,
    Fail,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let before = |failure: Failure| Failure { code: code::NOT_STARTED, ..failure };
        self.check_input().map_err(before)?;
        let name = self.program.first().map(OsString::as_os_str);
        let program = name.map(|name| Program::find(name, std::env::var_os("PATH"))).transpose()?;
        let libraries = Libraries::place(session.carried).map_err(before)?;
        let mut environment = Environment::of(self, &libraries);
        let Some(program) = program.filter(|_| !self.explain) else {
            return session.show(&environment.settings, |style| human::environment(&environment.settings, style));
        };
        let output = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::prepare).transpose();
        let (timeline, page) = (output(&self.timeline).map_err(before)?, output(&self.html).map_err(before)?);
        let report_file = output(&self.report).map_err(before)?;
        let folder = run::Folder::create().map_err(before)?;
        environment.add_run(&folder.path, timeline.is_some(), page.is_some());

        let exit = run::run(&program, self.program.get(1..).unwrap_or_default(), &environment)?;
        let mut report = SimReport::new(self.program.iter().map(|word| text(word)).collect(), exit);
        report.processes = journal::read(&folder.path)?;
        report.add_up();
        if report.processes.is_empty() {
            report.no_calls = Some(no_calls(&program));
        }
        summarize(&report, session)?;
        if let Some(file) = report_file {
            file.write(|writer| Ok(serde_json::to_writer_pretty(writer, &report)?))?;
        }
        if let Some(file) = timeline {
            file.write(|writer| timeline::merge(&folder.path, writer))?;
        }
        // Without a record there is nothing to show: no call arrived, or every process was killed.
        if let Some(file) = page.filter(|_| report.processes.iter().any(|process| process.report.is_some())) {
            file.write(|writer| html::write(&folder.path, writer))?;
        }
        Ok(Output { text: String::new(), code: self.code(&report) })
    }
}

impl Args {
    /// Refuses a machine or a plan that cannot be read, before anything runs.
    fn check_input(&self) -> Result<(), Failure> {
        if let Some(machine) = &self.machine {
            machine.topology().map_err(|error| Failure::new(error).hint("`warploom presets` lists the machines"))?;
        }
        if let Some(faults) = &self.faults {
            drop(Plan::from_toml_file(faults)?);
        }
        Ok(())
    }

    /// The exit code: the program's, unless it succeeded and findings fail the run.
    fn code(&self, report: &SimReport) -> u8 {
        match report.exit.code() {
            code::SUCCESS if self.check == Some(Check::Fail) && report.totals.findings > 0 => code::FINDINGS,
            own => own,
        }
    }
}

/// The summary, on standard error: standard output is the program's.
fn summarize(report: &SimReport, session: &Session) -> Result<(), Failure> {
    let text = session.show(report, |_| human::sim(report))?.text;
    match std::io::stderr().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Likely reasons for a run without a call.
fn no_calls(program: &Program) -> String {
    match program.own_driver() {
        Some(folder) => format!(
            "the program finds {} before the simulated driver, by its DT_RPATH; link it with \
             -Wl,--enable-new-dtags, or remove that path with patchelf",
            folder.join("libcuda.so.1").display()
        ),
        None => "the program makes no CUDA call, or opens libcuda by an absolute path, or starts its CUDA part \
                 without this environment (a container, ssh, sudo, a static or setuid program)"
            .to_owned(),
    }
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
