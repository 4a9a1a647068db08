//! Shared pools: registry, allocation and access.

use warploom::capture::Relaxed;
use warploom::ipc::{ImportedPool, IpcError, SharedMemory};
use warploom::sys::types::CUresult;
use warploom::{
    AccessLayer, ContextOptions, DeviceMemory, DevicePool, Error, Function, LiveSet as _, MemoryKind, NumaId,
    OrderedResource as _, PeerError, PinnedPool, PoolOptions,
};
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::{TestResult, below, call, code_of, driver_tests};

use crate::support::{
    import, numbers, open, receive_descriptor, receive_handle, receive_pool, send, send_pool, shareable, start,
};

/// Imports the parent's pool twice, finds it, and drops it.
pub(crate) fn register(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (driver, context, _) = open(driver)?;
    let handle = receive_handle(parent)?;
    let uuid = handle.uuid();
    assert_eq!(ImportedPool::find(&driver, uuid), None);
    let calls = driver.count_calls();
    let first = DevicePool::import(&context, handle.try_clone()?)?;
    let second = DevicePool::import(&context, first.export()?)?;
    assert_eq!(calls.count(Function::cuMemPoolImportFromShareableHandle), 1);
    assert_eq!((&first, first.as_raw()), (&second, second.as_raw()));
    let other = driver.device(0)?.create_context(ContextOptions::new())?;
    let elsewhere = DevicePool::import(&other, handle.try_clone()?).expect_err("it is refused");
    assert_eq!(elsewhere, Error::Ipc(IpcError::OtherContext { pool: uuid }));
    drop(first);
    assert_eq!(ImportedPool::find(&driver, uuid), Some(second.clone()));
    drop(second);
    assert_eq!(calls.count(Function::cuMemPoolDestroy), 1);
    assert_eq!(ImportedPool::find(&driver, uuid), None, "it is held weakly");
    let again = DevicePool::import(&context, handle)?;
    assert_eq!(calls.count(Function::cuMemPoolImportFromShareableHandle), 2);
    drop(calls);
    // The driver has one pool for all imports, which a capture keeps.
    let stream = context.stream()?;
    let capture = stream.capture(Relaxed)?;
    let kept = again.export()?;
    drop(again);
    let ending = DevicePool::import(&context, kept.try_clone()?).expect_err("it is not destroyed yet");
    assert_eq!(ending, Error::Ipc(IpcError::Ending { pool: uuid }));
    capture.end()?;
    drop(DevicePool::import(&context, kept)?);
    parent.signal()
}

/// Imports and drops the parent's pool and buffer on several threads at once.
pub(crate) fn import_on_threads(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, _) = open(driver)?;
    let (handle, descriptor) = (receive_handle(parent)?, receive_descriptor(parent)?);
    let work = || -> warploom::Result<()> {
        let stream = context.stream()?;
        for _ in 0..20 {
            let pool = DevicePool::import(&context, handle.try_clone()?)?;
            let buffer = import(&pool, &descriptor, &stream)?;
            drop(pool);
            assert_eq!(buffer.slice(998..)?.download(&stream)?, [998, 999]);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    parent.signal()
}

/// Tries every way to allocate from an imported pool.
pub(crate) fn refuse_to_allocate(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let pool = receive_pool(parent, &context)?;
    let buffer = import(&pool, &receive_descriptor(parent)?, &stream)?;
    let expected = Error::Ipc(IpcError::CannotAllocate { pool: pool.uuid() });
    let calls = driver.count_calls();
    assert_eq!(buffer.duplicate(&stream).expect_err("it is refused"), expected);
    let resource = buffer.ordered_resource().ok_or("memory of a pool has a stream-ordered resource")?;
    assert_eq!(resource.allocate::<u32>(4, &stream).expect_err("it is refused"), expected);
    assert_eq!(calls.total(), 0);
    drop(calls);
    drop(buffer);
    stream.synchronize()?;
    parent.signal()
}

/// S0.19: grants in the importing process.
pub(crate) fn grant(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (driver, context, stream) = open(driver)?;
    let pool = receive_pool(parent, &context)?;
    let buffer = import(&pool, &receive_descriptor(parent)?, &stream)?;
    assert!(pool.peers().is_empty()?, "the exporter has granted device 1, which is not carried over");
    let far = driver.device(1)?.context()?;
    let far_stream = far.stream()?;
    let mut copy = DevicePool::new(&far)?.zeroed::<u32>(buffer.len(), &far_stream)?;
    // A copy that device 1 makes, by addresses alone: without access, the driver finds no other way.
    let (to, from) = (copy.as_raw(), buffer.as_raw());
    let fetch = || {
        let answer = code_of(call!(driver.cuMemcpyDtoDAsync_v2(to, from, buffer.size_in_bytes(), far_stream.as_raw())));
        far_stream.synchronize().map(|()| answer)
    };
    assert_eq!(fetch()?, CUresult::CUDA_ERROR_INVALID_VALUE, "the importer has not granted it");
    pool.peers().extend(driver.devices()?)?;
    assert_eq!(fetch()?, CUresult::CUDA_SUCCESS);
    assert_eq!(pool.peers().len()?, 1);
    parent.signal()?;
    parent.wait()?; // the exporter has revoked its own
    assert_eq!(pool.peers().len()?, 1);
    let topology = warploom::Topology::probe(&driver.devices()?)?;
    let (mesh, _) = warploom::Mesh::open(&topology, &[context.clone(), far.clone()], &[])?;
    mesh.copy(&buffer, &mut copy, &far_stream)?;
    assert_eq!(copy.slice(..3)?.download(&far_stream)?, [0, 1, 2]);
    pool.peers().clear()?;
    assert!(pool.peers().is_empty()?);
    assert_eq!(fetch()?, CUresult::CUDA_ERROR_INVALID_VALUE, "the importer has taken it back");
    let refused = mesh.copy(&buffer, &mut copy, &far_stream).map(drop);
    let missing = PeerError::NotEnabled { from: 1, to: 0, layer: AccessLayer::Pool };
    assert_eq!(refused, Err(missing.into()));
    drop(buffer);
    stream.synchronize()?;
    parent.signal()
}

/// Reads page-locked memory of the parent, by the device and by the host, and writes it.
pub(crate) fn use_pinned(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let pool = PinnedPool::import(&context, receive_handle(parent)?)?;
    assert_eq!(pool.memory(), SharedMemory::Pinned);
    let descriptor = receive_descriptor(parent)?;
    let (one, two) = (import(&pool, &descriptor, &stream)?, import(&pool, &descriptor, &stream)?);
    assert_eq!((one.as_raw(), one.kind()?), (two.as_raw(), MemoryKind::Pinned));
    drop(two);
    assert_eq!(one.download(&stream)?, numbers());
    let mut host = one.into_pinned()?;
    assert_eq!(host[999], 999);
    host[0] = 77;
    drop(host);
    stream.synchronize()?;
    parent.signal()
}

driver_tests! {
    /// IPC-2, IPC-6: page-locked memory, of a NUMA node.
    fn page_locked_memory_is_shared(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, node) = (context.stream()?, NumaId::try_from(0_u32)?);
        let pool = PinnedPool::on_numa_node(&context, node, PoolOptions::new().shareable())?;
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        let child = start(driver, "use_pinned")?;
        send_pool(child.channel(), &pool.export()?)?;
        child.channel().send(&buffer.descriptor()?.to_bytes(), &[])?;
        child.channel().wait()?;
        assert_eq!(buffer.slice(..2)?.download(&stream)?, [77, 1]);
        child.join()?;
    }

    /// IPC-2, IPC-3.
    fn a_pool_that_is_imported_twice_is_the_same(driver) {
        let context = driver.device(0)?.context()?;
        let (pool, child) = (shareable(&context)?, start(driver, "register")?);
        send_pool(child.channel(), &pool.export()?)?;
        child.channel().wait()?;
        child.join()?;
    }

    /// IPC-3, IPC-6: an import that begins while the last one ends.
    fn imports_on_several_threads_neither_fail_nor_lose_the_pool(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        let child = start(driver, "import_on_threads")?;
        send(child.channel(), &pool, &buffer)?;
        child.channel().wait()?;
        child.join()?;
    }

    /// IPC-2.
    fn an_imported_pool_cannot_allocate(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.zeroed::<u32>(16, &stream)?;
        stream.synchronize()?;
        let child = start(driver, "refuse_to_allocate")?;
        send(child.channel(), &pool, &buffer)?;
        child.channel().wait()?;
        child.join()?;
    }

    /// IPC-1: without a driver call.
    fn memory_that_was_not_made_to_be_shared_is_refused(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, plain, shared) = (context.stream()?, DevicePool::new(&context)?, shareable(&context)?);
        let (pooled, empty) = (plain.zeroed::<u32>(16, &stream)?, shared.zeroed::<u32>(0, &stream)?);
        let simple = DeviceMemory::new(&context).allocate::<u32>(16)?;
        let calls = driver.count_calls();
        let refused = |resource| Error::Ipc(IpcError::NotShareable { resource });
        assert_eq!(plain.export().expect_err("it is refused"), refused("a DevicePool"));
        assert_eq!(pooled.descriptor().expect_err("it is refused"), refused("DevicePool"));
        assert_eq!(simple.descriptor().expect_err("it is refused"), refused("DeviceMemory"));
        assert_eq!(empty.descriptor().expect_err("it is refused"), Error::Ipc(IpcError::Empty));
        assert_eq!(calls.total(), 0);
        drop(calls);
        stream.synchronize()?;
    }

    /// IPC-1: the UUID is random, and stays.
    fn pools_have_uuids_of_their_own(driver) {
        let context = driver.device(0)?.context()?;
        let (one, other) = (shareable(&context)?, shareable(&context)?);
        assert_eq!(one.export()?.uuid(), one.export()?.uuid());
        assert_ne!(one.export()?.uuid(), other.export()?.uuid());
        assert_eq!(one.export()?.device(), driver.device(0)?.uuid()?);
    }
}

/// S0.19: an imported pool starts without grants, and each process has its own.
#[test]
fn grants_are_of_one_process() -> TestResult {
    let preset = "pcie-pair";
    let (_machine, driver) = warploom_testkit::open(Topology::preset(preset)?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::with(&context, PoolOptions::new().shareable())?);
    pool.peers().extend(driver.devices()?)?;
    let buffer = pool.upload(&[0_u32, 1, 2, 3], &stream)?;
    stream.synchronize()?;
    let child = Child::start_on(preset, "child", "grant")?;
    send(child.channel(), &pool, &buffer)?;
    child.channel().wait()?;
    assert_eq!(pool.peers().len()?, 1);
    pool.peers().clear()?;
    child.channel().signal()?;
    child.channel().wait()?;
    assert!(pool.peers().is_empty()?);
    child.join()
}
