//! The `warploom` program: the commands of `warploom-command`, and the shared libraries that they need.
//!
//! Two crates, because cargo compiles a program when everything else is complete, and a library while its
//! dependencies are still made: the commands do not wait for the shared libraries.

use std::process::ExitCode;

use warploom_command::Carried;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    let carried = Carried {
        driver: warploom_embed::shared_library!(warploom_cuda),
        preload: warploom_embed::shared_library!(warploom_preload),
    };
    #[cfg(not(target_os = "linux"))]
    let carried = Carried::default();
    warploom_command::main(carried)
}
