//! Export data of pool memory: the 64 bytes that name an allocation in another process.
//!
//! The bytes come from another process and are not trusted: a checksum finds altered ones, and the words of
//! the pool's shared object say if the allocation is still there.

use crate::memory::Reader;

/// The length that the driver's structure has.
pub(crate) const LEN: usize = 64;

/// Marks the bytes as export data of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"poolptr\x01");

/// An exported allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointerData {
    /// The id of the pool's shared object.
    pub(crate) pool: u128,
    /// Its slot among the exported allocations of the pool.
    pub(crate) slot: u64,
    /// A number that no other exported allocation of the pool has; never 0.
    pub(crate) generation: u64,
    /// Its start in the pool.
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// FNV-1a of 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl PointerData {
    pub(crate) fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let (facts, sum) = bytes.split_at_mut(LEN - 8);
        let (head, numbers) = facts.split_at_mut(24);
        head[..8].copy_from_slice(&MAGIC.to_le_bytes());
        head[8..].copy_from_slice(&self.pool.to_le_bytes());
        let values = [self.slot, self.generation, self.offset, self.size];
        for (place, value) in numbers.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        sum.copy_from_slice(&checksum(facts).to_le_bytes());
        bytes
    }

    /// `None` for bytes that no export made.
    pub(crate) fn decode(bytes: &[u8; LEN]) -> Option<Self> {
        let mut rest = Reader(bytes);
        rest.word().filter(|magic| *magic == MAGIC)?;
        let pool = u128::from_le_bytes(rest.take()?);
        let (slot, generation) = (rest.word()?, rest.word()?);
        let (offset, size) = (rest.word()?, rest.word()?);
        rest.word().filter(|sum| *sum == checksum(&bytes[..LEN - 8]))?;
        Some(Self { pool, slot, generation, offset, size })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DATA: PointerData = PointerData { pool: 7 << 77, slot: 3, generation: 9, offset: 4096, size: 1 << 30 };

    #[test]
    fn export_data_survives_encoding() {
        assert_eq!(PointerData::decode(&DATA.encode()), Some(DATA));
        assert_eq!(PointerData::decode(&[0; LEN]), None);
        assert_eq!(PointerData::decode(&[0xff; LEN]), None);
    }

    proptest! {
        #[test]
        fn altered_bytes_are_refused(at in 0..LEN, change in 1..=255_u8) {
            let mut bytes = DATA.encode();
            bytes[at] ^= change;
            prop_assert_eq!(PointerData::decode(&bytes), None);
        }

        #[test]
        fn other_bytes_are_refused_or_encode_to_themselves(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut all = DATA.encode();
            all[16..48].copy_from_slice(&bytes);
            if let Some(data) = PointerData::decode(&all) {
                prop_assert_eq!(data.encode(), all);
            }
        }
    }
}
