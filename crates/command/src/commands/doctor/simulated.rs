//! The simulated library, and the folder it is kept in.

use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use warploom_sim::Machine;

use super::{lacking, present};
use crate::Carried;
use crate::human::count;
use crate::libraries::{self, Libraries};
use crate::report::{Health, Subject};

/// Rows for the simulator, and `true` if programs can run on it.
pub(super) fn subjects(carried: Carried) -> (Vec<Subject>, bool) {
    let machine = match Machine::preset("h200") {
        Ok(machine) => present(
            "simulated machine",
            format!("h200 starts, with {}", count(machine.topology().devices.len(), "device")),
        ),
        Err(error) => {
            let step = "give the process address space: ulimit -v unlimited".to_owned();
            lacking("simulated machine", Health::Bad, error.to_string(), step)
        }
    };
    let library = match Libraries::place(carried) {
        Ok(placed) if forbids_programs(&placed.folder) => lacking(
            "simulated library",
            Health::Bad,
            format!("{} is on a file system without programs (noexec)", placed.folder.display()),
            "set XDG_CACHE_HOME to a folder elsewhere".to_owned(),
        ),
        Ok(placed) => {
            let about = libraries::description(carried.driver).unwrap_or_default();
            present("simulated library", format!("{}, {about}", placed.driver.display()))
        }
        Err(failure) => lacking("simulated library", Health::Bad, failure.message, failure.hint.unwrap_or_default()),
    };
    let cache = match libraries::cache_folder() {
        Ok(folder) => present("cache folder", folder.display().to_string()),
        Err(failure) => lacking("cache folder", Health::Bad, failure.message, failure.hint.unwrap_or_default()),
    };
    let rows = vec![machine, library, cache];
    let works = rows.iter().any(|row| row.health == Health::Good && row.name != "cache folder");
    (rows, works)
}

fn forbids_programs(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
