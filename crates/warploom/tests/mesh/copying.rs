//! Copies of a mesh, and copies it refuses.
#![expect(unsafe_code, reason = "resets devices, and makes buffers of memory that others own")]

use std::sync::Arc;

use warploom::sys::types::CUresult;
use warploom::{
    Buffer, ContextError, ContextOptions, CopyError, CopyPolicy, DeviceCopy, DeviceError, DeviceMemory, DevicePool,
    Driver, Error, Function, ManagedMemory, Mesh, PeerError, PinnedMemory, Slice, SynchronousResource, Topology,
};
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, budget, driver_tests, in_every_mode};

use super::{Site, contexts, fail_nth};

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Particle {
    place: [f32; 3],
    kind: u32,
}

const PARTICLES: [Particle; 3] = [
    Particle { place: [0.0, 1.0, 2.0], kind: 1 },
    Particle { place: [3.0, 4.0, 5.0], kind: 2 },
    Particle { place: [6.0, 7.0, 8.0], kind: 3 },
];

driver_tests! {
    /// S3.13, S3.22: on every driver, values of any type are copied on the same device by an ordinary copy.
    fn a_copy_on_the_same_device_is_an_ordinary_one(driver) {
        let (mesh, context) = {
            let contexts = contexts(driver)?;
            (Mesh::enable(&Topology::probe(&driver.devices()?)?, &contexts)?.0, contexts[0].clone())
        };
        let (pool, stream) = (DevicePool::new(&context)?, context.stream()?);
        let source = pool.upload(&PARTICLES, &stream)?;
        let mut copy = pool.allocate::<Particle>(3, &stream)?;
        budget(driver, &[(Function::cuMemcpyDtoDAsync_v2, 1)], || mesh.copy(&source, &mut copy, &stream).map(drop))?;
        assert_eq!(copy.download(&stream)?, PARTICLES);
        mesh.copy(source.slice(2..)?, copy.slice_mut(..1)?, &stream)?.synchronize()?;
        assert_eq!(copy.download(&stream)?, [PARTICLES[2], PARTICLES[1], PARTICLES[2]]);
    }

    /// S3.22, M.6: on every driver, two contexts of one device need no access to each other, and managed
    /// memory is an end like any other.
    fn managed_memory_is_copied_between_two_contexts_of_a_device(driver) {
        let (context, own) = (driver.device(0)?.context()?, driver.device(0)?.create_context(ContextOptions::new())?);
        let mesh = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?.0;
        let (stream, other) = (context.stream()?, own.stream()?);
        let managed = ManagedMemory::new(&context)?.upload(&PARTICLES, &stream)?;
        let mut arrived = DeviceMemory::new(&own).allocate::<Particle>(3)?;
        mesh.copy(&managed, &mut arrived, &other)?;
        assert_eq!(arrived.download(&other)?, PARTICLES);
        let mut back = DevicePool::new(&context)?.allocate::<Particle>(3, &stream)?;
        mesh.copy(&arrived, &mut back, &stream)?;
        assert_eq!(back.download(&stream)?, PARTICLES);
    }

    /// M.6: on every driver, page-locked memory is an end like any other, too.
    fn page_locked_memory_is_copied_between_two_contexts_of_a_device(driver) {
        let (context, own) = (driver.device(0)?.context()?, driver.device(0)?.create_context(ContextOptions::new())?);
        let mesh = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?.0;
        let (stream, other) = (context.stream()?, own.stream()?);
        let pinned = PinnedMemory::new(&context).upload(&PARTICLES, &stream)?;
        let mut arrived = DeviceMemory::new(&own).allocate::<Particle>(3)?;
        mesh.copy(&pinned, &mut arrived, &other)?;
        assert_eq!(arrived.download(&other)?, PARTICLES);
    }

    /// S3.17, S3.18: on every driver, copies on several streams of a device follow each other as they were
    /// called.
    fn copies_on_several_streams_of_a_device_follow_each_other(driver) {
        let context = driver.device(0)?.context()?;
        let mesh = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?.0;
        let (pool, memory) = (DevicePool::new(&context)?, DeviceMemory::new(&context));
        let streams = [context.stream()?, context.stream()?, context.stream()?];
        let len = 1 << 20;
        let mut here = pool.allocate::<u32>(len, &streams[0])?;
        here.fill(7, &streams[0])?;
        for round in 0..9 {
            let stream = &streams[round % 3];
            let mut next = if round % 2 == 0 { pool.allocate(len, stream)? } else { memory.allocate(len)? };
            mesh.copy(&here, &mut next, stream)?;
            here = next;
        }
        let mut last = pool.allocate::<u32>(len, &streams[1])?;
        mesh.copy(&here, &mut last, &streams[1])?;
        drop(here);
        assert!(last.download(&streams[1])?.iter().all(|value| *value == 7));
    }
}

/// S3.13: between every two devices, in every direction, on a stream of either; as values and as bytes.
#[test]
fn values_arrive_between_all_devices_in_both_directions() -> TestResult {
    in_every_mode(&Wiring::preset("hgx-a100-4")?, 1, |_, driver| {
        let contexts = contexts(driver)?;
        let streams = contexts.iter().map(warploom::Context::stream).collect::<Result<Vec<_>, _>>()?;
        let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>, _>>()?;
        let (mesh, _) =
            Mesh::open(&Topology::probe(&driver.devices()?)?, &contexts, &pools.iter().collect::<Vec<_>>())?;
        for from in 0..4 {
            for to in 0..4 {
                for by in [from, to] {
                    let source = pools[from].upload(&PARTICLES, &streams[from])?;
                    let mut arrived = pools[to].allocate::<Particle>(3, &streams[to])?;
                    mesh.copy(&source, &mut arrived, &streams[by])?;
                    streams[to].wait_for(&streams[by])?;
                    assert_eq!(arrived.download(&streams[to])?, PARTICLES, "{from} to {to} by {by}");
                    let bytes = source.as_slice().cast::<u8>()?;
                    let mut raw = DeviceMemory::new(&contexts[to]).allocate::<u8>(48)?;
                    mesh.copy(bytes, &mut raw, &streams[by])?;
                    streams[to].wait_for(&streams[by])?;
                    assert_eq!(raw.as_slice().cast::<Particle>()?.download(&streams[to])?, PARTICLES);
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// M.6: managed and page-locked memory is everyone's; no access has to be enabled for it.
#[test]
fn managed_and_page_locked_memory_needs_no_access() -> TestResult {
    let site = Site::preset("pcie-t4")?; // no links at all
    let mesh = site.mesh()?;
    let streams = site.streams()?;
    let managed = ManagedMemory::new(&site.contexts[0])?.upload(b"managed", &streams[0])?;
    let pinned = PinnedMemory::new(&site.contexts[0]).upload(b"pinned!", &streams[0])?;
    let pool = DevicePool::new(&site.contexts[1])?;
    for (source, expected) in [(Slice::from(&managed), b"managed"), (Slice::from(&pinned), b"pinned!")] {
        let mut arrived = pool.allocate::<u8>(7, &streams[1])?;
        mesh.copy(source, &mut arrived, &streams[1])?;
        assert_eq!(arrived.download(&streams[1])?, expected);
    }
    // The other way, the device sends: what it needs access to is the pool.
    let mut arrived = pool.allocate::<u8>(7, &streams[1])?;
    let refused = mesh.copy(&managed, &mut arrived, &streams[0]).err();
    assert_eq!(refused, Some(Error::Peer(PeerError::Unsupported { owner: 1, peers: vec![0] })));
    Ok(())
}

/// S3.14: lengths are equal; nothing is copied partly, and nothing at all is no call.
#[test]
fn lengths_differ_or_are_zero_without_a_call() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let source = pools[0].zeroed::<u32>(8, &streams[0])?;
    let mut target = pools[1].zeroed::<u32>(7, &streams[1])?;
    budget(&site.driver, &[], || -> TestResult {
        let refused = mesh.copy(&source, &mut target, &streams[1]).err();
        assert_eq!(refused, Some(Error::Copy(CopyError::LengthMismatch { source_len: 8, destination_len: 7 })));
        mesh.copy(source.slice(3..3)?, target.slice_mut(7..)?, &streams[0])?;
        Ok(())
    })?;
    mesh.copy(source.slice(1..)?, &mut target, &streams[1])?;
    Ok(())
}

/// S3.16: a stream of neither end is refused, by name.
#[test]
fn a_stream_of_a_third_device_is_refused() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let source = pools[0].zeroed::<u8>(8, &streams[0])?;
    let mut target = pools[1].zeroed::<u8>(8, &streams[1])?;
    let own = site.driver.device(0)?.create_context(ContextOptions::new())?.stream()?;
    budget(&site.driver, &[], || {
        let refused = mesh.copy(&source, &mut target, &streams[2]).err();
        assert_eq!(refused, Some(Error::Copy(CopyError::StreamMismatch { stream: 2, from: 0, to: 1 })));
        let refused = mesh.copy_with(CopyPolicy::AllowStaged, &source, &mut target, &own).err();
        assert_eq!(refused, Some(Error::Copy(CopyError::StreamMismatch { stream: 0, from: 0, to: 1 })));
    });
    Ok(())
}

/// S3.24: memory that was vouched for twice does not overlap itself.
#[test]
fn ends_that_overlap_are_refused() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory = Arc::new(DeviceMemory::new(&site.contexts[0]).zeroed::<u8>(64, &streams[0])?);
    streams[0].synchronize()?;
    // SAFETY: the owner keeps the memory, and nobody writes it but through these.
    let view = |at: u64, len| unsafe {
        Buffer::<u8>::from_owner(memory.as_raw() + at, len, &site.contexts[0], Arc::clone(&memory))
    };
    let (start, mut late, mut end) = (view(0, 32)?, view(31, 32)?, view(32, 32)?);
    budget(&site.driver, &[], || {
        let refused = mesh.copy(&start, &mut late, &streams[0]).err();
        let (from, to) = (memory.as_raw(), memory.as_raw() + 31);
        assert_eq!(refused, Some(Error::Copy(CopyError::Overlap { from, to, bytes: 32 })));
    });
    mesh.copy(&start, &mut end, &streams[0])?.synchronize()?;
    Ok(())
}

/// Ends of two drivers cannot meet.
#[test]
fn ends_of_two_drivers_are_refused() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let other = Driver::open(&Machine::preset("pcie-pair")?)?;
    let context = other.device(0)?.context()?;
    let stream = context.stream()?;
    let source = DevicePool::new(&context)?.zeroed::<u8>(8, &stream)?;
    let mut target = pools[1].zeroed::<u8>(8, &streams[1])?;
    assert!(matches!(
        mesh.copy(&source, &mut target, &streams[1]),
        Err(Error::Device(DeviceError::DriverMismatch { .. }))
    ));
    let mut there = DevicePool::new(&context)?.zeroed::<u8>(8, &stream)?;
    assert!(matches!(
        mesh.copy(&source, &mut there, &streams[1]),
        Err(Error::Device(DeviceError::DriverMismatch { .. }))
    ));
    Ok(())
}

/// S3.20: a failed copy does not count as a use: later work does not wait for it.
#[test]
fn a_copy_that_fails_leaves_no_trace() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let source = pools[0].upload(&[1_u8; 16], &streams[0])?;
    let mut target = pools[1].upload(&[2_u8; 16], &streams[1])?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let scope = site.machine.inject(fail_nth(Function::cuMemcpyPeerAsync, 1, code))?;
    let failed = mesh.copy(&source, &mut target, &streams[0]).err();
    assert_eq!(failed.and_then(|error| error.code()), Some(code));
    drop(scope);
    // The destination is as it was, and its own stream has nothing to wait for: the failed copy is not
    // counted as a write.
    let mut kept = pools[1].allocate::<u8>(16, &streams[1])?;
    let counter = site.driver.count_calls();
    mesh.copy(&target, &mut kept, &streams[1])?;
    let calls = counter.by_function();
    drop(counter);
    assert_eq!(calls, [(Function::cuMemcpyDtoDAsync_v2, 1)]);
    assert_eq!(kept.download(&streams[1])?, [2; 16]);
    Ok(())
}

/// S3.27, S3.28, S3.29, M.8: after a reset, what belonged to the device is refused and goes without a call,
/// new memory is refused until the mesh is refreshed, and pairs without the device go on all the while.
#[test]
fn a_reset_stops_the_copies_of_its_device_and_no_others() -> TestResult {
    let site = Site::in_mode(Wiring::preset("hgx-a100-4")?, Mode::Threads)?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory: Vec<DeviceMemory> = site.contexts.iter().map(DeviceMemory::new).collect();
    let upload = |at: usize| memory[at].upload(&[at as u8; 16], &streams[at]);
    let (first, mut second, mut third) = (upload(0)?, upload(1)?, upload(2)?);
    // Device 2 works on memory of device 1 before it goes.
    mesh.copy(&third, &mut second, &streams[2])?.synchronize()?;
    // SAFETY: what was made on the device is dropped, or used where it is to be refused, and nothing runs
    // there.
    unsafe { site.driver.device(2)?.reset_context() }?;

    let stale = Error::Context(ContextError::Stale { device: 2, expected: 0, found: 1 });
    budget(&site.driver, &[], || -> TestResult {
        assert_eq!(mesh.copy(&third, &mut second, &streams[1]).err(), Some(stale.clone()));
        assert_eq!(mesh.copy(&first, &mut third, &streams[0]).err(), Some(stale.clone()));
        assert_eq!(mesh.copy_with(CopyPolicy::AllowStaged, &first, &mut second, &streams[2]).err(), Some(stale));
        drop(third);
        Ok(())
    })?;
    mesh.copy(&first, &mut second, &streams[1])?.synchronize()?;
    assert_eq!(second.download(&streams[1])?, [0; 16]);

    let renewed = site.driver.device(2)?.context()?;
    let stream = renewed.stream()?;
    let mut fresh = DeviceMemory::new(&renewed).upload(&[9_u8; 16], &stream)?;
    let layer = warploom::AccessLayer::Contexts;
    let refused = mesh.copy(&fresh, &mut second, &streams[1]).err();
    assert_eq!(refused, Some(Error::Peer(PeerError::NotEnabled { from: 1, to: 2, layer })));
    let refused = mesh.copy(&first, &mut fresh, &stream).err();
    assert_eq!(refused, Some(Error::Peer(PeerError::NotEnabled { from: 2, to: 0, layer })));
    mesh.refresh()?;
    mesh.copy(&fresh, &mut second, &streams[1])?.synchronize()?;
    assert_eq!(second.download(&streams[1])?, [9; 16]);
    Ok(())
}

/// C.4, S3.31: no usage error says that the context is lost.
#[test]
fn usage_errors_are_not_fatal() {
    let layer = warploom::AccessLayer::Pool;
    let errors = [
        Error::Peer(PeerError::NotEnabled { from: 0, to: 1, layer }),
        Error::Peer(PeerError::Unsupported { owner: 1, peers: vec![0] }),
        Error::Peer(PeerError::TooMany { from: 0, to: 1 }),
        Error::Device(DeviceError::NotInTopology { device: 9 }),
        Error::Peer(PeerError::ContextUnavailable { device: 0 }),
        Error::Copy(CopyError::StreamMismatch { stream: 2, from: 0, to: 1 }),
        Error::Copy(CopyError::Overlap { from: 0, to: 1, bytes: 2 }),
    ];
    for error in errors {
        assert!(!error.is_context_fatal() && !error.is_out_of_memory(), "{error}");
    }
    assert_eq!(
        Error::Peer(PeerError::NotEnabled { from: 0, to: 1, layer }).to_string(),
        "device 0 has no access to memory of device 1; open its pool with Mesh::grant_pools or DevicePool::peers; virtual \
         memory is opened when it is made"
    );
}
