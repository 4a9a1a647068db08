//! Any bytes as a descriptor or handle of another process, as they are and with the checksum that belongs to
//! them.
//!
//! A decoded value encodes to the same bytes, and survives serde.
#![no_main]

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use libfuzzer_sys::fuzz_target;
use warploom::ipc::{BufferDescriptor, EventDescriptor, MemoryHandle, PoolHandle};

fn decode(bytes: &[u8]) {
    let fd = || OwnedFd::from(UnixStream::pair().expect("file descriptors are left").0);
    if let Ok(descriptor) = BufferDescriptor::from_bytes(bytes) {
        assert_eq!(descriptor.to_bytes(), bytes);
        let text = serde_json::to_string(&descriptor).expect("it is plain data");
        assert_eq!(serde_json::from_str::<BufferDescriptor>(&text).expect("it was written here"), descriptor);
    }
    if let Ok(descriptor) = EventDescriptor::from_bytes(bytes) {
        // The kind of memory is the only byte that is not kept.
        assert_eq!(descriptor.to_bytes()[8..EventDescriptor::LEN - 8], bytes[8..EventDescriptor::LEN - 8]);
    }
    if let Ok(handle) = PoolHandle::from_parts(fd(), bytes) {
        assert_eq!(handle.to_bytes(), bytes);
    }
    if let Ok(handle) = MemoryHandle::from_parts(fd(), bytes) {
        assert!(handle.size_in_bytes() > 0 && handle.size_in_bytes() <= isize::MAX as u64);
    }
    let text = format!("{bytes:?}");
    assert_eq!(serde_json::from_str::<BufferDescriptor>(&text).is_ok(), BufferDescriptor::from_bytes(bytes).is_ok());
}

fuzz_target!(|bytes: &[u8]| {
    decode(bytes);
    // A record of each kind with this body, and with the right start and checksum.
    for (kind, length) in
        [(1, PoolHandle::LEN), (2, BufferDescriptor::LEN), (3, EventDescriptor::LEN), (4, MemoryHandle::LEN)]
    {
        let mut record = vec![0; length];
        for (to, from) in record[7..].iter_mut().zip(bytes) {
            *to = *from;
        }
        record[..7].copy_from_slice(&[b'W', b'L', b'i', b'p', 1, 0, kind]);
        let sum = record[..length - 8]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
        record[length - 8..].copy_from_slice(&sum.to_le_bytes());
        decode(&record);
    }
});
