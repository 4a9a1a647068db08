//! Data races in kernels, and barriers that not all threads reach.

use warploom_sim::{FindingKind, Instead, MissingOrder, RacedMemory};
use warploom_testkit::TestResult;
use warploom_testkit::driver::Driver;

use super::{line, race, short, twins, words};
use crate::support::upload;

#[test]
fn a_neighbour_is_read_before_it_has_written() -> TestResult {
    let kernel = "planted_read_after_write";
    let found = twins(kernel, (2, 128, 0), |driver| Ok(vec![words(driver, 256)?, words(driver, 256)?]))?;
    // Lanes of a warp, and warps: two pairs of threads, one pair of instructions.
    let (race, text) = race(&found);
    assert_eq!((race.memory.clone(), race.times > 100), (RacedMemory::Shared, true), "{text}");
    assert!(race.first.instruction.starts_with("st.shared") && race.second.instruction.starts_with("ld.shared"));
    assert_eq!(short(&race.first.source), line(kernel, "tile[threadIdx.x] = x[i]"), "{text}");
    assert_eq!(short(&race.second.source), line(kernel, "y[i] ="), "{text}");
    assert_eq!((race.first.block, race.bytes.end - race.bytes.start), (race.second.block, 4));
    assert!(text.starts_with("race in a kernel: cuLaunchKernel (call "), "{text}");
    assert!(text.contains("`planted_read_after_write`: block [0, 0, 0], thread ["), "{text}");
    assert!(text.contains("of the block's shared memory, and nothing orders that behind block"), "{text}");
    Ok(())
}

#[test]
fn a_value_is_gone_before_it_was_read() -> TestResult {
    let kernel = "planted_write_after_read";
    let found = twins(kernel, (1, 128, 0), |driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]))?;
    let sources: Vec<_> = found
        .iter()
        .map(|kind| match kind {
            FindingKind::KernelRace { race, .. } => (short(&race.first.source), short(&race.second.source)),
            other => panic!("{other}"),
        })
        .collect();
    let (read, write) = (line(kernel, "int next ="), line(kernel, "tile[threadIdx.x] = next"));
    assert!(
        sources.iter().all(|pair| *pair == (read.clone(), write.clone()) || *pair == (write.clone(), read.clone()))
    );
    Ok(())
}

#[test]
fn all_threads_write_one_word() -> TestResult {
    let found = twins("planted_write_after_write", (2, 64, 0), |driver| Ok(vec![words(driver, 2)?]))?;
    let (race, text) = race(&found);
    assert_eq!((race.memory.clone(), race.missing), (RacedMemory::Shared, MissingOrder::OwnPlace), "{text}");
    assert!(text.contains("give each thread a place of its own"), "{text}");
    Ok(())
}

#[test]
fn lanes_of_a_warp_do_not_keep_step() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_warp", (1, 64, 0), arguments)?;
    let (race, text) = race(&found);
    assert_eq!(race.missing, MissingOrder::WarpBarrier, "{text}");
    assert!(text.contains("put __syncwarp() between the two"), "{text}");
    Ok(())
}

#[test]
fn blocks_add_to_one_word_without_atomics() -> TestResult {
    let kernel = "planted_blocks";
    let found = twins(kernel, (2, 1, 0), |driver| Ok(vec![words(driver, 2)?, words(driver, 1)?]))?;
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    for kind in &found {
        let FindingKind::KernelRace { race, .. } = kind else { panic!("{kind}") };
        assert_eq!((race.missing, &race.bytes), (MissingOrder::GridOrder, &(0..4)), "{kind}");
        let RacedMemory::Allocation(allocation) = &race.memory else { panic!("{kind}") };
        assert_eq!((allocation.bytes, allocation.device), (4, Some(0)), "{kind}");
        assert_eq!((race.first.block, race.second.block), ([0, 0, 0], [1, 0, 0]), "{kind}");
        assert_eq!(short(&race.second.source), line(kernel, "*sum +="), "{kind}");
    }
    assert!(texts[0].contains("blocks have no order"), "{}", texts[0]);
    Ok(())
}

#[test]
fn data_is_handed_on_without_a_fence() -> TestResult {
    let arguments = |driver: &Driver| {
        Ok(vec![words(driver, 1)?, upload(driver, &[0])?, upload(driver, &[0])?, upload(driver, &[0])?])
    };
    let found = twins("planted_fence", (3, 32, 0), arguments)?;
    let (race, text) = race(&found);
    assert_eq!((race.missing, race.first.block, race.second.block), (MissingOrder::GridOrder, [0; 3], [2, 0, 0]));
    assert!(text.contains("__threadfence()"), "{text}");
    Ok(())
}

#[test]
fn a_counter_is_read_as_if_it_were_not_atomic() -> TestResult {
    let found = twins("planted_mixed", (2, 64, 0), |driver| Ok(vec![upload(driver, &[0])?, upload(driver, &[0])?]))?;
    for kind in &found {
        let FindingKind::KernelRace { race, .. } = kind else { panic!("{kind}") };
        assert_eq!(race.missing, MissingOrder::BothAtomic, "{kind}");
        assert!(kind.to_string().contains("atomically changes"), "{kind}");
    }
    Ok(())
}

#[test]
fn threads_end_before_a_barrier() -> TestResult {
    let kernel = "planted_barrier";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 40]))?;
    let [kind @ FindingKind::BarrierDivergence { barrier, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((barrier.barrier, barrier.waiting, barrier.did), (0, 40, Instead::Ended { threads: 24 }), "{kind}");
    assert_eq!(barrier.waits.thread, [0; 3], "{kind}");
    assert!(barrier.other.thread[0] >= 40, "{kind}");
    assert!(kind.to_string().starts_with("divergent barrier: cuLaunchKernel (call "), "{kind}");
    assert!(kind.to_string().contains("has ended (24 threads have)"), "{kind}");
    Ok(())
}

#[test]
fn threads_wait_at_different_barriers() -> TestResult {
    let found = twins("planted_barriers", (1, 64, 0), |driver| Ok(vec![words(driver, 64)?]))?;
    let barriers: Vec<_> = found
        .iter()
        .filter_map(|kind| match kind {
            FindingKind::BarrierDivergence { barrier, .. } => Some((barrier.barrier, barrier.waiting, barrier.did)),
            _ => None,
        })
        .collect();
    assert_eq!(barriers, [(1, 32, Instead::WaitsAt { barrier: 2, threads: 32 })]);
    assert!(matches!(&found[..], [_, FindingKind::KernelFault { .. }] | [FindingKind::KernelFault { .. }, _]));
    Ok(())
}

#[test]
fn threads_do_not_agree_on_a_count() -> TestResult {
    let found = twins("planted_counts", (1, 96, 0), |driver| Ok(vec![words(driver, 96)?]))?;
    let [kind @ FindingKind::BarrierDivergence { barrier, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(barrier.did, Instead::OtherCount { expects: 64, first: 96 }, "{kind}");
    Ok(())
}
