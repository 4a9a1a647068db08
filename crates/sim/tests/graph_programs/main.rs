//! Random programs that build, change, clone, embed, instantiate, update, launch and destroy graphs, against
//! a model.
//!
//! Every node writes a cell of its own: a fill writes a value, a copy writes what another node's cell holds,
//! a host function counts. A copy depends on the node that it reads from, so that the outcome is that of
//! running the nodes in the order they were added, which is what the model does. After each step edges and
//! bytes are the model's; user objects live as long as the model says, and no finding is reported.

mod comparison;
mod definition_steps;
mod executable_steps;
mod model;
mod program;

use proptest::prelude::*;
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{Primary, TestResult, assert_sound, call, mode_for, open, random_programs};

use crate::program::{Choice, Program};

fn run(program: &[Choice], mode: Mode) -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, mode)?;
    let primary = Primary::of(&driver, 0)?;
    let mut state = Program::new(&driver)?;
    for (number, choice) in program.iter().enumerate() {
        state.step(*choice)?;
        state.check()?;
        if number % 8 == 7 {
            state.check_bytes()?;
            state.check_owners();
        }
    }
    state.check_bytes()?;
    for graph in std::mem::take(&mut state.graphs) {
        call!(driver.cuGraphDestroy(graph.raw))?;
    }
    for exec in std::mem::take(&mut state.execs) {
        call!(driver.cuGraphExecDestroy(exec.raw))?;
    }
    state.check_owners();
    call!(driver.cuMemFree_v2(state.memory))?;
    call!(driver.cuStreamDestroy_v2(state.stream))?;
    drop(primary);
    assert_sound(&machine);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_programs(2000), ..ProptestConfig::default() })]

    /// S2.5, S2.6, S2.7, S2.9, S2.23: the same edges, the same bytes and the same live owners as the model.
    #[test]
    fn graphs_are_what_a_model_says(program in prop::collection::vec(any::<Choice>(), 1..64), seed in any::<u64>()) {
        let mode = mode_for(seed);
        run(&program, mode).map_err(|error| TestCaseError::fail(format!("{mode:?}: {error}")))?;
    }
}
