//! Changes of many elements: one write of the differences.

use warploom::{DeviceError, DevicePool, Error, Function, LiveSet, PeerError};
use warploom_sim::Machine;
use warploom_testkit::{AccessSpy, AccessWrite, TestResult, budget};

use super::{links, ordinals, pool_of, pool_on, set};

const NONE: u32 = 0;
const READ_WRITE: u32 = 3;

/// S0.13, S0.14: each operation is one write or none; additions come first, then removals, both ascending,
/// without duplicates and without the owner.
#[test]
fn one_write_has_additions_and_then_removals() -> TestResult {
    let machine = Machine::preset("dgx-h100")?;
    let (driver, spy) = AccessSpy::open(&machine)?;
    let pool = DevicePool::new(&driver.device(3)?.context()?)?;
    let peers = pool.peers();
    let wrote = |added: &[i32], removed: &[i32]| {
        let added = added.iter().map(|ordinal| (*ordinal, READ_WRITE));
        let write: AccessWrite = added.chain(removed.iter().map(|ordinal| (*ordinal, NONE))).collect();
        assert_eq!(spy.take(), [write]);
    };
    let nothing = || assert_eq!(spy.take(), [] as [AccessWrite; 0]);

    peers.extend([6, 1, 3, 4, 1])?;
    wrote(&[1, 4, 6], &[]);
    peers.extend([6, 4, 3])?;
    nothing();
    peers.toggle([7, 4, 0, 3, 6, 4])?;
    wrote(&[0, 7], &[4, 6]);
    peers.assign([5, 2, 7, 3, 2])?;
    wrote(&[2, 5], &[0, 1]);
    peers.subtract([7, 3, 6, 7])?;
    wrote(&[], &[7]);
    peers.intersect([6, 5, 3])?;
    wrote(&[], &[2]);
    peers.intersect([5, 0])?;
    nothing();
    peers.subtract([0, 1])?;
    nothing();
    peers.assign([0, 1, 2])?;
    wrote(&[0, 1, 2], &[5]);
    peers.retain(|device| device.ordinal() == 1)?;
    wrote(&[], &[0, 2]);
    peers.retain(|_| true)?;
    nothing();
    peers.clear()?;
    wrote(&[], &[1]);
    peers.clear()?;
    nothing();
    Ok(())
}

/// S0.15: the owner in an input is dropped, and the others count.
#[test]
fn the_owner_in_an_input_changes_nothing_for_the_others() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    peers.extend(driver.devices()?)?;
    assert_eq!(ordinals(peers)?, set([1, 2, 3]));
    peers.toggle([0, 1])?;
    assert_eq!(ordinals(peers)?, set([2, 3]));
    peers.subtract([0, 2])?;
    assert_eq!(ordinals(peers)?, set([3]));
    peers.assign([0, 1, 3])?;
    assert_eq!(ordinals(peers)?, set([1, 3]));
    peers.intersect([0, 3])?;
    assert_eq!(ordinals(peers)?, set([3]));
    Ok(())
}

/// S0.16: one element that cannot be added, and nothing is; all such are named.
#[test]
fn nothing_is_written_if_one_addition_is_refused() -> TestResult {
    // Devices 1 and 4 reach the memory of device 0; 2, 3 and 5 do not.
    let (_machine, driver, pool) = pool_of(links(6, &[(1, 0), (4, 0), (0, 2), (0, 3)])?, 0)?;
    let peers = pool.peers();
    peers.insert(1)?;
    let reads = (Function::cuMemPoolGetAccess, 5);
    let unsupported = Err(Error::Peer(PeerError::Unsupported { owner: 0, peers: vec![2, 3, 5] }));
    let asked = (Function::cuDeviceCanAccessPeer, 4);
    assert_eq!(budget(&driver, &[reads, asked], || peers.extend([5, 4, 3, 2])), unsupported);
    assert_eq!(budget(&driver, &[reads, asked], || peers.assign([5, 4, 3, 2, 5])), unsupported);
    assert_eq!(budget(&driver, &[reads, asked], || peers.toggle([2, 3, 4, 5, 1])), unsupported);
    assert_eq!(ordinals(peers)?, set([1]));
    let text = peers.extend([3, 2]).expect_err("two without a link").to_string();
    assert!(text.starts_with("devices 2, 3 cannot be given access to memory of device 0; "), "{text}");

    let missing = Err(Error::Device(DeviceError::NoSuchDevices { ordinals: vec![6, 9], count: 6 }));
    assert_eq!(budget(&driver, &[], || peers.extend([9, 2, 6, 4])), missing);
    assert_eq!(budget(&driver, &[], || peers.assign([4, 9, 6])), missing);
    assert_eq!(budget(&driver, &[], || peers.toggle([1, 9, 6])), missing);
    assert_eq!(ordinals(peers)?, set([1]));
    let text = peers.assign([6]).expect_err("there are six").to_string();
    assert_eq!(text, "device 6 does not exist; the driver has 6");
    Ok(())
}

/// S0.17: nothing to add asks nothing; clearing nothing reads and does not write.
#[test]
fn empty_inputs_and_empty_sets_cost_little() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    let none = std::iter::empty::<u32>;
    budget(&driver, &[], || peers.extend(none()))?;
    budget(&driver, &[], || peers.extend([0]))?;
    budget(&driver, &[], || peers.subtract(none()))?;
    budget(&driver, &[], || peers.toggle(none()))?;
    let reads = (Function::cuMemPoolGetAccess, 3);
    budget(&driver, &[reads], || peers.clear())?;
    budget(&driver, &[reads], || peers.assign(none()))?;
    budget(&driver, &[reads], || peers.intersect(none()))?;
    Ok(())
}

/// S0.18: what differs is found by asking the driver; what does not differ is not written.
#[test]
fn assigning_the_current_members_writes_nothing() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    peers.assign([2, 3])?;
    let reads = [(Function::cuMemPoolGetAccess, 3)];
    budget(&driver, &reads, || peers.assign([3, 2, 0]))?;
    let own = peers.snapshot()?;
    budget(&driver, &reads, || peers.assign(own))?;
    assert_eq!(ordinals(peers)?, set([2, 3]));
    Ok(())
}

/// S0.20: what can only remove ignores devices that do not exist; what can add is strict.
#[test]
fn removals_ignore_devices_that_do_not_exist() -> TestResult {
    let (_machine, _driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    peers.extend([1, 2, 3])?;
    peers.subtract([1, 9])?;
    assert_eq!(ordinals(peers)?, set([2, 3]));
    peers.intersect([3, 9])?;
    assert_eq!(ordinals(peers)?, set([3]));
    assert!(peers.toggle([1, 9]).is_err() && peers.extend([1, 9]).is_err() && peers.assign([1, 9]).is_err());
    assert_eq!(ordinals(peers)?, set([3]));
    Ok(())
}

/// S0.E: subtracting a set from itself is clearing it.
#[test]
fn a_set_minus_itself_is_empty() -> TestResult {
    let (_machine, _driver, pool) = pool_on("hgx-a100-4")?;
    pool.peers().extend([1, 3])?;
    pool.peers().subtract(pool.peers().iter()?)?;
    assert!(pool.peers().is_empty()?);
    Ok(())
}

/// `keep` is the caller's code: it may use the set it is asked about, and what it then does is seen.
#[test]
fn retain_may_use_the_set_in_its_closure() -> TestResult {
    let (_machine, _driver, pool) = pool_on("dgx-h100")?;
    let peers = pool.peers();
    peers.extend([1, 2, 3])?;
    let mut asked = Vec::new();
    peers.retain(|device| {
        asked.push(device.ordinal());
        if device.ordinal() == 2 {
            peers.extend([5, 6]).expect("they are there");
        }
        device.ordinal() % 2 == 1
    })?;
    assert_eq!(asked, [1, 2, 3, 5, 6]);
    assert_eq!(ordinals(peers)?, set([1, 3, 5]));
    Ok(())
}
