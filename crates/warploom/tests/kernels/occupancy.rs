//! Occupancy of kernels.

use warploom::{ContextError, Error, LaunchConfig, LaunchError};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{Bench, MEMORY};

driver_tests! {
    fn a_multiprocessor_runs_so_many_blocks(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, properties) = (bench.kernel("saxpy")?, bench.context.device().properties()?);
        let occupancy = saxpy.occupancy(&bench.context)?;
        let (small, large) = (occupancy.max_active_blocks(32, 0)?, occupancy.max_active_blocks((512, 2), 0)?);
        assert_eq!(small, properties.max_blocks_per_multiprocessor());
        assert_eq!(large, properties.max_threads_per_multiprocessor() / 1024);
        assert_eq!(occupancy.max_active_blocks(32, 40 << 10)?, properties.shared_memory_per_multiprocessor() / (41 << 10));
        let refused = occupancy.max_active_blocks((32, 0), 0);
        assert_eq!(refused, Err(Error::Launch(LaunchError::Empty { what: "block", dimensions: (32, 0).into() })));
    }

    fn a_block_size_is_suggested(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        let kernel = bench.kernel("reverse_dynamic")?;
        let occupancy = kernel.occupancy(&bench.context)?;
        let suggested = occupancy.suggest_block(0, 0)?;
        assert!(suggested.block.is_multiple_of(32) && suggested.block > 0 && suggested.grid > 0, "{suggested:?}");
        assert_eq!(occupancy.suggest_block(0, 64)?.block, 64);
        let mut asked = Vec::new();
        let with = occupancy.suggest_block_with(
            |threads| {
                asked.push(threads);
                threads as usize * 4
            },
            256,
        )?;
        assert!(with.block <= 256 && asked.contains(&with.block), "{with:?} of {asked:?}");
    }

    fn a_function_that_panics_is_heard_of_after_the_call(driver) {
        let bench = Bench::new(driver)?;
        let kernel = bench.kernel("saxpy")?;
        let occupancy = kernel.occupancy(&bench.context)?;
        let asked = std::panic::AssertUnwindSafe(|| occupancy.suggest_block_with(|_| panic!("no idea"), 0));
        let panicked = std::panic::catch_unwind(asked).expect_err("it panics");
        assert_eq!(panicked.downcast_ref::<&str>(), Some(&"no idea"));
        assert!(occupancy.suggest_block_with(|_| 0, 0).is_ok());
    }

    fn shared_memory_is_divided_among_blocks(driver) {
        let bench = Bench::new(driver)?;
        let kernel = bench.kernel("saxpy")?;
        let occupancy = kernel.occupancy(&bench.context)?;
        let (one, four) = (occupancy.available_dynamic_shared(1, 128)?, occupancy.available_dynamic_shared(4, 128)?);
        assert!(one >= four && four > 0, "{one} {four}");
    }

    fn clusters_are_asked_about_with_a_stream(driver) {
        let bench = Bench::new(driver)?;
        let kernel = bench.kernel("saxpy")?;
        let occupancy = kernel.occupancy(&bench.context)?;
        let config = LaunchConfig::new(64, 128);
        assert!(occupancy.max_cluster_size(&config, &bench.stream)? >= 8);
        assert!(occupancy.max_active_clusters(&config.cluster(2), &bench.stream)? > 0);
    }
}

#[test]
fn clusters_are_asked_about_on_a_stream_of_the_context() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (bench, far) = (Bench::new(&driver)?, driver.device(1)?.context()?.stream()?);
    let kernel = bench.kernel("saxpy")?;
    let occupancy = kernel.occupancy(&bench.context)?;
    budget(&driver, &[], || {
        let refused = Err(Error::Context(ContextError::Mismatch { stream: 1, memory: 0 }));
        assert_eq!(occupancy.max_cluster_size(&LaunchConfig::new(1, 32), &far), refused);
        assert_eq!(occupancy.max_active_clusters(&LaunchConfig::new(1, 32), &far), refused);
    });
    Ok(())
}
