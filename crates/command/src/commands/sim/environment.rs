//! Environment variables of the program, each with its reason.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use warploom_record::variables::{
    CHECK_VARIABLE, FAULTS_VARIABLE, MACHINE_VARIABLE, MODE_VARIABLE, RECORD_VARIABLE, RUN_VARIABLE, TIMELINE_VARIABLE,
};

use super::Args;
use crate::libraries::Libraries;
use crate::report::EnvironmentSetting;

/// Variables that are set for the program, beside those that it inherits.
#[derive(Debug)]
pub(super) struct Environment {
    values: Vec<(&'static str, OsString)>,
    /// The same for people.
    pub(super) settings: Vec<EnvironmentSetting>,
}

impl Environment {
    pub(super) fn of(arguments: &Args, libraries: &Libraries) -> Self {
        let mut all = Self { values: Vec::new(), settings: Vec::new() };
        all.set(
            "LD_LIBRARY_PATH",
            first_in("LD_LIBRARY_PATH", libraries.folder.as_os_str()),
            "the loader finds the simulated libcuda.so.1 before any other, by DT_NEEDED and by dlopen",
        );
        all.set(
            "LD_PRELOAD",
            first_in("LD_PRELOAD", libraries.preload.as_os_str()),
            "dlsym hands out nvrtcCompileProgram and nvJitLinkCreate with -lineinfo added, so that cubins carry the \
             PTX that a simulated device runs",
        );
        if let Some(machine) = &arguments.machine {
            all.set(MACHINE_VARIABLE, machine.resolved(), "--machine: the machine, started by the first driver call");
        }
        if arguments.check.is_some() {
            all.set(CHECK_VARIABLE, "report".into(), "--check: races, leaks and wrong accesses are found");
        }
        if let Some(faults) = &arguments.faults {
            let path = std::path::absolute(faults).unwrap_or_else(|_| faults.clone());
            all.set(FAULTS_VARIABLE, path.into(), "--faults: the plan of failing calls");
        }
        if let Some(seed) = arguments.seed {
            all.set(
                MODE_VARIABLE,
                format!("seeded:{seed}").into(),
                "--seed: one legal order of all work, reproducible",
            );
        }
        all
    }

    /// Adds the variables for the files that processes leave in the folder of the run.
    pub(super) fn add_run(&mut self, folder: &Path, with_timeline: bool, with_page: bool) {
        self.set(RUN_VARIABLE, folder.into(), "each process leaves a journal there, for the summary");
        if with_timeline {
            let template = folder.join(super::timeline::TEMPLATE);
            self.set(TIMELINE_VARIABLE, template.into(), "--timeline: each process leaves a timeline there");
        }
        if with_page {
            let records = folder.join(super::html::FOLDER);
            self.set(RECORD_VARIABLE, records.into(), "--html: each process leaves a record there");
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, &OsStr)> {
        self.values.iter().map(|(name, value)| (*name, value.as_os_str()))
    }

    fn set(&mut self, name: &'static str, value: OsString, reason: &'static str) {
        self.settings.push(EnvironmentSetting { name, value: value.to_string_lossy().into_owned(), reason });
        self.values.push((name, value));
    }
}

/// The present value of a list variable, with an entry before it.
fn first_in(variable: &str, entry: &OsStr) -> OsString {
    let mut list = entry.to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}
