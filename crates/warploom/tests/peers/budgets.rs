//! The driver calls of each operation, on two, four and eight devices (S0.D).

use warploom::{DevicePool, Driver, Function, LiveSet, PeerSet};
use warploom_testkit::{TestResult, budget};

use super::{ALL_TO_ALL, links, pool_of, pool_on};

/// Reads, questions about capability, and writes.
fn costs<R>(driver: &Driver, (reads, questions, writes): (u32, u32, u32), work: impl FnOnce() -> R) -> R {
    let allowed = [
        (Function::cuMemPoolGetAccess, u64::from(reads)),
        (Function::cuDeviceCanAccessPeer, u64::from(questions)),
        (Function::cuMemPoolSetAccess, u64::from(writes)),
    ];
    budget(driver, &allowed, work)
}

fn on_each(body: impl Fn(&Driver, PeerSet<'_>, u32) -> TestResult) -> TestResult {
    for (preset, count) in ALL_TO_ALL {
        let (_machine, driver, pool) = pool_on(preset)?;
        body(&driver, pool.peers(), count).map_err(|error| format!("{preset}: {error}"))?;
    }
    Ok(())
}

/// S0.D, S0.1: making a view is free.
#[test]
fn making_a_view() -> TestResult {
    for (preset, _) in ALL_TO_ALL {
        let (_machine, driver, pool) = pool_on(preset)?;
        costs(&driver, (0, 0, 0), || pool.peers());
    }
    Ok(())
}

/// S0.D, S0.23: reading asks about each other device once.
#[test]
fn reading() -> TestResult {
    on_each(|driver, peers, count| {
        peers.insert(1)?;
        let others = count - 1;
        assert!(costs(driver, (1, 0, 0), || peers.contains(1))?);
        for ordinal in [0, count] {
            assert!(!costs(driver, (0, 0, 0), || peers.contains(ordinal))?);
        }
        assert_eq!(costs(driver, (others, 0, 0), || peers.len())?, 1);
        assert!(!costs(driver, (others, 0, 0), || peers.is_empty())?);
        assert_eq!(costs(driver, (others, 0, 0), || peers.iter())?.count(), 1);
        assert_eq!(costs(driver, (others, 0, 0), || peers.snapshot())?, [driver.device(1)?].into());
        costs(driver, (others, 0, 0), || format!("{peers:?}"));
        costs(driver, (1, 0, 0), || peers.level(1))?;
        Ok(())
    })
}

/// S0.D: one element.
#[test]
fn changing_one() -> TestResult {
    on_each(|driver, peers, count| {
        assert!(!costs(driver, (0, 0, 0), || peers.insert(0))?);
        assert!(costs(driver, (1, 1, 1), || peers.insert(count - 1))?);
        assert!(!costs(driver, (1, 0, 0), || peers.insert(count - 1))?);
        assert!(costs(driver, (1, 0, 1), || peers.remove(count - 1))?);
        assert!(!costs(driver, (1, 0, 0), || peers.remove(count - 1))?);
        assert!(costs(driver, (count - 1, 0, 0), || peers.pop_first())?.is_none());
        peers.insert(1)?;
        assert!(costs(driver, (count - 1, 0, 1), || peers.pop_first())?.is_some());
        Ok(())
    })
}

/// S0.D: a device without a link is found out before anything is written.
#[test]
fn inserting_one_without_a_link() -> TestResult {
    for count in [2, 4, 8] {
        let (_machine, driver, pool) = pool_of(links(count, &[(0, 1)])?, 0)?;
        assert!(costs(&driver, (1, 1, 0), || pool.peers().insert(1)).is_err());
    }
    Ok(())
}

/// S0.D, S0.13, S0.21: only what is new is asked about, and one write does it all.
#[test]
fn adding_many() -> TestResult {
    on_each(|driver, peers, count| {
        let others = count - 1;
        costs(driver, (0, 0, 0), || peers.extend(std::iter::empty::<u32>()))?;
        costs(driver, (others, others, 1), || peers.extend(0..count))?;
        costs(driver, (others, 0, 0), || peers.extend(0..count))?;
        peers.remove(1)?;
        costs(driver, (others, 1, 1), || peers.extend(1..count))?;
        Ok(())
    })
}

/// S0.D: what only removes asks about no capability.
#[test]
fn removing_many() -> TestResult {
    on_each(|driver, peers, count| {
        let others = count - 1;
        costs(driver, (0, 0, 0), || peers.subtract(std::iter::empty::<u32>()))?;
        for _ in 0..2 {
            peers.extend(1..count)?;
            costs(driver, (others, 0, 1), || peers.subtract(1..count))?;
            costs(driver, (others, 0, 0), || peers.subtract(1..count))?;
            peers.extend(1..count)?;
            costs(driver, (others, 0, 0), || peers.intersect(1..count))?;
            costs(driver, (others, 0, 1), || peers.intersect([count]))?;
            peers.extend(1..count)?;
            costs(driver, (others, 0, 0), || peers.retain(|_| true))?;
            costs(driver, (others, 0, 1), || peers.retain(|_| false))?;
            peers.extend(1..count)?;
            costs(driver, (others, 0, 1), || peers.clear())?;
            costs(driver, (others, 0, 0), || peers.clear())?;
        }
        Ok(())
    })
}

/// S0.D: additions and removals together are one write, too.
#[test]
fn adding_and_removing_many() -> TestResult {
    on_each(|driver, peers, count| {
        let others = count - 1;
        costs(driver, (others, 1, 1), || peers.toggle([1]))?;
        costs(driver, (others, others - 1, 1), || peers.toggle(1..count))?;
        costs(driver, (others, 1, 1), || peers.assign([1]))?;
        costs(driver, (others, 0, 0), || peers.assign([1]))?;
        costs(driver, (others, others - 1, u32::from(others > 1)), || peers.assign(1..count))?;
        costs(driver, (others, 0, 1), || peers.assign(std::iter::empty::<u32>()))?;
        costs(driver, (others, 0, 0), || peers.assign([0]))?;
        Ok(())
    })
}

/// S0.24: a pool that granted nothing asks when it ends, and writes nothing; one that did waits and writes
/// once.
#[test]
fn ending_a_pool() -> TestResult {
    for (preset, count) in ALL_TO_ALL {
        let (_machine, driver, pool) = pool_on(preset)?;
        let reads = (Function::cuMemPoolGetAccess, u64::from(count - 1));
        let ended = (Function::cuMemPoolDestroy, 1);
        let other = DevicePool::new(pool.context())?;
        budget(&driver, &[reads, ended], || drop(other));
        pool.peers().extend(1..count)?;
        let _context = pool.context().clone();
        let waited = [(Function::cuCtxGetCurrent, 1), (Function::cuCtxSetCurrent, 2), (Function::cuCtxSynchronize, 1)];
        let written = [reads, (Function::cuMemPoolSetAccess, 1), ended];
        budget(&driver, &[&waited[..], &written].concat(), || drop(pool));
    }
    Ok(())
}
