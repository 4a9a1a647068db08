//! Islands of devices (S3.4).

use warploom::Device;
use warploom_sim::topology::Topology as Wiring;
use warploom_testkit::TestResult;

use super::{PRESETS, links, probe};

fn ordinals(islands: &[Vec<Device>]) -> Vec<Vec<u32>> {
    islands.iter().map(|island| island.iter().map(Device::ordinal).collect()).collect()
}

/// S3.4: a link in any direction joins; members ascend, and islands are in the order of their first.
#[test]
fn islands_ignore_direction_and_mutual_islands_do_not() -> TestResult {
    let (_machine, _driver, topology) = probe(links(7, &[(5, 0), (3, 5), (1, 4), (4, 1), (4, 2)])?)?;
    assert_eq!(ordinals(&topology.islands()), [vec![0, 3, 5], vec![1, 2, 4], vec![6]]);
    assert_eq!(ordinals(&topology.mutual_islands()), [vec![0], vec![1, 4], vec![2], vec![3], vec![5], vec![6]]);
    Ok(())
}

/// S3.4: members of an island need not reach each other.
#[test]
fn an_island_is_no_promise_that_all_pairs_are_direct() -> TestResult {
    let (_machine, _driver, topology) = probe(links(3, &[(0, 1), (1, 0), (1, 2), (2, 1)])?)?;
    assert_eq!(ordinals(&topology.mutual_islands()), [[0, 1, 2]]);
    assert!(!topology.can_access(0, 2)? && !topology.can_access(2, 0)?);
    Ok(())
}

/// S3.4: every device is in exactly one.
#[test]
fn every_device_is_in_exactly_one_island() -> TestResult {
    for preset in PRESETS {
        let (_machine, _driver, topology) = probe(Wiring::preset(preset)?)?;
        for islands in [topology.islands(), topology.mutual_islands()] {
            let firsts: Vec<_> = islands.iter().map(|island| island[0].clone()).collect();
            assert!(firsts.is_sorted() && islands.iter().all(|island| island.is_sorted()), "{preset}");
            let mut all = islands.concat();
            all.sort_unstable();
            assert_eq!(all, topology.devices(), "{preset}");
        }
    }
    Ok(())
}
