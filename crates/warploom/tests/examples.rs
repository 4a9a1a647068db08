//! The examples, in every order of work, and on a GPU.
//!
//! `shared_weights` needs processes and is in `tests/processes`; `compile` needs NVRTC and is in `tests/nvrtc`;
//! `all_reduce` needs NCCL, and is compiled with the feature `nccl`.

use std::collections::BTreeSet;

use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{ASYNCHRONOUS, TestResult, assert_sound, driver_tests, open};

#[path = "../examples/async_tokio.rs"]
mod async_tokio;
#[path = "../examples/faults.rs"]
mod faults;
#[path = "../examples/graph_loop.rs"]
mod graph_loop;
#[path = "../examples/managed.rs"]
mod managed;
#[path = "../examples/mesh_ring.rs"]
mod mesh_ring;
#[path = "../examples/peers.rs"]
mod peers;
#[path = "../examples/pool.rs"]
mod pool;
#[path = "../examples/saxpy.rs"]
mod saxpy;
#[path = "../examples/testing.rs"]
mod testing;

driver_tests! {
    fn saxpy_runs(driver) {
        saxpy::run(driver)?;
    }

    fn pool_runs(driver) {
        pool::run(driver)?;
    }

    fn peers_runs_on_one_device(driver) {
        peers::run(driver)?;
    }

    fn mesh_ring_runs_on_one_device(driver) {
        mesh_ring::run(driver)?;
    }

    fn managed_runs(driver) {
        managed::run(driver)?;
    }

    fn graph_loop_runs(driver) {
        graph_loop::run(driver)?;
    }

    threads fn async_tokio_runs(driver) {
        async_tokio::run(driver)?;
    }
}

/// On a machine with several devices, in every order.
fn on_four_devices(run: fn(&warploom::Driver) -> TestResult) -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = open(Topology::preset("hgx-a100-4")?, *mode)?;
        run(&driver).map_err(|error| format!("in mode {mode:?}: {error}"))?;
        assert_sound(&machine);
    }
    Ok(())
}

#[test]
fn peers_runs_on_four_devices() -> TestResult {
    on_four_devices(peers::run)
}

#[test]
fn peers_leaves_out_devices_that_cannot_reach_the_owner() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Threads)?;
    peers::run(&driver)
}

#[test]
fn mesh_ring_runs_on_four_devices() -> TestResult {
    on_four_devices(mesh_ring::run)
}

#[test]
fn testing_finds_its_race() -> TestResult {
    testing::run()
}

#[test]
fn faults_are_handled() -> TestResult {
    faults::run()
}

/// The guide's table of examples lists every file.
#[test]
fn every_example_is_listed() -> TestResult {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let files = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let files = files.collect::<std::io::Result<BTreeSet<String>>>()?;
    let list = include_str!("../examples/README.md");
    let missing: Vec<_> =
        files.iter().filter(|file| file.ends_with(".rs") && !list.contains(&format!("({file})"))).collect();
    assert!(missing.is_empty(), "not in examples/README.md: {missing:?}");
    Ok(())
}
