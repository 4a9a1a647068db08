//! Peer capability: the peer must reach the owner's memory, in that direction (S0.22, M.1).

use warploom::{DevicePool, Error, Function, LiveSet, PeerError};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, budget, open};

use super::{links, ordinals, pool_of, set};

/// C.1, S0.22: possible from device 1 to device 0 only.
#[test]
fn a_link_in_one_direction_lets_one_pool_grant_and_not_the_other() -> TestResult {
    let (_machine, driver, pool) = pool_of(links(2, &[(1, 0)])?, 0)?;
    assert!(pool.peers().insert(1)?);
    let other = DevicePool::new(&driver.device(1)?.context()?)?;
    assert_eq!(other.peers().insert(0), Err(Error::Peer(PeerError::Unsupported { owner: 1, peers: vec![0] })));
    assert!(other.peers().is_empty()?);
    Ok(())
}

/// S0.22, M.1: on every pair of an asymmetric machine, the set grants exactly what `Device::can_access` says
/// of the peer.
#[test]
fn grants_are_possible_exactly_where_the_peer_reaches_the_owner() -> TestResult {
    let machine = Machine::preset("asymmetric")?;
    asymmetric(machine.topology().clone())?;
    asymmetric(links(4, &[(1, 0), (0, 2), (2, 3), (3, 2), (3, 1)])?)
}

fn asymmetric(topology: Topology) -> TestResult {
    let (_machine, driver) = open(topology.clone(), Mode::Threads)?;
    let devices = driver.devices()?;
    let mut one_way = 0;
    for owner in &devices {
        let pool = DevicePool::new(&owner.context()?)?;
        let mut possible = Vec::new();
        for peer in devices.iter().filter(|peer| *peer != owner) {
            let (from, to) = (usize::try_from(peer.ordinal())?, usize::try_from(owner.ordinal())?);
            let reaches = topology.peers.can_access(from, to);
            one_way += usize::from(reaches != topology.peers.can_access(to, from));
            assert_eq!(peer.can_access(owner)?, reaches);
            assert_eq!(pool.peers().insert(peer).is_ok(), reaches, "{peer} and the memory of {owner}");
            if reaches {
                possible.push(peer.ordinal());
            }
        }
        assert_eq!(ordinals(pool.peers())?, set(possible.iter().copied()));
        pool.peers().clear()?;
        let everyone = pool.peers().extend(&devices);
        if possible.len() + 1 < devices.len() {
            let others = devices.iter().filter(|device| *device != owner).map(|device| device.ordinal());
            let peers = others.filter(|ordinal| !possible.contains(ordinal)).collect();
            assert_eq!(everyone, Err(Error::Peer(PeerError::Unsupported { owner: owner.ordinal(), peers })));
        } else {
            everyone?;
        }
    }
    assert!(one_way > 0);
    Ok(())
}

/// S0.21: who has access already is not asked about again, so an addition does not fail for the sake of an
/// old grant.
#[test]
fn only_new_members_are_asked_about() -> TestResult {
    let (machine, driver, pool) = pool_of(links(3, &[(1, 0), (2, 0)])?, 0)?;
    let peers = pool.peers();
    peers.insert(1)?;
    // From now on the driver cannot be asked about device 1.
    let asked = warploom_sim::fault::Rule::on(warploom_sim::fault::Calls::from(Function::cuDeviceCanAccessPeer));
    let plan = warploom_sim::fault::Plan::new()
        .rule(asked.on_device(1).fail(warploom::sys::types::CUresult::CUDA_ERROR_INVALID_DEVICE));
    let scope = machine.inject(plan)?;
    let allowed =
        [(Function::cuMemPoolGetAccess, 2), (Function::cuDeviceCanAccessPeer, 1), (Function::cuMemPoolSetAccess, 1)];
    budget(&driver, &allowed, || peers.extend([1, 2]))?;
    assert_eq!(ordinals(peers)?, set([1, 2]));
    budget(&driver, &[(Function::cuMemPoolGetAccess, 2)], || peers.assign([1, 2]))?;
    assert!(scope.fired().is_empty());
    Ok(())
}
