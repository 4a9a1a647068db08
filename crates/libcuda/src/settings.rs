//! Settings of the library from environment variables.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZeroUsize;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use warploom_record::variables::{
    CHECK_KERNELS_VARIABLE, CHECK_VARIABLE, FAULTS_VARIABLE, HOST_MEMORY_VARIABLE, MACHINE_VARIABLE, MODE_VARIABLE,
    RECORD_VARIABLE, REPORT_VARIABLE, RUN_VARIABLE, TIMELINE_VARIABLE, WORKERS_VARIABLE,
};
use warploom_sim::fault::Plan;
use warploom_sim::topology::{Topology, TopologyError};
use warploom_sim::{KernelChecks, Mode, Order};

use crate::faults;

/// The machine if none is named.
const DEFAULT: &str = "h200";

/// The settings, read from the environment.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The machine, as it was described.
    pub(crate) name: String,
    pub(crate) topology: Topology,
    pub(crate) check: Check,
    pub(crate) kernels: KernelChecks,
    pub(crate) faults: Plan,
    pub(crate) report: Option<Destination>,
    pub(crate) timeline: Option<Template>,
    /// The folder of the run.
    pub(crate) run: Option<PathBuf>,
    /// The folder for the record, as an absolute path.
    pub(crate) record: Option<PathBuf>,
    pub(crate) mode: Mode,
    pub(crate) workers: Option<NonZeroUsize>,
    /// The limit of host memory, in bytes.
    pub(crate) host_memory: Option<u64>,
}

/// The level of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing, not even pointers.
    Off,
    /// Pointers: a bad one would otherwise crash the process inside this library.
    Pointers,
    /// Everything; what is found is reported.
    Report,
    /// Everything; a call in which something is found fails.
    Fail,
}

impl Check {
    /// `true` if there can be findings.
    pub(crate) fn finds(self) -> bool {
        matches!(self, Check::Report | Check::Fail)
    }
}

/// The destination of a report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    StandardError,
    File(Template),
}

/// A path in which `%p` stands for the number of the process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template(PathBuf);

/// A variable whose value means nothing.
#[derive(Debug)]
pub(crate) struct SettingError {
    variable: &'static str,
    value: OsString,
    problem: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={:?}: {}", self.variable, self.value, self.problem)
    }
}

impl Settings {
    /// Reads the variables; an empty one counts as not set.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingError> {
        let value = |name: &'static str| variable(name).filter(|value| !value.is_empty());
        let described = value(MACHINE_VARIABLE);
        let name = described.as_deref().unwrap_or(OsStr::new(DEFAULT)).to_string_lossy().into_owned();
        let topology = topology(described.as_deref().unwrap_or(OsStr::new(DEFAULT))).map_err(|error| SettingError {
            variable: MACHINE_VARIABLE,
            value: described.unwrap_or_default(),
            problem: error.to_string(),
        })?;
        let check = value(CHECK_VARIABLE).map_or(Ok(Check::Pointers), |value| match value.to_str() {
            Some("off") => Ok(Check::Off),
            Some("report") => Ok(Check::Report),
            Some("fail") => Ok(Check::Fail),
            _ => {
                let problem = "allowed are off, report and fail".to_owned();
                Err(SettingError { variable: CHECK_VARIABLE, value, problem })
            }
        })?;
        let kernels = value(CHECK_KERNELS_VARIABLE).map_or(Ok(KernelChecks::ALL), |value| {
            kernel_checks(&value.to_string_lossy()).ok_or_else(|| SettingError {
                variable: CHECK_KERNELS_VARIABLE,
                value,
                problem: "allowed are all, none, and a list of shared, global, uninitialised and barriers".to_owned(),
            })
        })?;
        let faults = value(FAULTS_VARIABLE).map_or_else(
            || Ok(Plan::new()),
            |value| {
                faults::plan(&value.to_string_lossy()).map_err(|error| SettingError {
                    variable: FAULTS_VARIABLE,
                    value,
                    problem: format!("no plan: {error}"),
                })
            },
        )?;
        let report = value(REPORT_VARIABLE).map(|value| match value.to_str() {
            Some("-" | "stderr") => Ok(Destination::StandardError),
            _ => Template::new(REPORT_VARIABLE, value, "a path, `-` or `stderr`").map(Destination::File),
        });
        let timeline = value(TIMELINE_VARIABLE).map(|value| match value.to_str() {
            Some("-" | "stderr") => Err(SettingError {
                variable: TIMELINE_VARIABLE,
                value,
                problem: "a timeline goes to a file; allowed is a path".to_owned(),
            }),
            _ => Template::new(TIMELINE_VARIABLE, value, "a path"),
        });
        let record = value(RECORD_VARIABLE).map(|value| match std::path::absolute(&value) {
            Ok(path) if !path.exists() || path.is_dir() => Ok(path),
            Ok(_) => {
                let problem = "that is a file; allowed is a folder".to_owned();
                Err(SettingError { variable: RECORD_VARIABLE, value, problem })
            }
            Err(error) => {
                let problem = format!("{error}; allowed is a folder");
                Err(SettingError { variable: RECORD_VARIABLE, value, problem })
            }
        });
        let mode = value(MODE_VARIABLE).map_or(Ok(Mode::Threads), |value| {
            mode(&value.to_string_lossy()).ok_or_else(|| SettingError {
                variable: MODE_VARIABLE,
                value,
                problem: "allowed are threads, eager, lazy, sync, and seeded: with a number, such as seeded:7"
                    .to_owned(),
            })
        })?;
        let workers = value(WORKERS_VARIABLE).map(|value| match value.to_str().and_then(|text| text.parse().ok()) {
            Some(workers) => Ok(workers),
            None => {
                let problem = "allowed is a number from 1 on".to_owned();
                Err(SettingError { variable: WORKERS_VARIABLE, value, problem })
            }
        });
        let host_memory = value(HOST_MEMORY_VARIABLE).map(|value| match value.to_str().and_then(bytes) {
            Some(bytes) => Ok(bytes),
            None => {
                let problem = "allowed is a number of bytes, also with K, M, G or T behind it".to_owned();
                Err(SettingError { variable: HOST_MEMORY_VARIABLE, value, problem })
            }
        });
        let run = value(RUN_VARIABLE).map(|value| {
            std::path::absolute(&value).map_err(|error| SettingError {
                variable: RUN_VARIABLE,
                value,
                problem: format!("{error}; allowed is a folder"),
            })
        });
        let run = run.transpose()?;
        let (report, timeline, workers) = (report.transpose()?, timeline.transpose()?, workers.transpose()?);
        let (host_memory, record) = (host_memory.transpose()?, record.transpose()?);
        Ok(Self { name, topology, check, kernels, faults, report, timeline, run, record, mode, workers, host_memory })
    }
}

/// A number of bytes: `16G` is 16 GiB.
fn bytes(text: &str) -> Option<u64> {
    let shift = match text.chars().last()? {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        _ => 0,
    };
    let number: u64 = if shift == 0 { text } else { &text[..text.len() - 1] }.parse().ok()?;
    number.checked_mul(1 << shift)
}

fn mode(name: &str) -> Option<Mode> {
    Some(match name {
        "threads" => Mode::Threads,
        "eager" => Mode::Deterministic(Order::Eager),
        "lazy" => Mode::Deterministic(Order::Lazy),
        "sync" => Mode::Sync,
        _ => Mode::Deterministic(Order::Seeded(name.strip_prefix("seeded:")?.parse().ok()?)),
    })
}

/// All, nothing, or a list.
fn kernel_checks(list: &str) -> Option<KernelChecks> {
    match list {
        "all" => return Some(KernelChecks::ALL),
        "none" => return Some(KernelChecks::NONE),
        _ => {}
    }
    list.split(',').try_fold(KernelChecks::NONE, |checks, word| match word.trim() {
        "shared" => Some(checks.shared_races(true)),
        "global" => Some(checks.global_races(true)),
        "uninitialised" => Some(checks.uninitialised_shared(true)),
        "barriers" => Some(checks.barriers(true)),
        _ => None,
    })
}

/// A path has a folder or ends in `.toml`; everything else is the name of a preset.
fn topology(description: &OsStr) -> Result<Topology, TopologyError> {
    let path = Path::new(description);
    let is_path = path.components().nth(1).is_some() || path.extension().is_some_and(|extension| extension == "toml");
    if is_path { Topology::from_toml_file(path) } else { Topology::preset(&description.to_string_lossy()) }
}

impl Template {
    /// Makes the path absolute, so that a later change of the current folder has no effect.
    fn new(variable: &'static str, value: OsString, allowed: &str) -> Result<Self, SettingError> {
        match std::path::absolute(&value) {
            Ok(path) if !value.as_bytes().ends_with(b"/") => Ok(Self(path)),
            Ok(_) => Err(SettingError { variable, value, problem: format!("that is a folder; allowed is {allowed}") }),
            Err(error) => Err(SettingError { variable, value, problem: format!("{error}; allowed is {allowed}") }),
        }
    }

    /// The path for a process.
    pub(crate) fn path(&self, process: u32) -> PathBuf {
        let mut path = Vec::new();
        let mut rest = self.0.as_os_str().as_bytes();
        while let Some(at) = rest.windows(2).position(|pair| pair == b"%p") {
            path.extend_from_slice(&rest[..at]);
            path.extend_from_slice(process.to_string().as_bytes());
            rest = &rest[at + 2..];
        }
        path.extend_from_slice(rest);
        PathBuf::from(OsString::from_vec(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        Settings::read(value).map_err(|error| error.to_string())
    }

    #[test]
    fn modes_are_read_by_name() {
        let mode = |name| read(&[(MODE_VARIABLE, name)]).map(|settings| settings.mode);
        assert_eq!(mode(""), Ok(Mode::Threads));
        assert_eq!(mode("lazy"), Ok(Mode::Deterministic(Order::Lazy)));
        assert_eq!(mode("seeded:7"), Ok(Mode::Deterministic(Order::Seeded(7))));
        for refused in ["seeded", "seeded:", "seeded:-1", "Sync"] {
            assert!(mode(refused).is_err_and(|problem| problem.contains("allowed are threads")), "{refused}");
        }
    }

    fn devices(description: &str) -> Result<usize, String> {
        Ok(read(&[(MACHINE_VARIABLE, description)])?.topology.devices.len())
    }

    #[test]
    fn a_preset_is_meant_by_its_name() {
        assert_eq!(devices("dgx-h100"), Ok(8));
    }

    #[test]
    fn without_variables_it_is_one_device_and_nothing_is_left_behind() -> Result<(), String> {
        for settings in [
            read(&[])?,
            read(&[
                (MACHINE_VARIABLE, ""),
                (CHECK_VARIABLE, ""),
                (REPORT_VARIABLE, ""),
                (TIMELINE_VARIABLE, ""),
                (RECORD_VARIABLE, ""),
            ])?,
        ] {
            assert_eq!((settings.topology.devices.len(), settings.name.as_str()), (1, "h200"));
            assert!(settings.report.is_none() && settings.timeline.is_none() && settings.record.is_none());
            assert_eq!((settings.check, settings.workers), (Check::Pointers, None));
        }
        Ok(())
    }

    #[test]
    fn a_file_is_meant_by_its_path() -> Result<(), Box<dyn std::error::Error>> {
        let path = std::env::temp_dir().join(format!("warploom-{}.toml", std::process::id()));
        std::fs::write(&path, Topology::preset("pcie-pair")?.to_toml())?;
        let found = devices(&path.to_string_lossy());
        std::fs::remove_file(&path)?;
        assert_eq!(found, Ok(2));
        Ok(())
    }

    #[test]
    fn a_value_that_means_nothing_is_named_with_its_variable_and_what_is_allowed() {
        for (variable, value, allowed) in [
            (MACHINE_VARIABLE, "dgx-h1000", "did you mean \"dgx-h100\"?"),
            (MACHINE_VARIABLE, "absent.toml", "absent.toml"),
            (MACHINE_VARIABLE, "/absent/machine", "/absent/machine"),
            (CHECK_VARIABLE, "on", "allowed are off, report and fail"),
            (CHECK_KERNELS_VARIABLE, "shared,locals", "allowed are all, none, and a list of shared, global"),
            (FAULTS_VARIABLE, "fault = 1", "no plan: line 1, column 9: fault"),
            (REPORT_VARIABLE, "folder/", "allowed is a path, `-` or `stderr`"),
            (TIMELINE_VARIABLE, "folder/", "allowed is a path"),
            (TIMELINE_VARIABLE, "-", "allowed is a path"),
            (RECORD_VARIABLE, "/dev/null", "that is a file; allowed is a folder"),
            (WORKERS_VARIABLE, "0", "allowed is a number from 1 on"),
            (WORKERS_VARIABLE, "all", "allowed is a number from 1 on"),
            (HOST_MEMORY_VARIABLE, "half", "allowed is a number of bytes"),
            (HOST_MEMORY_VARIABLE, "20000000T", "allowed is a number of bytes"),
        ] {
            let error = read(&[(variable, value)]).expect_err("it means nothing");
            assert!(error.starts_with(&format!("{variable}={value:?}: ")) && error.contains(allowed), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn workers_are_counted_from_one() -> Result<(), String> {
        assert_eq!(read(&[(WORKERS_VARIABLE, "3")])?.workers, NonZeroUsize::new(3));
        assert_eq!(read(&[(HOST_MEMORY_VARIABLE, "3G")])?.host_memory, Some(3 << 30));
        assert_eq!(read(&[(HOST_MEMORY_VARIABLE, "12345")])?.host_memory, Some(12345));
        Ok(())
    }

    #[test]
    fn checks_of_kernels_are_all_none_or_a_list() -> Result<(), String> {
        let kernels = |value| read(&[(CHECK_KERNELS_VARIABLE, value)]).map(|settings| settings.kernels);
        assert_eq!(
            (kernels("")?, kernels("all")?, kernels("none")?),
            (KernelChecks::ALL, KernelChecks::ALL, KernelChecks::NONE)
        );
        assert_eq!(kernels("shared, barriers")?, KernelChecks::NONE.shared_races(true).barriers(true));
        assert_eq!(kernels("shared,global,uninitialised,barriers")?, KernelChecks::ALL);
        Ok(())
    }

    #[test]
    fn a_plan_is_read_from_its_variable() -> Result<(), String> {
        let plan = "fault = [{ call = \"cuInit\", nth = 1, code = \"NO_DEVICE\" }]";
        assert_eq!(read(&[(FAULTS_VARIABLE, plan)])?.faults.rules().len(), 1);
        assert_eq!(read(&[(FAULTS_VARIABLE, "")])?.faults, Plan::new());
        Ok(())
    }

    #[test]
    fn a_report_goes_to_standard_error_or_to_a_file_of_this_process() -> Result<(), String> {
        for value in ["-", "stderr"] {
            assert_eq!(read(&[(REPORT_VARIABLE, value)])?.report, Some(Destination::StandardError));
        }
        let Some(Destination::File(template)) = read(&[(REPORT_VARIABLE, "/a/%p/b-%p%.json")])?.report else {
            return Err("a path is a file".to_owned());
        };
        assert_eq!(template.path(17), Path::new("/a/17/b-17%.json"));
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let timeline = read(&[(TIMELINE_VARIABLE, "t.json")])?.timeline.ok_or("it is set")?;
        assert_eq!(timeline.path(1), here.join("t.json"));
        for folder in ["records", "records/"] {
            assert_eq!(read(&[(RECORD_VARIABLE, folder)])?.record, Some(here.join("records")));
        }
        Ok(())
    }
}
