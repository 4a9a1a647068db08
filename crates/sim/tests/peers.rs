//! Peers: who reaches whose memory, and between which contexts access is on.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, PeerLink, Topology};
use warploom_sys::types::{CUatomicOperation, CUcontext, CUdevice_P2PAttribute as Attribute};
use warploom_testkit::{TestResult, answers, call, open};

/// A context on each device; none is current.
fn contexts(driver: &Driver, count: i32) -> TestResult<Vec<CUcontext>> {
    let mut contexts = Vec::new();
    for device in 0..count {
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, device))?;
        call!(driver.cuCtxPopCurrent_v2(null_mut()))?;
        contexts.push(context);
    }
    Ok(contexts)
}

fn attribute(driver: &Driver, attribute: Attribute, from: i32, to: i32) -> TestResult<i32> {
    let mut value = 77;
    call!(driver.cuDeviceGetP2PAttribute(&mut value, attribute, from, to))?;
    Ok(value)
}

#[test]
fn reach_has_a_direction() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Sync)?;
    for from in 0..3 {
        for to in 0..3 {
            let reaches = [(0, 1), (1, 0), (2, 0)].contains(&(from, to));
            let mut can = 77;
            call!(driver.cuDeviceCanAccessPeer(&mut can, from, to))?;
            assert_eq!(can != 0, reaches, "{from} to {to}");
            if from != to {
                let supported = Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
                assert_eq!(attribute(&driver, supported, from, to)? != 0, reaches);
            }
        }
    }
    Ok(())
}

#[test]
fn a_link_is_described_in_its_direction() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Sync)?;
    let rank = Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
    let native = Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    let partial = Attribute(5);
    let both = |attribute_| -> TestResult<_> {
        Ok((attribute(&driver, attribute_, 0, 1)?, attribute(&driver, attribute_, 1, 0)?))
    };
    assert_eq!(both(rank)?, (0, 1));
    assert_eq!(both(native)?, (1, 0));
    assert_eq!(both(partial)?, (0, 1));
    let mut value = 77;
    for unknown in [0, 6, u32::MAX] {
        answers!(driver.cuDeviceGetP2PAttribute(&mut value, Attribute(unknown), 0, 1), CUDA_ERROR_INVALID_VALUE);
    }
    answers!(driver.cuDeviceGetP2PAttribute(&mut value, Attribute(0), 0, 3), CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(value, 77);
    Ok(())
}

#[test]
fn atomics_across_a_link_are_all_some_or_none() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Sync)?;
    let operations: Vec<CUatomicOperation> = (0..13).map(CUatomicOperation).collect();
    for (from, to, expected) in [(0, 1, 13), (1, 0, 3), (2, 0, 0), (0, 2, 0)] {
        let mut found = [77; 13];
        call!(driver.cuDeviceGetP2PAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 13, from, to))?;
        assert_eq!(found.iter().filter(|forms| **forms != 0).count(), expected, "{from} to {to}");
    }
    let mut found = 77;
    let one = operations.as_ptr();
    answers!(driver.cuDeviceGetP2PAtomicCapabilities(&mut found, one, 1, 1, 1), CUDA_ERROR_INVALID_DEVICE);
    answers!(driver.cuDeviceGetP2PAtomicCapabilities(&mut found, one, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetP2PAtomicCapabilities(null_mut(), one, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(found, 77);
    Ok(())
}

#[test]
fn access_is_enabled_once_in_one_direction() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Sync)?;
    let made = contexts(&driver, 2)?;
    answers!(driver.cuCtxEnablePeerAccess(made[1], 0), CUDA_ERROR_INVALID_CONTEXT);
    call!(driver.cuCtxSetCurrent(made[0]))?;
    answers!(driver.cuCtxDisablePeerAccess(made[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    answers!(driver.cuCtxEnablePeerAccess(made[1], 1), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuCtxEnablePeerAccess(made[1], 0), CUDA_SUCCESS);
    answers!(driver.cuCtxEnablePeerAccess(made[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    call!(driver.cuCtxSetCurrent(made[1]))?;
    answers!(driver.cuCtxDisablePeerAccess(made[0]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    call!(driver.cuCtxSetCurrent(made[0]))?;
    answers!(driver.cuCtxDisablePeerAccess(made[1]), CUDA_SUCCESS);
    answers!(driver.cuCtxDisablePeerAccess(made[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    Ok(())
}

#[test]
fn a_device_out_of_reach_is_no_peer() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Sync)?;
    let made = contexts(&driver, 3)?;
    call!(driver.cuCtxSetCurrent(made[0]))?;
    answers!(driver.cuCtxEnablePeerAccess(made[2], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    call!(driver.cuCtxSetCurrent(made[2]))?;
    answers!(driver.cuCtxEnablePeerAccess(made[0], 0), CUDA_SUCCESS);
    Ok(())
}

#[test]
fn access_ends_with_the_peer() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Sync)?;
    let made = contexts(&driver, 1)?;
    let mut peer = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut peer, 1))?;
    call!(driver.cuCtxSetCurrent(made[0]))?;
    call!(driver.cuCtxEnablePeerAccess(peer, 0))?;
    call!(driver.cuDevicePrimaryCtxRelease_v2(1))?;
    answers!(driver.cuCtxDisablePeerAccess(peer), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // The same handle, and another context.
    call!(driver.cuDevicePrimaryCtxRetain(&mut peer, 1))?;
    answers!(driver.cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    answers!(driver.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    Ok(())
}

#[test]
fn a_context_has_so_many_peers_and_no_more() -> TestResult {
    let builder = Topology::builder().devices(4, DeviceModel::A100).all_peers(PeerLink::nvlink());
    let (_machine, driver) = open(builder.max_peers(2).build()?, Mode::Sync)?;
    let made = contexts(&driver, 4)?;
    call!(driver.cuCtxSetCurrent(made[0]))?;
    call!(driver.cuCtxEnablePeerAccess(made[1], 0))?;
    call!(driver.cuCtxEnablePeerAccess(made[2], 0))?;
    answers!(driver.cuCtxEnablePeerAccess(made[3], 0), CUDA_ERROR_TOO_MANY_PEERS);
    call!(driver.cuCtxDisablePeerAccess(made[1]))?;
    answers!(driver.cuCtxEnablePeerAccess(made[3], 0), CUDA_SUCCESS);
    Ok(())
}
