//! Runs programs that were not written for warploom on the simulated driver: `clients/` in the workspace's
//! root.
//!
//! A client is prepared (fetched, built), then started with the simulated `libcuda.so.1` first on its library
//! path. It reports in TAP. A client is *skipped*, with the reason, if the machine lacks a compiler or a
//! reachable registry; anything else that keeps it from passing all its checks is a failure.
//!
//! ```text
//! target/clients/lib/          the simulated driver
//! target/clients/<client>/     its build products and fetched packages; `output` is the output of its last run
//! ```

mod c;
mod command;
mod python;
mod rust;
mod tap;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use self::command::{Ended, run_in};
use self::tap::Report;
use crate::libcuda;
use crate::workspace::{at, root};

struct Client {
    name: &'static str,
    /// The value of `WARPLOOM_MACHINE`. The client's checks expect it.
    machine: &'static str,
    goal: Goal,
    effort: Effort,
}

/// The cost of a client.
#[derive(Clone, Copy, PartialEq)]
enum Effort {
    /// Runs with the others, within a minute.
    Small,
    /// Takes minutes to build and to run, and gigabytes: runs only if it is named.
    Large,
}

impl Effort {
    /// The time limit of a run; the client is killed then.
    fn limit(self) -> Duration {
        match self {
            Effort::Small => Duration::from_secs(60),
            Effort::Large => Duration::from_secs(900),
        }
    }
}

/// The test of a client: run it, or only compile it.
enum Goal {
    /// The client passes its own checks. The function fetches and builds what it needs, and returns the
    /// command.
    Run(fn(&Folders) -> Result<Command, Obstacle>),
    /// The client compiles.
    Compile(fn(&Folders) -> Result<(), Obstacle>),
}

const CLIENTS: [Client; 7] = [
    Client { name: "c", machine: "dgx-h100", goal: Goal::Run(c::prepare), effort: Effort::Small },
    Client { name: "cudarc", machine: "hgx-a100-4", goal: Goal::Run(rust::cudarc), effort: Effort::Small },
    Client { name: "python", machine: "dgx-h100", goal: Goal::Run(python::prepare), effort: Effort::Small },
    Client { name: "numba", machine: "dgx-h100", goal: Goal::Run(python::prepare), effort: Effort::Small },
    Client { name: "tinygrad", machine: "hgx-a100-4", goal: Goal::Run(python::prepare), effort: Effort::Small },
    Client { name: "bench-cudarc", machine: "h200", goal: Goal::Compile(rust::compiles), effort: Effort::Small },
    Client { name: "burn", machine: "hgx-a100-4", goal: Goal::Run(rust::burn), effort: Effort::Large },
];

/// A client's sources, and the folder of its build products.
struct Folders {
    source: PathBuf,
    made: PathBuf,
}

/// The reason for not running a client.
#[derive(Debug, PartialEq)]
enum Obstacle {
    /// The machine lacks a program or package that is no part of the project.
    Missing(String),
    /// A part of this project, or a fetched package, is wrong.
    Broken(String),
}

/// The result of one client.
struct Row {
    name: &'static str,
    passed: usize,
    failed: usize,
    result: String,
    skipped: bool,
}

/// Runs the named clients, or all that take little; says how each went.
pub(crate) fn run(names: &[&str]) -> Result<String, String> {
    let known = CLIENTS.map(|client| client.name);
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no client {unknown:?}; there are {}", known.join(", ")));
    }
    let made = root()?.join("target/clients");
    let library = made.join("lib");
    libcuda::install(&library)?;
    let mut rows = Vec::new();
    let is_wanted = |client: &&Client| {
        if names.is_empty() { client.effort == Effort::Small } else { names.contains(&client.name) }
    };
    for client in CLIENTS.iter().filter(is_wanted) {
        let folders = Folders { source: root()?.join("clients").join(client.name), made: made.join(client.name) };
        fs::create_dir_all(&folders.made).map_err(at(&folders.made))?;
        rows.push(client.run(&folders, &library));
    }
    println!("{:<12}{:>8}{:>8}  result", "client", "passed", "failed");
    for Row { name, passed, failed, result, .. } in &rows {
        println!("{name:<12}{passed:>8}{failed:>8}  {result}");
    }
    let count = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
    let failed = count(|row| row.failed);
    let (passed, skipped) = (count(|row| row.passed), count(|row| usize::from(row.skipped)));
    let summary = format!("clients: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(summary) } else { Err(summary) }
}

impl Client {
    fn run(&self, folders: &Folders, library: &Path) -> Row {
        let row = |passed, failed, result, skipped| Row { name: self.name, passed, failed, result, skipped };
        let prepared = match self.goal {
            Goal::Run(prepare) => prepare(folders).map(Some),
            Goal::Compile(compile) => compile(folders).map(|()| None),
        };
        let mut command = match prepared {
            Ok(Some(command)) => command,
            Ok(None) => return row(1, 0, "ok: it compiles".to_owned(), false),
            Err(Obstacle::Missing(reason)) => return row(0, 0, format!("skipped: {reason}"), true),
            Err(Obstacle::Broken(reason)) => return row(0, 1, format!("FAILED: {reason}"), false),
        };
        let path = first_on_path(library, &command);
        command.env("LD_LIBRARY_PATH", path).env("WARPLOOM_MACHINE", self.machine);
        let ended = match run_in(&folders.made, &mut command, self.effort.limit()) {
            Ok(ended) => ended,
            Err(reason) => return row(0, 1, format!("FAILED: {reason}"), false),
        };
        let report = Report::of(&ended.output);
        match report.verdict(ended.status) {
            Ok(()) => row(report.passed, 0, "ok".to_owned(), false),
            Err(reason) => {
                println!("{}", ended.output);
                row(report.passed, report.missed().max(1), format!("FAILED: {reason}"), false)
            }
        }
    }
}

/// The library path with the simulated driver before any other: those of the command, or of the environment.
fn first_on_path(library: &Path, command: &Command) -> OsString {
    let mut path = library.as_os_str().to_owned();
    let own = command.get_envs().find(|(name, _)| *name == "LD_LIBRARY_PATH").and_then(|(_, value)| value);
    let rest = own.map(OsString::from).or_else(|| std::env::var_os("LD_LIBRARY_PATH"));
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Builds or installs something that is ours to get right.
fn build(folders: &Folders, command: &mut Command) -> Result<(), Obstacle> {
    build_within(folders, command, Duration::from_secs(300))
}

fn build_within(folders: &Folders, command: &mut Command, limit: Duration) -> Result<(), Obstacle> {
    let ended = run_in(&folders.made, command, limit).map_err(Obstacle::Missing)?;
    if !ended.succeeded() {
        println!("{}", ended.output);
        return Err(Obstacle::Broken(format!("{} failed", command.get_program().display())));
    }
    Ok(())
}

/// The time limit for fetching.
const FETCH: Duration = Duration::from_secs(90);

/// Messages of package managers about a package that is not the pinned one.
const WRONG: [&str; 4] = ["checksum", "lock file", "lockfile", "do not match the hashes"];

/// Runs a command that only fetches. If it fails, the package cannot be had here, unless it arrived and is
/// not the pinned one.
fn fetch(folders: &Folders, what: &str, command: &mut Command) -> Result<(), Obstacle> {
    fetch_within(folders, what, command, FETCH)
}

fn fetch_within(folders: &Folders, what: &str, command: &mut Command, limit: Duration) -> Result<(), Obstacle> {
    let ended = run_in(&folders.made, command, limit).map_err(Obstacle::Missing)?;
    if ended.succeeded() {
        return Ok(());
    }
    let said = ended.output.to_lowercase();
    if WRONG.iter().any(|word| said.contains(word)) {
        println!("{}", ended.output);
        return Err(Obstacle::Broken(format!("{what} is not what was pinned")));
    }
    Err(Obstacle::Missing(format!("{what} cannot be fetched: {}", reason(&ended))))
}

/// The last line that a command printed.
fn reason(ended: &Ended) -> &str {
    let last = ended.output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    if ended.status.is_none() { "it took too long" } else { last.unwrap_or("it did not say why") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn folders(name: &str) -> Folders {
        let made = std::env::temp_dir().join(format!("warploom-clients-{name}-{}", std::process::id()));
        fs::create_dir_all(&made).unwrap();
        Folders { source: PathBuf::new(), made }
    }

    #[test]
    fn a_failed_fetch_is_missing_and_the_reason_is_kept() {
        let folders = folders("missing");
        let absent = fetch(&folders, "it", &mut shell("echo first; echo 'error: no route to host' >&2; exit 101"));
        let unstartable = fetch(&folders, "it", &mut Command::new("warploom-no-such-fetcher"));
        fs::remove_dir_all(&folders.made).unwrap();
        assert_eq!(absent, Err(Obstacle::Missing("it cannot be fetched: error: no route to host".to_owned())));
        assert!(matches!(unstartable, Err(Obstacle::Missing(reason)) if reason.contains("warploom-no-such-fetcher")));
    }

    #[test]
    fn a_package_other_than_the_pinned_one_is_broken() {
        let folders = folders("wrong");
        let said = [
            "error: checksum for `cudarc v0.19.10` changed between lock files",
            "error: failed to verify the checksum of `cudarc v0.19.10`",
            "error: cannot update the lock file Cargo.lock because --locked was passed to prevent this",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE",
        ];
        let outcomes = said.map(|said| fetch(&folders, "it", &mut shell(&format!("echo '{said}'; exit 1"))));
        fs::remove_dir_all(&folders.made).unwrap();
        for outcome in outcomes {
            assert_eq!(outcome, Err(Obstacle::Broken("it is not what was pinned".to_owned())));
        }
    }

    fn row_of(prepare: fn(&Folders) -> Result<Command, Obstacle>, name: &'static str) -> Row {
        asked(Goal::Run(prepare), name)
    }

    fn asked(goal: Goal, name: &'static str) -> Row {
        let folders = folders(name);
        let row = Client { name, machine: "h200", goal, effort: Effort::Small }.run(&folders, Path::new("/library"));
        fs::remove_dir_all(&folders.made).unwrap();
        row
    }

    #[test]
    fn a_client_finds_the_simulated_driver_first_and_its_machine() {
        const SAID: &str =
            r#"echo 1..1; case "$LD_LIBRARY_PATH $WARPLOOM_MACHINE" in "/library"*" h200") echo ok 1;; esac"#;
        let row = row_of(|_| Ok(shell(SAID)), "first");
        assert_eq!((row.passed, row.failed, row.result.as_str()), (1, 0, "ok"));
    }

    #[test]
    fn libraries_of_a_client_come_after_the_simulated_driver() {
        const SAID: &str = r#"echo 1..1; [ "$LD_LIBRARY_PATH" = /library:/own ] && echo ok 1"#;
        let with_own = |_: &Folders| {
            let mut shell = shell(SAID);
            shell.env("LD_LIBRARY_PATH", "/own");
            Ok(shell)
        };
        let row = row_of(with_own, "own");
        assert_eq!((row.passed, row.failed, row.result.as_str()), (1, 0, "ok"));
    }

    #[test]
    fn a_client_with_a_failed_check_has_failed() {
        let row = row_of(|_| Ok(shell("echo 1..3; echo ok 1; echo not ok 2; echo ok 3; exit 1")), "check");
        assert_eq!((row.passed, row.failed, row.result.as_str()), (2, 1, "FAILED: 1 of 3 checks failed"));
    }

    #[test]
    fn a_client_that_crashes_after_its_checks_has_failed() {
        let row = row_of(|_| Ok(shell("echo 1..1; echo ok 1; kill -SEGV $$")), "crash");
        assert_eq!((row.passed, row.failed), (1, 1));
        assert!(row.result.starts_with("FAILED: ") && row.result.contains("signal: 11"), "{}", row.result);
    }

    #[test]
    fn a_client_that_cannot_be_prepared_is_skipped_or_failed() {
        let skipped = row_of(|_| Err(Obstacle::Missing("no compiler".to_owned())), "skipped");
        assert_eq!((skipped.failed, skipped.skipped, skipped.result.as_str()), (0, true, "skipped: no compiler"));
        let failed = row_of(|_| Err(Obstacle::Broken("wrong".to_owned())), "failed");
        assert_eq!((failed.failed, failed.skipped, failed.result.as_str()), (1, false, "FAILED: wrong"));
    }

    #[test]
    fn a_client_that_is_only_to_compile_is_not_started() {
        let compiles = asked(Goal::Compile(|_| Ok(())), "compiles");
        assert_eq!((compiles.passed, compiles.failed, compiles.result.as_str()), (1, 0, "ok: it compiles"));
        let broken = asked(Goal::Compile(|_| Err(Obstacle::Broken("cargo failed".to_owned()))), "broken");
        assert_eq!((broken.passed, broken.failed, broken.result.as_str()), (0, 1, "FAILED: cargo failed"));
        let skipped = asked(Goal::Compile(|_| Err(Obstacle::Missing("no registry".to_owned()))), "no-registry");
        assert_eq!((skipped.failed, skipped.skipped), (0, true));
    }

    #[test]
    fn a_client_that_was_prepared_and_is_not_there_has_failed() {
        let row = row_of(|_| Ok(Command::new("/warploom/no/such/client")), "absent");
        assert_eq!((row.failed, row.result.as_str()), (1, "FAILED: /warploom/no/such/client is not there"));
    }

    #[test]
    fn a_name_that_is_no_client_is_refused() {
        let refused = run(&["c", "fortran"]).unwrap_err();
        assert_eq!(
            refused,
            "there is no client \"fortran\"; there are c, cudarc, python, numba, tinygrad, bench-cudarc, burn"
        );
    }
}
