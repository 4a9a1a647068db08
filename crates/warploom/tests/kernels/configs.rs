//! Launch configurations that are refused.
#![expect(unsafe_code, reason = "launches kernels")]

use std::collections::HashSet;

use warploom::{Context, DevicePool, Dimensions, Error, KernelAttribute, LaunchConfig, LaunchError, Result};
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{Bench, MEMORY, VECTOR, readable};

#[test]
fn a_cover_has_a_thread_for_each() {
    assert_eq!(LaunchConfig::cover(0, 32), LaunchConfig::new(1, 32));
    assert_eq!(LaunchConfig::cover(1, 32), LaunchConfig::new(1, 32));
    assert_eq!(LaunchConfig::cover(32, 32), LaunchConfig::new(1, 32));
    assert_eq!(LaunchConfig::cover(33, 32), LaunchConfig::new(2, 32));
    assert_eq!(LaunchConfig::cover(5, 0).block().total(), 0);
    assert_eq!(LaunchConfig::cover(usize::MAX, 1).grid().x, u32::MAX);
    let whole = Dimensions { x: u32::MAX, y: u32::MAX, z: u32::MAX };
    assert_eq!(LaunchConfig::new(whole, whole).threads(), u64::MAX);
}

/// LCH-7.
#[test]
fn configs_are_values() {
    let one = LaunchConfig::new((2, 2), 32).shared_memory(64).cooperative();
    let all = HashSet::from([one, one.priority(-1), one.overlap_previous(), LaunchConfig::new((2, 2, 1), 32), one]);
    assert_eq!(all.len(), 4);
    assert!(all.contains(&LaunchConfig::new([2, 2, 1], (32, 1)).cooperative().shared_memory(64)));
}

#[test]
fn clusters_are_counted_as_blocks() {
    assert_eq!(LaunchConfig::of_clusters((2, 3), (4, 1), 32), LaunchConfig::new((8, 3), 32).cluster((4, 1)));
}

driver_tests! {
    fn configurations_beyond_the_limits_are_refused_before_the_driver_is_called(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, mut y) = (bench.saxpy()?, bench.pool.zeroed::<f32>(4, &bench.stream)?);
        let x = bench.pool.zeroed::<f32>(4, &bench.stream)?;
        // SAFETY: there are 4 values each.
        unsafe { saxpy.launch(&bench.stream, &LaunchConfig::new(1, 32), (1.0, &x, &mut y, 4)) }?;
        let shared = saxpy.attribute(KernelAttribute::MaxDynamicShared, bench.context.device())?.unsigned_abs();
        let threads = saxpy.attribute(KernelAttribute::MaxThreadsPerBlock, bench.context.device())?.unsigned_abs();
        let properties = bench.context.device().properties()?;
        let (grid, block): (Dimensions, Dimensions) = (properties.max_grid().into(), properties.max_block().into());
        let wide = LaunchConfig::new((1, grid.y + 1), 1);
        let refusals = [
            (LaunchConfig::new((1, 0), 32), LaunchError::Empty { what: "grid", dimensions: (1, 0).into() }),
            (LaunchConfig::new(1, (32, 1, 0)), LaunchError::Empty { what: "block", dimensions: (32, 1, 0).into() }),
            (LaunchConfig::cover(4, 0), LaunchError::Empty { what: "block", dimensions: 0.into() }),
            (
                LaunchConfig::new(1, (1, 1, block.z + 1)),
                LaunchError::BlockTooLarge { block: (1, 1, block.z + 1).into(), limit: block },
            ),
            (LaunchConfig::new(1, (1024, 2)), LaunchError::TooManyThreads { block: (1024, 2).into(), limit: threads }),
            (wide, LaunchError::GridTooLarge { grid: wide.grid(), limit: grid }),
            (
                LaunchConfig::cover(usize::MAX, 1),
                LaunchError::GridTooLarge { grid: u32::MAX.into(), limit: grid },
            ),
            (
                LaunchConfig::new(1, 1).shared_memory(shared + 1),
                LaunchError::SharedMemory { bytes: shared + 1, limit: shared },
            ),
            (
                LaunchConfig::new(1, 1).cluster((1, 0)),
                LaunchError::Empty { what: "cluster", dimensions: (1, 0).into() },
            ),
            (
                LaunchConfig::new(3, 1).cluster(2),
                LaunchError::PartOfCluster { grid: 3.into(), cluster: 2.into() },
            ),
        ];
        budget(driver, &[], || {
            for (config, refusal) in refusals {
                // SAFETY: it is refused.
                let refused = unsafe { saxpy.launch(&bench.stream, &config, (1.0, &x, &mut y, 4)) };
                assert_eq!(refused, Err(Error::Launch(refusal)), "{config:?}");
                assert_eq!(saxpy.check(&config, &bench.context).map(drop), Err(Error::Launch(refusal)));
            }
        });
    }

    fn a_checked_configuration_is_for_its_kernel(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, x) = (bench.saxpy()?, bench.pool.zeroed::<f32>(4, &bench.stream)?);
        let mut y = bench.pool.zeroed::<f32>(4, &bench.stream)?;
        let config = saxpy.check(&LaunchConfig::cover(4, 32), &bench.context)?;
        assert_eq!(config.config(), LaunchConfig::new(1, 32));
        // SAFETY: there are 4 values each.
        unsafe { saxpy.launch(&bench.stream, &config, (1.0, &x, &mut y, 4)) }?;
        let other = bench.kernel("add_f32")?.check(&LaunchConfig::cover(4, 32), &bench.context)?;
        // SAFETY: it is refused.
        let refused = unsafe { saxpy.launch(&bench.stream, &other, (1.0, &x, &mut y, 4)) };
        assert_eq!(refused, Err(Error::Launch(LaunchError::CheckedElsewhere)));
        let priority = bench.context.priority_range()?.greatest - 1;
        let refused = saxpy.check(&LaunchConfig::new(1, 1).priority(priority), &bench.context).map(drop);
        assert!(matches!(refused, Err(Error::Launch(LaunchError::PriorityOutOfRange { .. }))), "{refused:?}");
    }

    fn more_shared_memory_is_there_once_it_is_allowed(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        let (kernel, device) = (bench.kernel("reverse_dynamic")?, bench.context.device());
        let config = LaunchConfig::new(1, 32).shared_memory(64 << 10);
        let refused = kernel.check(&config, &bench.context).map(drop);
        assert!(matches!(refused, Err(Error::Launch(LaunchError::SharedMemory { .. }))), "{refused:?}");
        kernel.set_attribute(KernelAttribute::MaxDynamicShared, 64 << 10, device)?;
        kernel.check(&config, &bench.context)?;
    }

    fn blocks_that_wait_for_each_other_have_to_fit_the_device(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, device) = (bench.kernel("saxpy")?, bench.context.device());
        let each = saxpy.occupancy(&bench.context)?.max_active_blocks(1024, 0)?;
        let most = each * device.properties()?.multiprocessors();
        saxpy.check(&LaunchConfig::new(most, 1024).cooperative(), &bench.context)?;
        let (blocks, limit) = (u64::from(most) + 1, u64::from(most));
        let refused = saxpy.check(&LaunchConfig::new(most + 1, 1024).cooperative(), &bench.context).map(drop);
        assert_eq!(refused, Err(Error::Launch(LaunchError::TooManyCooperativeBlocks { blocks, limit })));
    }
}

#[test]
fn a_device_without_clusters_has_none() -> TestResult {
    let (_machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
    let bench = Bench::new(&driver)?;
    let saxpy = bench.kernel("saxpy")?;
    saxpy.check(&LaunchConfig::new(2, 32), &bench.context)?;
    let refused: Result<()> =
        budget(&driver, &[], || saxpy.check(&LaunchConfig::new(2, 32).cluster(2), &bench.context).map(drop));
    assert_eq!(refused, Err(Error::Launch(LaunchError::NoClusters { device: 0 })));
    Ok(())
}

/// A launch configuration is checked against the stream's device, whichever context is current.
#[test]
fn the_device_of_the_stream_is_asked_and_not_the_current_one() -> TestResult {
    let topology = Topology::builder().device(DeviceModel::H200).device(DeviceModel::A100).build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let (hopper, ampere) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    let saxpy = hopper.load(&readable(VECTOR))?.kernel("saxpy")?;
    let launch = |context: &Context| -> Result<()> {
        let (stream, config) = (context.stream()?, LaunchConfig::new(2, 32).cluster(2));
        let mut y = DevicePool::new(context)?.zeroed::<f32>(4, &stream)?;
        let x = DevicePool::new(context)?.zeroed::<f32>(4, &stream)?;
        // SAFETY: four values each.
        unsafe { saxpy.launch(&stream, &config, (1.0_f32, &x, &mut y, 4_u32)) }?;
        stream.synchronize()
    };
    let refused = hopper.scope(|| launch(&ampere))?;
    assert_eq!(refused, Err(Error::Launch(LaunchError::NoClusters { device: 1 })));
    ampere.scope(|| launch(&hopper))??;
    Ok(())
}
