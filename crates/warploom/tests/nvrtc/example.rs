//! The example `compile`, with the real NVRTC. `cargo xtask nvrtc` fetches it and runs this.

use warploom::program::Nvrtc;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::{ASYNCHRONOUS, MACHINE, TestResult, assert_sound, open};

#[path = "../../examples/compile.rs"]
mod compile;

#[test]
#[ignore = "needs libnvrtc"]
fn compile_runs_on_simulated_machines() -> TestResult {
    let nvrtc = Nvrtc::load()?;
    for mode in ASYNCHRONOUS {
        let (machine, driver) = open(Topology::preset(MACHINE)?, *mode)?;
        compile::run(&driver, &nvrtc)?;
        assert_sound(&machine);
    }
    Ok(())
}
