//! `warploom sim`: programs in C on a simulated machine. Rust links with `cc`, so there is one.
#![cfg(target_os = "linux")]

mod bad_input;
mod compilers;
mod results;
mod signals;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of programs that are built here.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Builds a program or library in C, under another name in each process of tests, since two may run at once.
#[track_caller]
fn build(source: &str, product: &str, options: &[&str]) -> PathBuf {
    let path = folder().join(format!("{}-{product}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim").join(source);
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&path).arg(source).args(options);
    let output = compiler.output().expect("the C compiler with which Rust links starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// The program that does what its first argument says.
fn program() -> &'static str {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("program.c", "program", &["-ldl"])).to_str().expect("a plain path")
}

/// `warploom sim` with these arguments.
fn sim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.arg("sim").args(arguments);
    for variable in ["LD_PRELOAD", "WARPLOOM_MACHINE", "WARPLOOM_CHECK", "WARPLOOM_FAULTS", "WARPLOOM_MODE"] {
        command.env_remove(variable);
    }
    command
}

/// Options, then the program with its arguments; its output, and both texts.
#[track_caller]
fn run(options: &[&str], arguments: &[&str]) -> Ended {
    Ended::of(sim(options).arg("--").arg(program()).args(arguments).output().expect("the command starts"))
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A path for a file of one test.
fn scratch(name: &str) -> PathBuf {
    folder().join(format!("{}-{name}", std::process::id()))
}
