//! The example `shared_weights`, with children of this binary as its workers.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use warploom::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::{MACHINE, TestResult, driver_tests};

#[path = "../../examples/shared_weights.rs"]
mod example;

/// The driver of a worker: `cuda`, or nothing for a simulated one. Not set in the test run itself.
const DRIVER: &str = "SHARED_WEIGHTS_DRIVER";

/// The worker's half, in a child.
#[test]
fn worker() -> TestResult {
    let Ok(kind) = std::env::var(DRIVER) else { return Ok(()) };
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    if kind == "cuda" {
        return example::work(&Driver::load()?, socket);
    }
    let (_machine, driver) = warploom_testkit::open(Topology::preset(MACHINE)?, Mode::Threads)?;
    example::work(&driver, socket)
}

/// The output of the guide's program.
fn guide() -> String {
    let guide = include_str!("../../../../docs/processes.md");
    let output = guide.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    output.unwrap_or_default().to_owned()
}

driver_tests! {
    /// A worker is killed while it computes: the others go on, another takes its place, and nothing is left.
    threads fn workers_share_weights_and_one_is_killed(driver) {
        let kind = if driver.is_library() { "cuda" } else { "sim" };
        let start = |end: UnixStream| {
            Ok(Command::new(std::env::current_exe()?)
                .args(["shared_weights::worker", "--exact", "--nocapture", "--test-threads=1"])
                .env(DRIVER, kind)
                .stdin(Stdio::from(OwnedFd::from(end)))
                .stdout(Stdio::null())
                .spawn()?)
        };
        let lines = example::serve(driver, start)?;
        assert_eq!(lines.join("\n") + "\n", guide());
    }
}
