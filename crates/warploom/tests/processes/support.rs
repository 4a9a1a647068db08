//! Messages of the tests: pools and buffers over a channel.

use std::os::fd::AsFd as _;

use warploom::ipc::{BufferDescriptor, ImportedPool, PoolHandle};
use warploom::{Buffer, Context, DevicePool, Driver, PoolOptions, Stream};
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::{TestResult, below};

/// Starts a child with a part of this binary, on the kind of driver that the test has.
pub(crate) fn start(driver: &Driver, part: &str) -> TestResult<Child> {
    Child::start(driver, "child", part)
}

/// The core's driver of a child, its context and a stream.
pub(crate) fn open(driver: &below::driver::Driver) -> TestResult<(Driver, Context, Stream)> {
    let driver = Driver::from(driver.clone());
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((driver, context, stream))
}

/// A pool that can be shared.
pub(crate) fn shareable(context: &Context) -> TestResult<DevicePool> {
    Ok(DevicePool::with(context, PoolOptions::new().shareable())?)
}

pub(crate) fn send_pool(channel: &Channel, handle: &PoolHandle) -> TestResult {
    channel.send(&handle.to_bytes(), &[handle.as_fd()])
}

pub(crate) fn receive_handle(channel: &Channel) -> TestResult<PoolHandle> {
    let (bytes, mut files) = channel.receive()?;
    let file = files.pop().ok_or("a pool's handle has a file descriptor")?;
    Ok(PoolHandle::from_parts(file, &bytes)?)
}

pub(crate) fn receive_pool(channel: &Channel, context: &Context) -> TestResult<ImportedPool> {
    Ok(DevicePool::import(context, receive_handle(channel)?)?)
}

pub(crate) fn receive_descriptor(channel: &Channel) -> TestResult<BufferDescriptor> {
    Ok(BufferDescriptor::from_bytes(&channel.receive()?.0)?)
}

/// Sends a pool and a buffer of it, whose work is done.
pub(crate) fn send(channel: &Channel, pool: &DevicePool, buffer: &Buffer<u32>) -> TestResult {
    send_pool(channel, &pool.export()?)?;
    channel.send(&buffer.descriptor()?.to_bytes(), &[])
}

/// Imports a buffer of another process of the test, which keeps it until it is told, and writes it at other
/// times only.
pub(crate) fn import(pool: &ImportedPool, of: &BufferDescriptor, stream: &Stream) -> warploom::Result<Buffer<u32>> {
    // SAFETY: the tests send only descriptors of buffers that their processes keep.
    unsafe { Buffer::import(pool, of, stream) }
}

/// Exports a buffer of 1000 values, 0 to 999, and another of sevens from another pool; ends when it is told.
pub(crate) fn export(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (_, context, stream) = open(driver)?;
    let (pool, other) = (shareable(&context)?, shareable(&context)?);
    let buffer = pool.upload(&numbers(), &stream)?;
    let sevens = other.upload(&[7_u32; 1000], &stream)?;
    stream.synchronize()?;
    send(parent, &pool, &buffer)?;
    send(parent, &other, &sevens)?;
    // A parent that needs no more closes the channel.
    if parent.wait().is_ok() {
        drop(buffer);
        stream.synchronize()?;
        parent.signal()?;
        parent.wait()?;
    }
    Ok(())
}

/// The contents of the first buffer of [`export`].
pub(crate) fn numbers() -> Vec<u32> {
    (0..1000).collect()
}

/// Descriptor bytes with another field, and the checksum that belongs to them: FNV-1a at the end.
pub(crate) fn forged(mut bytes: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    bytes[at..at + field.len()].copy_from_slice(field);
    let content = bytes.len() - 8;
    let sum = bytes[..content]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    bytes[content..].copy_from_slice(&sum.to_le_bytes());
    bytes
}
