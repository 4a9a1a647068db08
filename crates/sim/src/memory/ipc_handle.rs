//! Handles of `cuIpc…` functions: 64 bytes that name an object of another process.
//!
//! ```text
//!   0       4            8          40       48     56        64
//!   ├ magic ─┼ generation ─┼─ locator ─┼ offset ─┼ size ─┼ checksum ┤
//! ```
//!
//! The bytes come from another process, over any channel. A handle is valid if its checksum is right, and the
//! object is the one that the locator names.

use super::shared_object::{Locator, Reader};

/// Length of a handle.
pub(crate) const LEN: usize = 64;
/// The bytes that the checksum covers.
const COVERED: usize = LEN - 8;
const MAGIC: u32 = u32::from_le_bytes(*b"wipc");

/// An object of a process: an event, or a part of a block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IpcHandle {
    pub(crate) locator: Locator,
    /// The part of a block that is meant; empty for an event.
    pub(crate) part: BlockPart,
}

/// An allocation in a block of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockPart {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// Tells allocations apart that were at the same place one after the other.
    pub(crate) generation: u32,
}

impl IpcHandle {
    pub(crate) fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.part.generation.to_le_bytes());
        bytes[8..40].copy_from_slice(&self.locator.encode());
        bytes[40..48].copy_from_slice(&self.part.offset.to_le_bytes());
        bytes[48..COVERED].copy_from_slice(&self.part.size.to_le_bytes());
        let sum = checksum(&bytes[..COVERED]);
        bytes[COVERED..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The handle in some bytes.
    pub(crate) fn decode(bytes: &[u8; LEN]) -> Result<Self, HandleError> {
        let mut rest = Reader(bytes);
        if rest.half() != Some(MAGIC) {
            return Err(HandleError::Foreign);
        }
        Self::decode_rest(bytes, &mut rest).ok_or(HandleError::Altered)
    }

    fn decode_rest(bytes: &[u8; LEN], rest: &mut Reader<'_>) -> Option<Self> {
        let generation = rest.half()?;
        let locator = Locator::decode(&rest.take()?);
        let (offset, size, sum) = (rest.word()?, rest.word()?, rest.word()?);
        let part = BlockPart { offset, size, generation };
        (sum == checksum(&bytes[..COVERED])).then_some(Self { locator, part })
    }
}

/// The reason why bytes are no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandleError {
    #[error("the handle is not one of a simulated machine")]
    Foreign,
    #[error("the handle was altered: its checksum is wrong")]
    Altered,
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
        let part = BlockPart { offset, size, generation: file ^ pid };
        IpcHandle { locator: Locator { process: ProcessId { pid, started }, file, id }, part }
    }

    proptest! {
        #[test]
        fn a_handle_survives_encoding(
            (pid, started, file) in any::<(u32, u64, u32)>(),
            (id, offset, size) in any::<(u128, u64, u64)>(),
        ) {
            let handle = handle(pid, started, file, id, offset, size);
            prop_assert_eq!(IpcHandle::decode(&handle.encode()), Ok(handle));
        }

        #[test]
        fn a_handle_with_an_altered_byte_is_refused(at in 0..LEN, change in 1..=u8::MAX) {
            let mut bytes = handle(1, 2, 3, 4, 5, 6).encode();
            bytes[at] ^= change;
            let error = if at < 4 { HandleError::Foreign } else { HandleError::Altered };
            prop_assert_eq!(IpcHandle::decode(&bytes), Err(error));
        }

        #[test]
        fn other_bytes_are_no_handle(bytes in any::<[u8; 32]>(), repeated in any::<bool>()) {
            let mut all = [0; LEN];
            all[..32].copy_from_slice(&bytes);
            if repeated {
                all[32..].copy_from_slice(&bytes);
            }
            prop_assert!(IpcHandle::decode(&all).is_err());
        }
    }
}
