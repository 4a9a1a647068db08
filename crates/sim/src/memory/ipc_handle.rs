//! Handles of `cuIpc…` functions: 64 bytes that name an object of another process.
//!
//! ```text
//!   0       8          40       48     56        64
//!   ├ magic ─┼─ locator ─┼ offset ─┼ size ─┼ checksum ┤
//! ```
//!
//! The bytes come from another process, over any channel. A handle is valid if its checksum is right, and the
//! object is the one that the locator names.

use super::shared_object::{Locator, Reader};

/// Length of a handle.
pub(crate) const LEN: usize = 64;
/// The bytes that the checksum covers.
const COVERED: usize = LEN - 8;
const MAGIC: u64 = u64::from_le_bytes(*b"warp-ipc");

/// An object of a process: an event, or a part of a block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IpcHandle {
    pub(crate) locator: Locator,
    /// Start of an allocation in its block; 0 for an event.
    pub(crate) offset: u64,
    /// Size of an allocation; 0 for an event.
    pub(crate) size: u64,
}

impl IpcHandle {
    pub(crate) fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..40].copy_from_slice(&self.locator.encode());
        bytes[40..48].copy_from_slice(&self.offset.to_le_bytes());
        bytes[48..COVERED].copy_from_slice(&self.size.to_le_bytes());
        let sum = checksum(&bytes[..COVERED]);
        bytes[COVERED..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The handle in some bytes; `None` if they are no handle of a simulated machine, or altered.
    pub(crate) fn decode(bytes: &[u8; LEN]) -> Option<Self> {
        let mut rest = Reader(bytes);
        if rest.word()? != MAGIC {
            return None;
        }
        let locator = Locator::decode(&rest.take()?);
        let (offset, size, sum) = (rest.word()?, rest.word()?, rest.word()?);
        (sum == checksum(&bytes[..COVERED])).then_some(Self { locator, offset, size })
    }
}

/// FNV-1a of 64 bits: every change of one byte changes it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::shared_object::ProcessId;

    fn handle(pid: u32, started: u64, file: u32, id: u128, offset: u64, size: u64) -> IpcHandle {
        IpcHandle { locator: Locator { process: ProcessId { pid, started }, file, id }, offset, size }
    }

    proptest! {
        #[test]
        fn a_handle_survives_encoding(
            (pid, started, file) in any::<(u32, u64, u32)>(),
            (id, offset, size) in any::<(u128, u64, u64)>(),
        ) {
            let handle = handle(pid, started, file, id, offset, size);
            prop_assert_eq!(IpcHandle::decode(&handle.encode()), Some(handle));
        }

        #[test]
        fn a_handle_with_an_altered_byte_is_refused(at in 0..LEN, change in 1..=u8::MAX) {
            let mut bytes = handle(1, 2, 3, 4, 5, 6).encode();
            bytes[at] ^= change;
            prop_assert_eq!(IpcHandle::decode(&bytes), None);
        }

        #[test]
        fn other_bytes_are_no_handle(bytes in any::<[u8; 32]>(), repeated in any::<bool>()) {
            let mut all = [0; LEN];
            all[..32].copy_from_slice(&bytes);
            if repeated {
                all[32..].copy_from_slice(&bytes);
            }
            prop_assert_eq!(IpcHandle::decode(&all), None);
        }
    }
}
