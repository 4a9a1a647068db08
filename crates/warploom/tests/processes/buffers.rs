//! Buffers of shared pools.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use warploom::ipc::PoolHandle;
use warploom::leaks::{Kind, Leaks};
use warploom::{DevicePool, Function};
use warploom_testkit::process::Channel;
use warploom_testkit::{TestResult, below, driver_tests};

use crate::gate::Gate;
use crate::support::{import, numbers, open, receive_descriptor, receive_pool, send, send_pool, shareable, start};

/// Reads a buffer of the parent, and doubles it.
pub(crate) fn double(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (driver, context, stream) = open(driver)?;
    let leaks = Leaks::track(&driver);
    let pool = receive_pool(parent, &context)?;
    let descriptor = receive_descriptor(parent)?;
    let mut buffer = import(&pool, &descriptor, &stream)?;
    assert_eq!((buffer.len(), buffer.context(), buffer.is_mapped()), (1000, &context, true)); // BUF-12
    assert_eq!(buffer.download(&stream)?, numbers());
    let report = leaks.report();
    assert_eq!(report.count(|kind| kind == Kind::Memory { resource: "ImportedPool" }), 1, "{report}");
    let doubled: Vec<u32> = numbers().iter().map(|number| 2 * number).collect();
    buffer.copy_from_host(&doubled, &stream)?;
    buffer.close()?;
    drop(pool);
    stream.synchronize()?;
    assert_eq!(leaks.report().count(|kind| kind.is_memory() || kind == Kind::Pool), 0, "{}", leaks.report());
    parent.signal()
}

/// Imports the parent's buffer twice, and frees the two on different streams.
pub(crate) fn import_twice(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let other = context.stream()?;
    let pool = receive_pool(parent, &context)?;
    let descriptor = receive_descriptor(parent)?;
    let calls = driver.count_calls();
    let (first, second) = (import(&pool, &descriptor, &stream)?, import(&pool, &descriptor, &other)?);
    assert_eq!(calls.count(Function::cuMemPoolImportPointer), 1);
    assert_eq!(first.as_raw(), second.as_raw());
    let gate = Gate::close(&stream)?;
    let mut copy = DevicePool::new(&context)?.zeroed::<u32>(1000, &stream)?;
    first.copy_to(&mut copy, &stream)?;
    drop(first); // while it is read, behind the gate
    assert_eq!(calls.count(Function::cuMemFreeAsync), 0);
    assert_eq!(second.download(&other)?, numbers());
    drop(second); // on the other stream, and after the read
    assert_eq!(calls.count(Function::cuMemFreeAsync), 1);
    gate.open();
    assert_eq!(copy.download(&stream)?, numbers());
    other.synchronize()?;
    drop(calls);
    let again = import(&pool, &descriptor, &stream)?;
    assert_eq!(again.download(&stream)?, numbers());
    let leaks = Leaks::track(context.driver());
    for _ in 0..20 {
        drop(import(&pool, &descriptor, &context.stream()?)?);
    }
    assert_eq!(leaks.report().count(|kind| kind == Kind::Stream), 0, "a mapping does not keep streams");
    drop(again);
    stream.synchronize()?;
    parent.signal()
}

/// Imports from the parent and passes on pool and buffer.
pub(crate) fn pass_on(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let pool = receive_pool(parent, &context)?;
    let descriptor = receive_descriptor(parent)?;
    let buffer = import(&pool, &descriptor, &stream)?;
    assert_eq!(buffer.descriptor()?, descriptor);
    send_pool(parent, &pool.export()?)?;
    parent.send(&buffer.descriptor()?.to_bytes(), &[])?;
    parent.wait()
}

/// Imports over a socket of the parent's, says so, and waits to be killed.
pub(crate) fn hold(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let socket = UnixStream::from(parent.receive_file()?);
    let pool = DevicePool::import(&context, PoolHandle::receive(&socket)?)?;
    let descriptor = receive_descriptor(parent)?;
    let buffer = import(&pool, &descriptor, &stream)?;
    assert_eq!(buffer.download(&stream)?, numbers());
    parent.signal()?;
    loop {
        std::thread::park();
    }
}

driver_tests! {
    /// IPC-1, IPC-2, IPC-4, IPC-5.
    fn a_worker_reads_and_writes_a_shared_buffer(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        assert!(!buffer.is_mapped());
        let child = start(driver, "double")?;
        send(child.channel(), &pool, &buffer)?;
        child.channel().wait()?;
        let doubled: Vec<u32> = numbers().iter().map(|number| 2 * number).collect();
        assert_eq!(buffer.download(&stream)?, doubled);
        child.join()?;
    }

    /// IPC-4: the driver is asked once.
    fn a_descriptor_is_cached_and_names_pool_and_size(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.zeroed::<u16>(500, &stream)?;
        let calls = driver.count_calls();
        let first = buffer.descriptor()?;
        assert_eq!(calls.total(), 1);
        assert_eq!(buffer.descriptor()?, first);
        assert_eq!(calls.total(), 1);
        assert_eq!((first.pool(), first.size_in_bytes()), (pool.export()?.uuid(), 1000));
        drop(calls);
        stream.synchronize()?;
    }

    /// IPC-6: one mapping, freed once, after every stream that used it.
    threads fn imports_of_one_buffer_share_a_mapping(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        let child = start(driver, "import_twice")?;
        send(child.channel(), &pool, &buffer)?;
        child.channel().wait()?;
        assert_eq!(buffer.download(&stream)?, numbers());
        child.join()?;
    }

    /// IPC-7.
    fn an_imported_buffer_is_passed_on_to_a_third_process(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        let second = start(driver, "pass_on")?;
        send(second.channel(), &pool, &buffer)?;
        let third = start(driver, "double")?;
        for _ in ["pool", "buffer"] {
            let (bytes, files) = second.channel().receive()?;
            let files: Vec<_> = files.iter().map(std::os::fd::AsFd::as_fd).collect();
            third.channel().send(&bytes, &files)?;
        }
        third.channel().wait()?;
        third.join()?;
        assert_eq!(buffer.slice(999..)?.download(&stream)?, [1998]);
        second.channel().signal()?;
        second.join()?;
    }

    /// Importers that are killed leave the exporter's memory as it is.
    fn a_killed_importer_does_no_harm(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        for _ in 0..2 {
            let (socket, end) = UnixStream::pair()?;
            let child = start(driver, "hold")?;
            child.channel().send(&[], &[std::os::fd::AsFd::as_fd(&OwnedFd::from(end))])?;
            pool.export()?.send(&socket)?;
            child.channel().send(&buffer.descriptor()?.to_bytes(), &[])?;
            child.channel().wait()?;
            child.kill()?;
            assert_eq!(buffer.download(&stream)?, numbers());
        }
        drop(buffer);
        stream.synchronize()?;
        let again = pool.upload(&numbers(), &stream)?;
        assert_eq!(again.download(&stream)?, numbers());
    }

    /// The kernel keeps memory that an importer uses when the exporter is killed.
    fn memory_of_a_killed_exporter_stays_with_its_importer(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let stream = context.stream()?;
        let pool = receive_pool(child.channel(), &context)?;
        let descriptor = receive_descriptor(child.channel())?;
        let buffer = import(&pool, &descriptor, &stream)?;
        child.kill()?;
        assert_eq!(buffer.download(&stream)?, numbers());
        drop((buffer, pool));
        stream.synchronize()?;
    }
}
