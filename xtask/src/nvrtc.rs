//! Runs the tests that need NVRTC and nvJitLink, with those of their wheels.

use std::process::Command;

use crate::wheels;
use crate::workspace::root;

const REQUIREMENTS: &str = "\
nvidia-cuda-nvrtc==13.4.92 --hash=sha256:5ce8c97b00b232c4f50c8c4b5a3b68cafee08bdb82ea86f2052ff01d03194f4a
nvidia-nvjitlink==13.5.37 --hash=sha256:280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb
";

const COMPILER: &str = "nvidia/cu13/lib/libnvrtc.so.13";
const LINKER: &str = "nvidia/cu13/lib/libnvJitLink.so.13";

/// Fetches the libraries, and lets the core compile and link with them.
pub(crate) fn test() -> Result<String, String> {
    let unpacked = root()?.join("target/nvrtc/wheels");
    wheels::fetch(REQUIREMENTS, &unpacked, &[COMPILER, LINKER])?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root()?)
        // With the features that the checks have built already.
        .args(["test", "-p", "warploom", "--features", "nccl,nvrtc", "--test", "nvrtc", "--", "--ignored"])
        // What needs a GPU besides.
        .args(["--skip", "::cuda"])
        .env("WARPLOOM_NVRTC", unpacked.join(COMPILER))
        .env("WARPLOOM_NVJITLINK", unpacked.join(LINKER))
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() { Ok("nvrtc: all tests passed".to_owned()) } else { Err("tests with NVRTC failed".to_owned()) }
}
