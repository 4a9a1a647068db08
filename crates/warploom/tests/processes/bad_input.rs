//! Descriptors and messages of a peer that is broken, hostile or gone: an error, no crash, no hang.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;
use warploom::ipc::{BufferDescriptor, EventDescriptor, IpcError, MemoryHandle, PoolHandle};
use warploom::{Buffer, DevicePool, Error, PinnedPool};
use warploom_testkit::{TestResult, driver_tests};

use crate::support::{forged, import, numbers, receive_descriptor, receive_handle, receive_pool, shareable, start};

/// The place of a buffer's size in its descriptor, and that of the driver's export data.
const SIZE: usize = 56;
const PAYLOAD: usize = 64;

fn ipc<T: std::fmt::Debug>(refused: warploom::Result<T>) -> IpcError {
    match refused {
        Err(Error::Ipc(error)) => error,
        other => panic!("{other:?}"),
    }
}

proptest! {
    /// IPC-10: any bytes, as they are and with a right start and checksum, are read or refused, and what is
    /// read is written as it was.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let fd = || OwnedFd::from(UnixStream::pair().expect("file descriptors are left").0);
        let read = |bytes: &[u8]| {
            let read = [
                BufferDescriptor::from_bytes(bytes).map(|read| read.to_bytes().to_vec()),
                PoolHandle::from_parts(fd(), bytes).map(|read| read.to_bytes().to_vec()),
                MemoryHandle::from_parts(fd(), bytes).map(|read| read.to_bytes().to_vec()),
                EventDescriptor::from_bytes(bytes).map(|read| read.to_bytes().to_vec()),
            ];
            read.into_iter().find_map(Result::ok)
        };
        if let Some(written) = read(&bytes) {
            prop_assert_eq!(&written, &bytes);
        }
        let lengths = [PoolHandle::LEN, BufferDescriptor::LEN, EventDescriptor::LEN, MemoryHandle::LEN];
        for (kind, length) in (1..).zip(lengths) {
            let mut record = vec![0; length];
            record.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
            // Device memory, which every kind can have.
            let record = forged(record, 0, &[b'W', b'L', b'i', b'p', 1, 0, kind, 1]);
            match read(&record) {
                Some(written) => prop_assert_eq!(&written, &record),
                // Sizes that no memory has.
                None => prop_assert_eq!(kind, 4),
            }
        }
    }
}

driver_tests! {
    /// IPC-10: every altered bit and every length, without a driver call.
    fn an_altered_or_truncated_descriptor_is_refused(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, shareable(&context)?);
        let buffer = pool.zeroed::<u32>(16, &stream)?;
        let bytes = buffer.descriptor()?.to_bytes();
        let calls = driver.count_calls();
        for length in 0..bytes.len() {
            assert!(BufferDescriptor::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        for bit in 0..8 * bytes.len() {
            let mut altered = bytes;
            altered[bit / 8] ^= 1 << (bit % 8);
            assert!(BufferDescriptor::from_bytes(&altered).is_err(), "{bit}");
        }
        assert_eq!(calls.total(), 0);
        drop(calls);
        stream.synchronize()?;
    }

    /// IPC-5: a claim beyond the mapping is found, the mapping ends, and a right import works after it.
    fn a_descriptor_with_a_larger_size_is_refused_and_unmapped(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let stream = context.stream()?;
        let pool = receive_pool(child.channel(), &context)?;
        let right = receive_descriptor(child.channel())?;
        for claimed in [4004_u64, 1 << 40, (isize::MAX as u64) & !3] {
            let bytes = forged(right.to_bytes().to_vec(), SIZE, &claimed.to_le_bytes());
            let larger = BufferDescriptor::from_bytes(&bytes)?;
            let refused = ipc(import(&pool, &larger, &stream));
            assert!(matches!(refused, IpcError::BeyondMapping { claimed: of, .. } if of == claimed), "{refused}");
            stream.synchronize()?;
        }
        let calls = driver.count_calls();
        for claimed in [0, u64::MAX] {
            let bytes = forged(right.to_bytes().to_vec(), SIZE, &claimed.to_le_bytes());
            let refused = ipc(import(&pool, &BufferDescriptor::from_bytes(&bytes)?, &stream));
            assert_eq!(refused, IpcError::Size { bytes: claimed, mapped: claimed });
        }
        // SAFETY: it is refused.
        let odd = unsafe { Buffer::<[u8; 3]>::import(&pool, &right, &stream) };
        assert_eq!(ipc(odd), IpcError::Values { bytes: 4000, size: 3 });
        assert_eq!(calls.total(), 0);
        drop(calls);
        let shared = import(&pool, &right, &stream)?;
        // While it is mapped, a further import with a larger size is refused, too, and changes nothing.
        let bytes = forged(right.to_bytes().to_vec(), SIZE, &(1_u64 << 40).to_le_bytes());
        assert!(matches!(
            ipc(import(&pool, &BufferDescriptor::from_bytes(&bytes)?, &stream)),
            IpcError::BeyondMapping { .. }
        ));
        assert_eq!(shared.download(&stream)?, numbers());
    }

    /// Of another pool, of other memory, and of this process, without a driver call.
    fn a_foreign_descriptor_is_refused(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let stream = context.stream()?;
        let handle = receive_handle(child.channel())?;
        let pool = DevicePool::import(&context, handle.try_clone()?)?;
        let right = receive_descriptor(child.channel())?;
        let other_pool = receive_pool(child.channel(), &context)?;
        let other = receive_descriptor(child.channel())?;
        let own_pool = shareable(&context)?;
        let own = own_pool.zeroed::<u32>(4, &stream)?;
        let own_descriptor = own.descriptor()?;
        let calls = driver.count_calls();
        let expected = IpcError::OtherPool { found: other.pool(), expected: pool.uuid() };
        assert_eq!(ipc(import(&pool, &other, &stream)), expected);
        let own = IpcError::OwnProcess { what: "buffer descriptor" };
        assert_eq!(ipc(import(&pool, &own_descriptor, &stream)), own);
        let own = IpcError::OwnProcess { what: "pool handle" };
        assert_eq!(ipc(DevicePool::import(&context, own_pool.export()?)), own);
        assert!(matches!(ipc(PinnedPool::import(&context, handle.try_clone()?)), IpcError::OtherMemory { .. }));
        // The machine is at 8, the device at 56.
        let named = |at, field: &[u8]| -> TestResult<PoolHandle> {
            let bytes = forged(handle.to_bytes().to_vec(), at, field);
            Ok(PoolHandle::from_parts(handle.as_fd().try_clone_to_owned()?, &bytes)?)
        };
        assert!(matches!(ipc(DevicePool::import(&context, named(8, &[9; 16])?)), IpcError::OtherMachine { .. }));
        assert!(matches!(ipc(DevicePool::import(&context, named(56, &[9; 16])?)), IpcError::OtherDevice { .. }));
        assert_eq!(calls.total(), 0);
        drop(calls);
        assert_eq!(import(&pool, &right, &stream)?.download(&stream)?, numbers());
        assert_eq!(import(&other_pool, &other, &stream)?.download(&stream)?, [7; 1000]);
        stream.synchronize()?;
    }

    /// A file descriptor that is not one of a pool, with the right bytes.
    fn a_file_descriptor_of_something_else_is_refused(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let handle = receive_handle(child.channel())?;
        let files: [OwnedFd; 3] =
            [File::open("/dev/null")?.into(), UnixStream::pair()?.0.into(), File::open(std::env::current_exe()?)?.into()];
        for file in files {
            let wrong = PoolHandle::from_parts(file, &handle.to_bytes())?;
            assert!(matches!(DevicePool::import(&context, wrong), Err(Error::Driver(_))));
        }
        DevicePool::import(&context, handle)?; // not spoiled by the attempts
    }

    /// A buffer that its exporter has freed: refused or mapped, as the driver likes; never a crash.
    fn a_descriptor_of_a_freed_buffer_does_no_harm(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let (stream, channel) = (context.stream()?, child.channel());
        let pool = receive_pool(channel, &context)?;
        let stale = receive_descriptor(channel)?;
        drop((channel.receive()?, channel.receive()?)); // the other pool and its buffer
        channel.signal()?;
        channel.wait()?; // it is freed
        for _ in 0..2 {
            match import(&pool, &stale, &stream) {
                Ok(buffer) => drop(buffer),
                Err(error) => assert!(matches!(error, Error::Driver(_)), "{error}"),
            }
            stream.synchronize()?;
        }
        channel.signal()?;
        child.join()?;
    }

    /// A peer that dies between export and import, and one that dies before it sends.
    fn a_peer_that_dies_in_between_is_an_error_or_no_loss(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let stream = context.stream()?;
        let handle = receive_handle(child.channel())?;
        let descriptor = receive_descriptor(child.channel())?;
        child.kill()?;
        match DevicePool::import(&context, handle) {
            Ok(pool) => match import(&pool, &descriptor, &stream) {
                Ok(buffer) => assert_eq!(buffer.download(&stream)?, numbers()),
                Err(error) => assert!(matches!(error, Error::Driver(_)), "{error}"),
            },
            Err(error) => assert!(matches!(error, Error::Driver(_)), "{error}"),
        }
        stream.synchronize()?;

        let (here, there) = UnixStream::pair()?;
        here.set_read_timeout(Some(Duration::from_secs(10)))?;
        drop(there);
        let gone = ipc(PoolHandle::receive(&here));
        assert_eq!(gone, IpcError::Closed { received: 0, expected: PoolHandle::LEN });
    }

    /// Forged export data, with a right checksum. A real driver crashes on some of it, which is why imports
    /// are unsafe; the simulator refuses it, or maps other memory of the same pool.
    sim fn forged_export_data_is_never_an_access_outside(driver) {
        let (context, child) = (driver.device(0)?.context()?, start(driver, "export")?);
        let stream = context.stream()?;
        let pool = receive_pool(child.channel(), &context)?;
        let right = receive_descriptor(child.channel())?;
        let bytes = right.to_bytes();
        for at in 0..64 {
            let altered = forged(bytes.to_vec(), PAYLOAD + at, &[!bytes[PAYLOAD + at]]);
            let forged = BufferDescriptor::from_bytes(&altered)?;
            match import(&pool, &forged, &stream) {
                Ok(buffer) => assert_eq!(buffer.len(), 1000),
                Err(error) => assert!(matches!(error, Error::Driver(_) | Error::Ipc(_)), "{error}"),
            }
            stream.synchronize()?;
        }
        assert_eq!(import(&pool, &right, &stream)?.download(&stream)?, numbers());
    }
}
