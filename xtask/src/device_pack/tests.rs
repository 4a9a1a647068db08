//! The script is run on programs that behave as test programs do, well or badly.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::archive::{ARCHIVE, archive};
use super::programs::{Program, Role, program};
use super::{SCRIPT, clear};
use crate::workspace::artifact;

/// A folder of its own for each test, gone afterwards; one at a time.
///
/// A program cannot be started while it is open for writing, and a process started just then by another test
/// inherits what this one has open.
struct Folder(PathBuf, #[expect(dead_code, reason = "held, not looked at")] MutexGuard<'static, ()>);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Folder {
    fn new(name: &str) -> Folder {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let path = std::env::temp_dir().join(format!("warploom-device-pack-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path, turn)
    }

    fn script(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn test_program(&self, name: &str, tests: &[&str], text: &str) {
        self.script(&format!("tests/{name}"), text);
        fs::write(self.0.join(format!("tests/{name}.list")), tests.join("\n") + "\n").unwrap();
    }

    /// Runs the script; whether it succeeded, and its report with every run of spaces made one.
    fn run(&self) -> (bool, Vec<String>) {
        let output = self.start(&std::env::var_os("PATH").unwrap());
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(report, fs::read_to_string(self.0.join("out/report.txt")).unwrap());
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        (output.status.success(), report.lines().map(squeeze).collect())
    }

    /// Runs the script with programs from `path` alone.
    fn start(&self, path: &OsStr) -> Output {
        self.script("run.sh", SCRIPT);
        let mut command = Command::new("/bin/bash");
        command.arg(self.0.join("run.sh")).env("PATH", path).env("OUT", self.0.join("out")).env("TEST_SECONDS", "5");
        command.output().unwrap()
    }

    /// A folder with the programs that the script needs on any machine, and one more that runs `unpacker`.
    fn bare_machine(&self, unpacker: Option<(&str, &Path)>) -> PathBuf {
        let needed =
            ["bash", "basename", "cat", "dirname", "grep", "mkdir", "mktemp", "rm", "sed", "sort", "tail", "tar"];
        for name in needed.into_iter().chain(["tee", "timeout"]) {
            self.link(name, &which(name));
        }
        if let Some((name, program)) = unpacker {
            self.link(name, program);
        }
        self.0.join("bin")
    }

    fn link(&self, name: &str, program: &Path) {
        self.script(&format!("bin/{name}"), &format!("#!/bin/bash\nexec {} \"$@\"\n", program.display()));
    }
}

/// The program of that name that a shell would start.
fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is not installed"))
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// `true` if the report has a line that begins so; the seconds follow.
fn has(report: &[String], start: &str) -> bool {
    report.iter().any(|line| line.starts_with(start))
}

const ALL_WELL: &str = "#!/bin/bash
echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s'
";

const ONE_FAILS: &str = "#!/bin/bash
echo 'failures:'
echo '    second::cuda'
echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s'
exit 101
";

/// Dies when it comes to the test `bad::cuda`.
const ONE_CRASHES: &str = "#!/bin/bash
for name in \"$@\"; do
    if [[ $name == bad::cuda ]]; then kill -SEGV $$; fi
done
echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s'
";

#[test]
fn passed_tests_are_counted() {
    let folder = Folder::new("passes");
    folder.test_program("sim-good", &["first::cuda", "second::cuda"], ALL_WELL);
    folder.script("benches/driver-calls", "#!/bin/bash\necho \"12 ns for $1\"\n");
    let (success, report) = folder.run();
    assert!(success, "{report:?}");
    assert!(has(&report, "sim-good 2 0 ") && has(&report, "total 2 0 ") && has(&report, "12 ns for --bench"));
}

#[test]
fn programs_in_the_archive_are_found() {
    let folder = Folder::new("archive");
    folder.test_program("sim-good", &["first::cuda", "second::cuda"], ALL_WELL);
    let unpacked = (ALL_WELL.len() + "first::cuda\nsecond::cuda\n".len()) as u64;
    assert_eq!(archive(&folder.0).unwrap(), (unpacked, fs::metadata(folder.0.join(ARCHIVE)).unwrap().len()));
    assert!(!folder.0.join("tests").exists());
    let (success, report) = folder.run();
    assert!(success && has(&report, "sim-good 2 0 "), "{report:?}");
}

/// Programs that are all but equal cost little more than one, however far apart they are.
#[test]
fn the_dictionary_reaches_over_all_programs() {
    let folder = Folder::new("dictionary");
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(9 << 20).collect();
    for name in ["sim-one", "sim-two"] {
        folder.test_program(name, &["first::cuda"], "");
        fs::write(folder.0.join("tests").join(name), &noise).unwrap();
    }
    let (unpacked, packed) = archive(&folder.0).unwrap();
    assert!(unpacked > 18 << 20 && packed < 10 << 20, "{unpacked} bytes became {packed}");
}

#[test]
fn a_machine_without_xz_unpacks_with_python() {
    let folder = Folder::new("python");
    folder.test_program("sim-good", &["first::cuda", "second::cuda"], ALL_WELL);
    archive(&folder.0).unwrap();
    // The interpreter itself: a program called python3 may be a script that looks for one.
    let asked = Command::new(which("python3")).args(["-c", "import sys; print(sys.executable, end='')"]).output();
    let python = PathBuf::from(String::from_utf8(asked.unwrap().stdout).unwrap());
    let output = folder.start(folder.bare_machine(Some(("python3", &python))).as_os_str());
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && report.contains("sim-good"), "{report}");
}

#[test]
fn a_machine_that_cannot_unpack_is_told_so() {
    let folder = Folder::new("neither");
    folder.test_program("sim-good", &["first::cuda", "second::cuda"], ALL_WELL);
    archive(&folder.0).unwrap();
    let output = folder.start(folder.bare_machine(None).as_os_str());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("neither xz nor python3"), "{message}");
}

#[test]
fn a_failing_test_is_named_and_fails_the_run() {
    let folder = Folder::new("fails");
    folder.test_program("sim-good", &["first::cuda", "second::cuda"], ALL_WELL);
    folder.test_program("sim-mixed", &["first::cuda", "second::cuda"], ONE_FAILS);
    let (success, report) = folder.run();
    assert!(!success, "{report:?}");
    assert!(has(&report, "sim-mixed 1 1 ") && has(&report, "second::cuda") && has(&report, "total 3 1 "), "{report:?}");
}

#[test]
fn a_crash_does_not_hide_the_other_tests() {
    let folder = Folder::new("crash");
    folder.test_program("sim-crash", &["first::cuda", "bad::cuda", "last::cuda"], ONE_CRASHES);
    let (success, report) = folder.run();
    assert!(!success, "{report:?}");
    assert!(has(&report, "sim-crash 2 1 ") && has(&report, "bad::cuda (ended with code 139)"), "{report:?}");
}

#[test]
fn a_listed_test_that_does_not_run_is_a_failure() {
    let folder = Folder::new("missing");
    folder.test_program("sim-lost", &["first::cuda", "second::cuda", "third::cuda"], ALL_WELL);
    let (success, report) = folder.run();
    assert!(!success, "{report:?}");
    assert!(has(&report, "sim-lost 2 1 ") && has(&report, "1 listed tests did not run"), "{report:?}");
}

#[test]
fn a_failing_benchmark_fails_the_run() {
    let folder = Folder::new("bench");
    folder.script("benches/driver-calls", "#!/bin/bash\nexit 3\n");
    let (success, report) = folder.run();
    assert!(!success, "{report:?}");
    assert!(has(&report, "ended with code 3") && has(&report, "1 benchmarks failed"), "{report:?}");
}

#[test]
fn a_folder_that_is_not_a_pack_is_left_alone() {
    let folder = Folder::new("precious");
    fs::write(folder.0.join("thesis.tex"), "").unwrap();
    let refused = clear(&folder.0).unwrap_err();
    assert!(refused.ends_with("is not empty and not a device pack; name another folder"), "{refused}");
    fs::write(folder.0.join("run.sh"), "").unwrap();
    clear(&folder.0).unwrap();
    assert!(fs::read_dir(&folder.0).unwrap().next().is_none());
}

#[test]
fn programs_are_found_in_the_report_of_cargo() {
    let line = |kind: &str, test: bool, executable: &str| {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/sim/Cargo.toml","profile":{{"test":{test}}},
               "target":{{"kind":["{kind}"],"name":"streams"}},"executable":{executable}}}"#
        )
    };
    let program = |line: &str| artifact(line).as_ref().and_then(program);
    let found = |role| Some(Program { name: "sim-streams".to_owned(), role, path: Path::new("/t/x").to_owned() });
    assert_eq!(program(&line("test", true, r#""/t/x""#)), found(Role::Test));
    assert_eq!(program(&line("bench", false, r#""/t/x""#)), found(Role::Bench));
    assert_eq!(program(&line("bin", false, r#""/t/x""#)), None);
    assert_eq!(program(&line("lib", false, "null")), None);
    assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    assert_eq!(program("not a report"), None);
}
