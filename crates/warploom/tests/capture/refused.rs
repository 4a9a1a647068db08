//! Operations that are refused on a captured stream.

use std::task::{Context as Task, Waker};

use warploom::capture::{Relaxed, ThreadLocal};
use warploom::{
    AccessLayer, CaptureError, ContextOptions, CopyError, CopyOptions, CopyPolicy, DeviceMemory, DevicePool, Error,
    LiveSet as _, ManagedMemory, Mesh, PeerError, PinnedMemory, Result, StreamOptions, Topology, VolumeShape,
    copy_batch, prefetch_batch,
};
use warploom_sim::topology::Topology as Machines;
use warploom_sim::{Mode, Order};
use warploom_testkit::{TestResult, assert_sound, budget, call, driver_tests, open};

use crate::support::Stage;

/// `true` if the operation was refused because a graph cannot contain it.
fn is_refused<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Capture(CaptureError::NotCapturable { .. })))
}

driver_tests! {
    /// Nothing of this reaches the driver, which would spoil the capture or have the graph refer to memory
    /// that goes.
    fn operations_without_a_node_are_refused_before_the_driver_is_called(driver) {
        let stage = Stage::new(driver)?;
        let (mut one, mut two) = (stage.pool.zeroed::<u8>(64, &stage.stream)?, stage.pool.zeroed(64, &stage.stream)?);
        let mut three = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let pinned = PinnedMemory::new(&stage.context);
        let (sent, received) = (pinned.buffer::<u8>(64)?, pinned.buffer::<u8>(64)?);
        let managed = ManagedMemory::new(&stage.context)?.allocate::<u8>(1 << 16)?;
        let capture = stage.stream.capture(ThreadLocal)?;
        let stream = capture.stream();
        budget(driver, &[], || {
            assert!(is_refused(stream.synchronize()));
            assert!(is_refused(stream.is_idle()));
            assert!(is_refused(stream.id()));
            assert!(is_refused(stream.host(|| ())));
            assert!(is_refused(one.copy_from_host(&[0; 64], stream)));
            assert!(is_refused(one.download(stream)));
            assert!(is_refused(one.copy_to_host(&mut [0; 64], stream)));
            assert!(is_refused(copy_batch([(&one, &mut two)], stream)));
            assert_eq!(stage.context.synchronize(), Err(CaptureError::Context { device: 0 }.into()));
        });
        assert_eq!(one.as_slice().copy_to_with(&mut three, CopyOptions::new(), stream), Err(Error::Copy(CopyError::Capturing)));
        assert!(is_refused(one.as_slice_mut().copy_from_pinned(sent, stream)));
        assert!(is_refused(one.as_slice().copy_to_pinned(received, stream)));
        assert!(is_refused(managed.prefetch(driver.device(0)?, stream)));
        assert!(is_refused(prefetch_batch([&managed], driver.device(0)?, stream)));
        assert!(capture.is_valid()?);
        assert_eq!(capture.end()?.node_count()?, 0);
    }

    /// A future of a captured stream would have another stream of the library's wait for it, and take part.
    fn a_captured_stream_cannot_be_awaited(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(Relaxed)?;
        let mut completion = std::pin::pin!(stage.stream.completion());
        let polled = completion.as_mut().poll(&mut Task::from_waker(Waker::noop()));
        assert_eq!(polled, std::task::Poll::Ready(Err(CaptureError::CapturedEvent.into())));
        assert!(capture.is_valid()?);
        capture.end()?;
    }

    /// The legacy default stream waits for blocking streams, and would spoil the capture of one.
    fn the_legacy_default_stream_is_refused_beside_a_captured_blocking_one(driver) {
        let stage = Stage::new(driver)?;
        let blocking = stage.context.stream_with(StreamOptions::new().blocking())?;
        let (legacy, mut buffer) = (stage.context.legacy_stream(), stage.pool.zeroed::<u8>(64, &stage.other)?);
        let capture = blocking.capture(Relaxed)?;
        assert_eq!(buffer.fill(1, &legacy), Err(CaptureError::Legacy.into()));
        assert_eq!(legacy.synchronize(), Err(CaptureError::Legacy.into()));
        assert!(capture.is_valid()?);
        capture.end()?;
        buffer.fill(1, &legacy)?;
        legacy.synchronize()?;
        drop(stage.stream.capture(Relaxed)?);
    }

    /// S3.25: conflicting work of the same capture is waited for within it.
    fn a_copy_that_orders_itself_waits_for_streams_of_its_capture(driver) {
        let stage = Stage::new(driver)?;
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&stage.context))?;
        let memory = DeviceMemory::new(&stage.context);
        let (first, mut second, mut third) =
            (memory.allocate::<u8>(64)?, memory.allocate::<u8>(64)?, memory.allocate::<u8>(64)?);
        let capture = stage.stream.capture(Relaxed)?;
        stage.other.wait_for(capture.stream())?;
        mesh.copy(&first, &mut second, &capture)?;
        mesh.copy(&second, &mut third, &stage.other)?;
        stage.stream.wait_for(&stage.other)?;
        let (graph, mut edges) = (capture.end()?, 0);
        let (raw, none) = (graph.as_raw()?, std::ptr::null_mut());
        call!(driver.cuGraphGetEdges(raw, none, none, &mut edges))?;
        assert_eq!((graph.node_count()?, edges), (2, 1), "the second copy comes after the first");
    }

    /// S3.25: copies between contexts are captured, of all kinds of memory, and of rows and volumes.
    fn copies_between_contexts_are_captured(driver) {
        let stage = Stage::new(driver)?;
        let other = driver.device(0)?.create_context(ContextOptions::new())?;
        let there = other.stream()?;
        let source = DeviceMemory::new(&stage.context).upload(&[7_u8; 64], &stage.stream)?;
        let mut device = DeviceMemory::new(&other).zeroed::<u8>(64, &there)?;
        let mut pooled = DevicePool::new(&other)?.zeroed::<u8>(64, &there)?;
        let mut managed = ManagedMemory::new(&other)?.allocate::<u8>(64)?;
        let mut block = DeviceMemory::new(&other).zeroed::<u8>(64, &there)?;
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&stage.context))?;
        other.synchronize()?;
        let capture = stage.stream.capture(Relaxed)?;
        source.copy_to(&mut device, &capture)?;
        source.copy_to(&mut pooled, &capture)?;
        mesh.copy_with(CopyPolicy::AllowStaged, &source, &mut managed, &capture)?;
        let shape = VolumeShape::packed(4, 4, 2);
        source.rows(8, 8, 4)?.copy_to(block.slice_mut(..32)?.rows_mut(8, 8, 4)?, &capture)?;
        source.volume(shape)?.copy_to(block.slice_mut(32..)?.volume_mut(shape)?, &capture)?;
        drop(source);
        let graph = capture.end()?;
        assert_eq!((graph.node_count()?, graph.is_accounted()?), (5, true));
        graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        for arrived in [&device, &pooled, &*managed, &block] {
            assert_eq!(arrived.download(&there)?, [7; 64]);
        }
    }

    /// S3.25: a copy that orders itself is captured if nothing outside conflicts with it, and refused
    /// otherwise.
    fn a_copy_that_orders_itself_is_captured_if_nothing_outside_conflicts(driver) {
        let stage = Stage::new(driver)?;
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&stage.context))?;
        let (source, mut target) =
            (stage.pool.upload(&[1_u8; 64], &stage.stream)?, stage.pool.zeroed::<u8>(64, &stage.stream)?);
        let mut busy = stage.pool.zeroed::<u8>(64, &stage.other)?;
        busy.fill(1, &stage.other)?;
        let capture = stage.stream.capture(Relaxed)?;
        mesh.copy(&source, &mut target, &capture)?;
        let refused = budget(driver, &[], || mesh.copy(&source, &mut busy, &capture).map(drop));
        assert_eq!(refused, Err(CaptureError::Conflict { device: 0 }.into()));
        assert_eq!(busy.as_slice().hold_back(&capture), Err(CaptureError::Conflict { device: 0 }.into()));
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 1);
        assert!(graph.is_accounted()?);
        // The wait that the error asks for.
        busy.as_slice_mut().hold_back(&stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        mesh.copy(&source, &mut busy, &capture)?;
        drop((source, target));
        assert_eq!(capture.end()?.node_count()?, 1);
        mesh.copy(&busy.duplicate(&stage.other)?, &mut busy, &stage.other)?;
    }
}

/// S3.25: without access, a copy between devices is refused, whatever the policy, and the capture goes on: the
/// driver's calls that find another way cannot be captured. With access, it becomes a node, which keeps both ends.
#[test]
fn copies_between_devices_are_captured_where_there_is_access() -> TestResult {
    let (machine, driver) = open(Machines::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let there = far.stream()?;
    let far_pool = DevicePool::new(&far)?;
    let (mut target, mut plain) = (far_pool.zeroed::<u8>(64, &there)?, DeviceMemory::new(&far).allocate::<u8>(64)?);
    let source = stage.pool.upload(&[7_u8; 64], &stage.stream)?;
    let contexts = [stage.context.clone(), far.clone()];
    let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, &contexts)?;
    contexts.iter().try_for_each(|context| context.synchronize())?;
    let capture = stage.stream.capture(Relaxed)?;
    let missing = Error::Peer(PeerError::NotEnabled { from: 0, to: 1, layer: AccessLayer::Pool });
    for policy in [CopyPolicy::RequireDirect, CopyPolicy::AllowStaged] {
        let refused = mesh.copy_with(policy, &source, &mut target, &capture).map(drop);
        assert_eq!(refused, Err(missing.clone()), "{policy:?}");
    }
    assert_eq!(source.copy_to(&mut target, &capture), Err(missing.clone()));
    let refused = source.rows(8, 8, 8)?.copy_to(target.rows_mut(8, 8, 8)?, &capture);
    assert_eq!(refused, Err(missing));
    far_pool.peers().insert(0)?;
    source.copy_to(&mut target, &capture)?;
    mesh.copy(&source, &mut plain, &capture)?;
    assert!(capture.is_valid()?);
    drop(source);
    let graph = capture.end()?;
    assert_eq!((graph.node_count()?, graph.is_accounted()?), (2, true));
    graph.instantiate()?.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    assert_eq!((target.download(&there)?, plain.download(&there)?), (vec![7; 64], vec![7; 64]));
    assert_sound(&machine);
    Ok(())
}
