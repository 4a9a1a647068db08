//! Runs the tests that need NVRTC, libNVVM and nvJitLink, with those of their wheels.

use std::process::Command;

use crate::wheels;
use crate::workspace::root;

const REQUIREMENTS: &str = "\
nvidia-cuda-nvrtc==13.4.92 --hash=sha256:5ce8c97b00b232c4f50c8c4b5a3b68cafee08bdb82ea86f2052ff01d03194f4a
nvidia-nvvm==13.4.92 --hash=sha256:e4c81cb321dd9743bcf871c5e7e8fecd7f05dea607944426e102bdda8d49e137
nvidia-nvjitlink==13.5.37 --hash=sha256:280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb
";

const COMPILER: &str = "nvidia/cu13/lib/libnvrtc.so.13";
const IR_COMPILER: &str = "nvidia/cu13/lib/libnvvm.so.4";
const LIBDEVICE: &str = "nvidia/cu13/nvvm/libdevice/libdevice.10.bc";
const LINKER: &str = "nvidia/cu13/lib/libnvJitLink.so.13";

/// Fetches the libraries, and lets the core and the command compile and link with them.
pub(crate) fn test() -> Result<String, String> {
    let unpacked = root()?.join("target/nvrtc/wheels");
    wheels::fetch(REQUIREMENTS, &unpacked, &[COMPILER, IR_COMPILER, LIBDEVICE, LINKER])?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Tests that need a GPU besides are left out. All of the workspace is chosen, as for its tests: parts of it
    // have dependencies with other features, and would be compiled again.
    let marked = ["--test", "nvrtc", "--test", "kernel_commands", "--", "--ignored", "--skip", "::cuda"];
    // The programs of docs/compiling.md, which do nothing where a library is missing.
    let guide = ["--doc", "--", "program"];
    for tests in [&marked[..], &guide] {
        let status = Command::new(&cargo)
            .current_dir(root()?)
            .args(["test", "--workspace"])
            .args(tests)
            .env("WARPLOOM_NVRTC", unpacked.join(COMPILER))
            .env("WARPLOOM_NVVM", unpacked.join(IR_COMPILER))
            .env("WARPLOOM_NVJITLINK", unpacked.join(LINKER))
            .status()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        if !status.success() {
            return Err(format!("tests with NVRTC failed: cargo test --workspace {}", tests.join(" ")));
        }
    }
    Ok("nvrtc: all tests passed".to_owned())
}
