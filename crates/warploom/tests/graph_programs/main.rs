//! Random programs that build, change, copy, embed, instantiate, update, launch and drop graphs, against a
//! model.
//!
//! Every node has an owner: fills and copies write a buffer of their own, host functions and values that a
//! graph is told to keep hold a value that is watched. A copy depends on the node that it reads from, so that
//! the outcome is that of running the nodes in the order they were added, which is what the model does. After
//! each step the edges are the model's, and the program, the graphs and the executables together keep exactly
//! the owners that the model says; every few steps the bytes are compared.

mod comparison;
mod definition_steps;
mod executable_steps;
mod model;
mod program;

use proptest::prelude::*;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, assert_sound, mode_for, random_programs};

use crate::program::{Choice, Program};

fn run(program: &[Choice], mode: Mode) -> TestResult {
    let machine = Machine::builder().topology(Topology::preset("h200")?).mode(mode).start()?;
    let driver = warploom::Driver::open(&machine)?;
    let mut state = Program::new(&driver)?;
    for (number, choice) in program.iter().enumerate() {
        state.step(*choice)?;
        state.check_edges()?;
        state.check_owners()?;
        if number % 8 == 7 {
            state.check_bytes()?;
        }
    }
    state.check_bytes()?;
    (state.graphs, state.execs) = (Vec::new(), Vec::new());
    state.check_owners()?;
    drop(state);
    assert_sound(&machine);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_programs(1000), ..ProptestConfig::default() })]

    /// S2.5, S2.6, S2.7, S2.9, S2.18, S2.23, S2.27: the same edges, the same bytes and the same live owners as the
    /// model.
    #[test]
    fn graphs_keep_what_a_model_says(program in prop::collection::vec(any::<Choice>(), 1..64), seed in any::<u64>()) {
        let mode = mode_for(seed);
        run(&program, mode).map_err(|error| TestCaseError::fail(format!("{mode:?}: {error}")))?;
    }
}
