//! One element at a time.

use warploom::{DeviceError, Error, Function, LiveSet, PeerError};
use warploom_testkit::{TestResult, budget};

use super::{links, ordinals, pool_of, pool_on, set};

/// S0.9: a device that cannot be a member is not one, without a driver call.
#[test]
fn the_owner_and_devices_that_do_not_exist_are_not_contained() -> TestResult {
    let (_machine, driver, pool) = pool_on("pcie-pair")?;
    for ordinal in [0, 2, u32::MAX] {
        assert!(!budget(&driver, &[], || pool.peers().contains(ordinal))?);
    }
    Ok(())
}

/// S0.10: resolve, owner, member, capability, write: in that order.
#[test]
fn inserting_checks_in_a_fixed_order() -> TestResult {
    // Device 1 can reach the memory of device 0, device 2 cannot.
    let (_machine, driver, pool) = pool_of(links(3, &[(1, 0), (0, 2)])?, 0)?;
    let peers = pool.peers();
    let read = (Function::cuMemPoolGetAccess, 1);
    let asked = (Function::cuDeviceCanAccessPeer, 1);
    let written = (Function::cuMemPoolSetAccess, 1);
    let missing = Error::Device(DeviceError::NoSuchDevice { ordinal: 3, count: 3 });
    assert_eq!(budget(&driver, &[], || peers.insert(3)), Err(missing));
    assert_eq!(budget(&driver, &[], || peers.insert(0)), Ok(false));
    assert_eq!(budget(&driver, &[read, asked, written], || peers.insert(1)), Ok(true));
    assert_eq!(budget(&driver, &[read], || peers.insert(1)), Ok(false));
    let unsupported = Error::Peer(PeerError::Unsupported { owner: 0, peers: vec![2] });
    assert_eq!(budget(&driver, &[read, asked], || peers.insert(2)), Err(unsupported));
    assert_eq!(ordinals(peers)?, set([1]));
    Ok(())
}

/// S0.11: removing a device that is no member succeeds, without a driver call.
#[test]
fn removing_an_absent_member_is_no_error() -> TestResult {
    let (_machine, driver, pool) = pool_of(links(3, &[(1, 0)])?, 0)?;
    let peers = pool.peers();
    peers.insert(1)?;
    let read = (Function::cuMemPoolGetAccess, 1);
    for ordinal in [0, 3, u32::MAX] {
        assert!(!budget(&driver, &[], || peers.remove(ordinal))?);
    }
    assert!(!budget(&driver, &[read], || peers.remove(2))?);
    assert!(budget(&driver, &[read, (Function::cuMemPoolSetAccess, 1)], || peers.remove(1))?);
    assert!(!budget(&driver, &[read], || peers.remove(1))?);
    Ok(())
}

/// S0.12: the lowest ordinal goes first.
#[test]
fn popping_takes_the_lowest_until_none_is_left() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    peers.extend([3, 1, 2])?;
    let mut popped = Vec::new();
    while let Some(device) = peers.pop_first()? {
        popped.push(device.ordinal());
    }
    assert_eq!(popped, [1, 2, 3]);
    let empty = budget(&driver, &[(Function::cuMemPoolGetAccess, 3)], || peers.pop_first())?;
    assert_eq!(empty, None);
    Ok(())
}
