//! The project's own chores.
//!
//! - `cargo xtask generate` rebuilds the C bindings; with `--check` it fails if they are out of date.
//! - `cargo xtask ptx` recompiles the kernels of `crates/ptx`.
//! - `cargo xtask api` lists the public items of the libraries; with `--check` it fails if they have changed.
//! - `cargo xtask layers` checks the dependencies between crates and modules against a table.
//! - `cargo xtask device-pack` builds a folder of tests and benchmarks to run on a machine with a GPU.
//! - `cargo xtask libcuda DIR` installs the simulated driver in a folder for other programs to load.
//! - `cargo xtask clients` runs programs on it that were not written for it.
//! - `cargo xtask nvrtc` runs the tests that need NVIDIA's compilers and linker.
//! - `cargo xtask sanitize` runs tests under the sanitizers and Miri.
//! - `cargo xtask targets` compiles the crates for other platforms.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for people at a terminal")]

mod api;
mod clients;
mod device_pack;
mod generate;
mod layers;
mod libcuda;
mod nvrtc;
mod ptx;
mod sanitize;
mod targets;
mod toolchain;
mod wheels;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  generate            rebuild crates/sys/src/generated from the CUDA headers
  generate --check    fail if those files are not what would be generated
  api                 list the public items of the published libraries in docs/api
  api --check         fail if those lists are not what would be written
  layers              print the arrows between crates and layers, and fail on one that is not allowed or on a cycle of modules
  layers --crate NAME look at one crate; with --list, print each pair of modules that use each other, with every line
  layers --write      renew the pictures of docs/architecture.md
  ptx                 rebuild crates/ptx/kernels/ptx from the kernels beside it
  ptx --check         fail if those files are not what would be built, or if an assembler refuses one
  device-pack [DIR]   build every test that needs a GPU, and every benchmark, into DIR (device-pack) with a script that
                      runs them where there is no cargo
  libcuda DIR         build the simulated driver as a shared library, and put it into DIR as libcuda.so.1 and libcuda.so
  clients [NAME…]     run programs in C, in Rust with cudarc and in Python on that library; all, or those named (burn runs
                      only if it is named: it takes minutes)
  nvrtc               fetch NVRTC, libNVVM and nvJitLink, and run the tests that need them
  sanitize [TOOL…]    run tests under AddressSanitizer, ThreadSanitizer and Miri (address, thread, miri), where a nightly
                      toolchain has them; [--toolchain NAME] before, [-- ARGUMENTS…] for cargo test behind
  targets             check that the crates compile for Windows, macOS and Linux on ARM, where the standard library of the
                      target is installed, or can be built by a nightly toolchain; [--toolchain NAME]
";

fn main() -> ExitCode {
    if let Some(code) = api::run_if_asked() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["api"] => api::write(),
        ["api", "--check"] => api::check(),
        ["layers", options @ ..] => layers::run(options),
        ["ptx"] => ptx::write(),
        ["ptx", "--check"] => ptx::check(),
        ["device-pack"] => device_pack::pack(None),
        ["device-pack", folder] if !folder.starts_with('-') => device_pack::pack(Some(folder)),
        ["libcuda", folder] if !folder.starts_with('-') => libcuda::install(Path::new(folder)),
        ["clients", names @ ..] if !names.iter().any(|name| name.starts_with('-')) => clients::run(names),
        ["nvrtc"] => nvrtc::test(),
        ["sanitize", arguments @ ..] => sanitize::run(arguments),
        ["targets"] => targets::check("nightly"),
        ["targets", "--toolchain", name] => targets::check(name),
        ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
