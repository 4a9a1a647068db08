//! Virtual memory between processes.

use std::os::fd::AsFd as _;

use warploom::ipc::{IpcError, MemoryHandle};
use warploom::{Buffer, Error, MemoryError, VirtualMemory, VirtualOptions};
use warploom_testkit::process::Channel;
use warploom_testkit::{TestResult, below, driver_tests};

use crate::support::{forged, numbers, open, start};

fn send(channel: &Channel, handle: &MemoryHandle) -> TestResult {
    channel.send(&handle.to_bytes(), &[handle.as_fd()])
}

fn receive(channel: &Channel) -> TestResult<MemoryHandle> {
    let (bytes, mut files) = channel.receive()?;
    let file = files.pop().ok_or("a handle has a file descriptor")?;
    Ok(MemoryHandle::from_parts(file, &bytes)?)
}

fn import(memory: &VirtualMemory, handle: MemoryHandle) -> warploom::Result<Buffer<u32>> {
    // SAFETY: the tests use the memory by turns.
    unsafe { memory.import(handle) }
}

/// Maps the parent's memory, reads it and doubles the first values; it stays when the parent drops it.
pub(crate) fn map(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let memory = VirtualMemory::new(&context)?;
    let mut buffer = import(&memory, receive(parent)?)?;
    assert_eq!(buffer.download(&stream)?, numbers());
    buffer.slice_mut(..2)?.copy_from_host(&[8, 9], &stream)?;
    stream.synchronize()?;
    parent.signal()?;
    parent.wait()?; // the parent has dropped its buffer
    assert_eq!(buffer.slice(..3)?.download(&stream)?, [8, 9, 2]);
    let grown = memory.grow(buffer, 2_000_000)?;
    assert_eq!(grown.slice(..3)?.download(&stream)?, [8, 9, 2]);
    Ok(())
}

/// Exports memory, and ends when it is told.
pub(crate) fn export(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let memory = VirtualMemory::with(&context, VirtualOptions::new().shareable())?;
    let buffer = memory.upload(&numbers(), &stream)?;
    stream.synchronize()?;
    send(parent, &memory.export(&buffer)?)?;
    parent.wait()
}

driver_tests! {
    fn mapped_memory_is_shared_and_outlives_its_maker(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let memory = VirtualMemory::with(&context, VirtualOptions::new().shareable())?;
        let buffer = memory.upload(&numbers(), &stream)?;
        stream.synchronize()?;
        let child = start(driver, "map")?;
        send(child.channel(), &memory.export(&buffer)?)?;
        child.channel().wait()?;
        assert_eq!(buffer.slice(..3)?.download(&stream)?, [8, 9, 2]);
        drop((buffer, memory));
        child.channel().signal()?;
        child.join()?;
    }

    fn memory_that_cannot_be_exported_is_refused(driver) {
        let context = driver.device(0)?.context()?;
        let (plain, shared) = (
            VirtualMemory::new(&context)?,
            VirtualMemory::with(&context, VirtualOptions::new().shareable())?,
        );
        let (other, empty, small) = (plain.allocate::<u8>(9)?, shared.allocate::<u8>(0)?, shared.allocate::<u8>(9)?);
        let grown = shared.grow(small, 3 * shared.granularity())?;
        let calls = driver.count_calls();
        assert!(matches!(plain.export(&other), Err(Error::Ipc(IpcError::NotShareable { .. }))));
        assert_eq!(shared.export(&other).expect_err("it is refused"), Error::Memory(MemoryError::OtherResource));
        assert_eq!(shared.export(&empty).expect_err("it is refused"), Error::Ipc(IpcError::Empty));
        assert_eq!(shared.export(&grown).expect_err("it is refused"), Error::Ipc(IpcError::Pieces { pieces: 2 }));
        assert_eq!(calls.total(), 0);
        drop(calls);
    }

    /// Sizes that are not the memory's, a file descriptor that is not one of memory, and the memory's own
    /// process.
    fn a_wrong_memory_handle_is_refused_and_maps_nothing(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export_memory")?);
        let (stream, memory) = (context.stream()?, VirtualMemory::new(&context)?);
        let handle = receive(child.channel())?;
        let bytes = handle.to_bytes();
        let copy = |bytes: &[u8]| -> TestResult<MemoryHandle> {
            Ok(MemoryHandle::from_parts(handle.as_fd().try_clone_to_owned()?, bytes)?)
        };
        // The size of the buffer is at 56, that of the memory at 64.
        let much = (64_u64 << 20).to_le_bytes();
        let larger = copy(&forged(bytes.to_vec(), 56, &[much, much].concat()))?;
        assert!(matches!(import(&memory, larger), Err(Error::Driver(_))));
        let odd = copy(&forged(bytes.to_vec(), 56, &4001_u64.to_le_bytes()))?;
        assert_eq!(import(&memory, odd).expect_err("it is refused"), Error::Ipc(IpcError::Values { bytes: 4001, size: 4 }));
        let device = copy(&forged(bytes.to_vec(), 40, &[0xab; 16]))?;
        assert!(matches!(import(&memory, device), Err(Error::Ipc(IpcError::OtherDevice { .. }))));
        let socket = MemoryHandle::from_parts(std::os::unix::net::UnixStream::pair()?.0.into(), &bytes)?;
        assert!(matches!(import(&memory, socket), Err(Error::Driver(_))));
        let shared = VirtualMemory::with(&context, VirtualOptions::new().shareable())?;
        let own = shared.export(&shared.allocate::<u32>(4)?)?;
        assert_eq!(import(&memory, own).expect_err("it is refused"), Error::Ipc(IpcError::OwnProcess { what: "memory handle" }));
        assert_eq!(import(&memory, copy(&bytes)?)?.download(&stream)?, numbers());
        child.channel().signal()?;
        child.join()?;
    }
}
