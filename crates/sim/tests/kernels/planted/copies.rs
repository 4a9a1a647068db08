//! Asynchronous copies in flight, and blocks of a cluster that use each other's memory.

use warploom_sim::{Absence, CopySide, FindingKind, MissingOrder, RacedMemory, ThreadAccess};
use warploom_testkit::TestResult;
use warploom_testkit::driver::Driver;

use super::{fault, line, race, short, twins, words};

#[test]
fn a_copy_is_read_before_it_has_come() -> TestResult {
    let kernel = "planted_copy_wait";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(
        (copy.side, copy.access, &copy.memory),
        (CopySide::Destination, ThreadAccess::Read, &RacedMemory::Shared)
    );
    assert_eq!((&copy.bytes, copy.times), (&(4..8), 64), "{kind}");
    assert_eq!((copy.copier.thread, copy.other.thread), ([1, 0, 0], [0, 0, 0]), "{kind}");
    assert!(copy.copier.instruction.starts_with("cp.async.ca"), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "y[threadIdx.x] ="), "{kind}");
    let text = kind.to_string();
    assert!(text.starts_with("unfinished copy: cuLaunchKernel (call "), "{text}");
    assert!(
        text.contains("to which a copy is under way that block [0, 0, 0], thread [1, 0, 0] has asked for"),
        "{text}"
    );
    assert!(text.contains("cp.async.wait_all"), "{text}");
    Ok(())
}

#[test]
fn a_neighbours_copy_is_read_without_a_barrier() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_copy_barrier", (1, 64, 0), arguments)?;
    let (race, text) = race(&found);
    assert!(race.first.instruction.starts_with("cp.async") && race.memory == RacedMemory::Shared, "{text}");
    Ok(())
}

#[test]
fn a_source_is_overwritten_before_it_was_copied() -> TestResult {
    let kernel = "planted_copy_source";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((copy.side, copy.access, &copy.bytes), (CopySide::Source, ThreadAccess::Write, &(0..4)), "{kind}");
    assert!(matches!(&copy.memory, RacedMemory::Allocation(allocation) if allocation.bytes == 256), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "x[threadIdx.x] = 0"), "{kind}");
    assert!(kind.to_string().contains("from which a copy is under way that it has asked for itself"), "{kind}");
    Ok(())
}

#[test]
fn a_bulk_copy_is_read_before_its_barrier_is_waited_for() -> TestResult {
    let kernel = "planted_bulk_wait";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(
        (copy.side, copy.access, &copy.memory, &copy.bytes, copy.times),
        (CopySide::Destination, ThreadAccess::Read, &RacedMemory::Shared, &(0..4), 64),
        "{kind}"
    );
    assert!(copy.copier.thread == [0; 3] && copy.copier.instruction.starts_with("cp.async.bulk"), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "y[threadIdx.x] ="), "{kind}");
    assert!(kind.to_string().contains("wait for the mbarrier that counts them"), "{kind}");
    Ok(())
}

#[test]
fn a_bulk_copy_sends_bytes_without_a_proxy_fence() -> TestResult {
    let kernel = "planted_bulk_fence";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let (race, text) = race(&found);
    assert_eq!((race.missing, &race.memory), (MissingOrder::ProxyFence, &RacedMemory::Shared), "{text}");
    assert_eq!((race.first_access, race.second_access), (ThreadAccess::Write, ThreadAccess::Read), "{text}");
    assert_eq!((&race.bytes, short(&race.first.source)), (&(0..256), line(kernel, "tile[threadIdx.x] =")), "{text}");
    assert!(race.second.instruction.starts_with("cp.async.bulk"), "{text}");
    assert!(text.contains("no proxy fence orders its copy") && text.contains("fence.proxy.async"), "{text}");
    Ok(())
}

#[test]
fn a_tile_is_cleared_before_a_bulk_copy_has_sent_it() -> TestResult {
    let kernel = "planted_bulk_source";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((copy.side, copy.access), (CopySide::Source, ThreadAccess::StrongWrite), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "[threadIdx.x] = 0"), "{kind}");
    assert!(kind.to_string().contains("cp.async.bulk.wait_group.read"), "{kind}");
    Ok(())
}

#[test]
fn blocks_of_a_cluster_meet_without_its_barrier() -> TestResult {
    let kernel = "planted_cluster_race";
    let found = twins(kernel, (4, 64, 0), |driver| Ok(vec![words(driver, 256)?, words(driver, 256)?]))?;
    let (race, text) = race(&found);
    let RacedMemory::Cluster { block } = race.memory else { panic!("{text}") };
    assert!(race.first.block != race.second.block && [race.first.block, race.second.block].contains(&block), "{text}");
    assert_eq!(race.missing, MissingOrder::ClusterBarrier, "{text}");
    assert!(text.contains("of the shared memory of block [") && text.contains("cluster.sync()"), "{text}");
    let sources = [short(&race.first.source), short(&race.second.source)];
    assert!(sources.contains(&line(kernel, "tile[threadIdx.x] = x[i]")), "{text}");
    Ok(())
}

#[test]
fn a_block_may_not_be_there_when_another_accesses_its_memory() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]);
    let planted_at = [
        ("planted_cluster_start", Absence::NotStarted, "before the first access"),
        ("planted_cluster_end", Absence::Ended, "behind the last access"),
    ];
    for (kernel, when, missing) in planted_at {
        let found = twins(kernel, (2, 64, 0), arguments)?;
        let [kind @ FindingKind::AbsentBlock { visit, .. }, faults @ ..] = &found[..] else { panic!("{found:#?}") };
        assert!(visit.when == when && visit.block != visit.visitor.block, "{kind}");
        // A visitor that comes when the block has ended cannot go on.
        match faults {
            [] => assert!(visit.times >= 64, "{kind}"),
            faults => assert!(fault(faults).problem.contains("has ended") && when == Absence::Ended, "{kind}"),
        }
        assert_eq!(short(&visit.visitor.source), line(kernel, "of_other_block("), "{kind}");
        let text = kind.to_string();
        assert!(text.starts_with("absent block: cuLaunchKernel (call ") && text.contains(missing), "{text}");
    }
    Ok(())
}
