//! Driver, libraries and folders of this system.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct DoctorReport {
    pub(crate) can_run_on_gpu: bool,
    pub(crate) can_simulate: bool,
    pub(crate) subjects: Vec<Subject>,
}

/// One thing that programs need or may use.
#[derive(Debug, Serialize)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) health: Health,
    /// Version and place, or the problem.
    pub(crate) found: String,
    pub(crate) next_step: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Good,
    /// Not there; programs that do not use it run.
    Absent,
    /// There, and it does not work.
    Bad,
}
