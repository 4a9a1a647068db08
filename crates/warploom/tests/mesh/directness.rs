//! Access that a direct copy needs (S3.12, S3.23).

use warploom::{
    AccessLayer, AccessLevel, ContextOptions, CopyPolicy, Counted, DeviceMemory, DevicePool, Error, Function, LiveSet,
    OrderedResource, PeerError, VirtualMemory, VirtualOptions,
};
use warploom_testkit::{AccessSpy, TestResult, budget};

use super::{Site, links, warm};

const CONTEXTS: AccessLayer = AccessLayer::Contexts;
const POOL: AccessLayer = AccessLayer::Pool;

/// S3.23: the direction that is tested is the one that is used: who has the stream needs access to the other
/// end.
#[test]
fn the_device_of_the_stream_needs_access_to_the_other_end() -> TestResult {
    // Device 0 can access memory of device 1, and not the other way.
    let site = Site::of(links(2, &[(0, 1)])?)?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory: Vec<DeviceMemory> = site.contexts.iter().map(DeviceMemory::new).collect();
    let (mut here, mut there) = (memory[0].upload(b"here", &streams[0])?, memory[1].upload(b"away", &streams[1])?);
    let unsupported = Error::Peer(PeerError::Unsupported { owner: 0, peers: vec![1] });
    // To device 1: sent by device 0, which has access; not fetched by device 1, which has none.
    assert_eq!(mesh.copy(&here, &mut there, &streams[1]).err(), Some(unsupported.clone()));
    mesh.copy(&here, &mut there, &streams[0])?.synchronize()?;
    // From device 1: fetched by device 0; not sent by device 1.
    assert_eq!(mesh.copy(&there, &mut here, &streams[1]).err(), Some(unsupported));
    mesh.copy(&there, &mut here, &streams[0])?.synchronize()?;
    // The driver finds another way, if it may.
    mesh.copy_with(CopyPolicy::AllowStaged, &there, &mut here, &streams[1])?.synchronize()?;
    assert_eq!(here.download(&streams[0])?, b"here");
    Ok(())
}

/// S3.23: without access that is possible, the copy says what is missing, and no driver call is made.
#[test]
fn access_that_is_not_enabled_is_named() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    mesh.disable()?;
    let memory: Vec<DeviceMemory> = site.contexts.iter().map(DeviceMemory::new).collect();
    let source = memory[0].upload(b"here", &streams[0])?;
    let mut target = memory[1].upload(b"away", &streams[1])?;
    budget(&site.driver, &[], || {
        let refused = mesh.copy(&source, &mut target, &streams[1]).err();
        assert_eq!(refused, Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 0, layer: CONTEXTS })));
        let refused = mesh.copy(&source, &mut target, &streams[0]).err();
        assert_eq!(refused, Some(Error::Peer(PeerError::NotEnabled { from: 0, to: 1, layer: CONTEXTS })));
    });
    mesh.copy_with(CopyPolicy::AllowStaged, &source, &mut target, &streams[1])?;
    assert_eq!(target.download(&streams[1])?, b"here");
    Ok(())
}

/// S3.12, M.2: memory of a pool follows the pool's peers, not the access of contexts.
#[test]
fn memory_of_a_pool_follows_the_peers_of_the_pool() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let pool = DevicePool::new(&site.contexts[0])?;
    let source = pool.upload(b"pool", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let missing = Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 0, layer: POOL }));
    assert_eq!(mesh.copy(&source, &mut target, &streams[1]).err(), missing);
    // Sent by its own device, what counts is the destination, which is not from a pool.
    mesh.copy(&source, &mut target, &streams[0])?.synchronize()?;
    pool.peers().insert(1)?;
    mesh.copy(&source, &mut target, &streams[1])?;
    mesh.disable()?;
    mesh.copy(&source, &mut target, &streams[1])?;
    pool.peers().remove(1)?;
    assert_eq!(mesh.copy(&source, &mut target, &streams[1]).err(), missing);
    pool.peers().insert(1)?;
    mesh.copy(&source, &mut target, &streams[1])?.synchronize()?;
    assert_eq!(target.download(&streams[1])?, b"pool");
    Ok(())
}

/// S3.12: whichever value of the pool was used to take access away, a copy notices.
#[test]
fn a_grant_taken_away_through_another_value_of_the_pool_is_noticed() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let (one, other) = (DevicePool::default_of(&site.contexts[0])?, DevicePool::default_of(&site.contexts[0])?);
    let source = one.upload(b"pool", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    mesh.grant_pools(&[&other])?;
    mesh.copy(&source, &mut target, &streams[1])?;
    other.peers().clear()?;
    let missing = Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 0, layer: POOL }));
    assert_eq!(mesh.copy(&source, &mut target, &streams[1]).err(), missing);
    Ok(())
}

/// S3.19: that a pool is open is asked once, and again when some pool's access has changed.
#[test]
fn the_peers_of_a_pool_are_asked_for_once() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    warm(&streams)?;
    let source = pools[0].upload(b"pool", &streams[0])?;
    let mut target = pools[1].upload(b"away", &streams[1])?;
    let copied = |calls: &[(Function, u64)], target: &mut _| {
        budget(&site.driver, calls, || mesh.copy(&source, target, &streams[1]).map(drop))
    };
    let (copy, ask) = ((Function::cuMemcpyPeerAsync, 1), (Function::cuMemPoolGetAccess, 1));
    copied(&[copy, ask, (Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)], &mut target)?;
    copied(&[copy], &mut target)?;
    pools[0].peers().remove(3)?;
    copied(&[copy, ask], &mut target)?;
    copied(&[copy], &mut target)?;
    Ok(())
}

/// S0.4: a pool that may only be read is not open.
#[test]
fn a_pool_that_may_only_be_read_is_not_open() -> TestResult {
    let machine = Site::preset("pcie-pair")?.machine.clone();
    let (driver, spy) = AccessSpy::open(&machine)?;
    let contexts = super::contexts(&driver)?;
    let topology = warploom::Topology::probe(&driver.devices()?)?;
    let (mesh, _) = warploom::Mesh::enable(&topology, &contexts)?;
    let streams = [contexts[0].stream()?, contexts[1].stream()?];
    let pool = DevicePool::new(&contexts[0])?;
    let source = pool.upload(b"pool", &streams[0])?;
    let mut target = DeviceMemory::new(&contexts[1]).upload(b"away", &streams[1])?;
    spy.pretend(1, warploom::sys::types::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ);
    let refused = mesh.copy(&source, &mut target, &streams[1]).err();
    assert_eq!(refused, Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 0, layer: POOL })));
    Ok(())
}

/// S3.12: virtual memory follows the devices it was opened to, and adaptors what they stand on.
#[test]
fn virtual_memory_and_adaptors_follow_the_resource_below() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let missing = Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 0, layer: POOL }));
    let closed = VirtualMemory::new(&site.contexts[0])?.upload(b"here", &streams[0])?;
    assert_eq!(mesh.copy(&closed, &mut target, &streams[1]).err(), missing);
    let open = VirtualOptions::new().peer(&site.driver.device(1)?, AccessLevel::ReadWrite);
    let open = VirtualMemory::with(&site.contexts[0], open)?.upload(b"open", &streams[0])?;
    mesh.copy(&open, &mut target, &streams[1])?.synchronize()?;
    assert_eq!(target.download(&streams[1])?, b"open");
    let pool = DevicePool::new(&site.contexts[0])?;
    let counted = Counted::ordered(&pool).upload(b"pool", &streams[0])?;
    assert_eq!(mesh.copy(&counted, &mut target, &streams[1]).err(), missing);
    pool.peers().insert(1)?;
    mesh.copy(&counted, &mut target, &streams[1])?.synchronize()?;
    Ok(())
}

/// A context that does not take part is told from one without access.
#[test]
fn contexts_that_do_not_take_part_are_named() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let (mesh, _) = warploom::Mesh::enable(&site.topology, &site.contexts[..2])?;
    let streams = site.streams()?;
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut third = DeviceMemory::new(&site.contexts[2]).upload(b"away", &streams[2])?;
    let refused = mesh.copy(&source, &mut third, &streams[0]).err();
    assert_eq!(refused, Some(Error::Peer(PeerError::ContextUnavailable { device: 2 })));
    // Another context of a device that does take part is not the one that does.
    let own = site.driver.device(1)?.create_context(ContextOptions::new())?;
    let stream = own.stream()?;
    let mut other = DeviceMemory::new(&own).upload(b"away", &stream)?;
    assert_eq!(
        mesh.copy(&source, &mut other, &stream).err(),
        Some(Error::Peer(PeerError::ContextUnavailable { device: 1 }))
    );
    // Two contexts of one device need no access.
    let mut beside = DeviceMemory::new(&site.contexts[1]).upload(b"same", &streams[1])?;
    mesh.copy(&other, &mut beside, &streams[1])?;
    mesh.copy_with(CopyPolicy::AllowStaged, &source, &mut other, &stream)?.synchronize()?;
    assert_eq!(beside.download(&streams[1])?, b"away");
    Ok(())
}
