//! Runs the tests that need NVRTC, with the one of its wheel.

use std::process::Command;

use crate::wheels;
use crate::workspace::root;

const REQUIREMENTS: &str = "\
nvidia-cuda-nvrtc==13.4.92 --hash=sha256:5ce8c97b00b232c4f50c8c4b5a3b68cafee08bdb82ea86f2052ff01d03194f4a
";

const LIBRARY: &str = "nvidia/cu13/lib/libnvrtc.so.13";

/// Fetches the library, and lets the core compile with it.
pub(crate) fn test() -> Result<String, String> {
    let unpacked = root()?.join("target/nvrtc/wheels");
    wheels::fetch(REQUIREMENTS, &unpacked, &[LIBRARY])?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root()?)
        // With the features that the checks have built already.
        .args(["test", "-p", "warploom", "--features", "nccl,nvrtc", "--test", "nvrtc", "--", "--ignored"])
        .env("WARPLOOM_NVRTC", unpacked.join(LIBRARY))
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() { Ok("nvrtc: all tests passed".to_owned()) } else { Err("tests with NVRTC failed".to_owned()) }
}
