//! Header of a shared object: its kind, size, identity, machine and creator.
//!
//! Another process can write to the file at any time. A header is therefore read once, checked, and copied.

use std::fmt;

/// Marks a file as a shared object: `warploom` in ASCII.
const MAGIC: u64 = u64::from_le_bytes(*b"warploom");
/// The version of the layout, which changes with every change of it.
const VERSION: u32 = 1;
/// The most words that an object can have.
pub(super) const MOST_WORDS: u64 = 1 << 20;
/// The most bytes of memory that an object can have.
const MOST_BYTES: u64 = 1 << 46;

/// Length of an encoded header.
pub(super) const LEN: usize = 160;

/// The kind of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedKind {
    /// Physical memory of `cuMemCreate`.
    Physical,
    /// The memory of a pool.
    Pool,
    /// An allocation of `cuMemAlloc`.
    Allocation,
    /// An event.
    Event,
}

impl SharedKind {
    const ALL: [Self; 4] = [Self::Physical, Self::Pool, Self::Allocation, Self::Event];

    fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

impl fmt::Display for SharedKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Physical => "physical memory",
            Self::Pool => "a memory pool",
            Self::Allocation => "an allocation",
            Self::Event => "an event",
        })
    }
}

/// The device of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedDevice {
    pub(crate) ordinal: u16,
    pub(crate) uuid: [u8; 16],
}

/// A process, by its number and the time at which it started: numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    /// Clock ticks from the start of the system.
    pub(crate) started: u64,
}

/// Numbers that the kind of an object defines.
pub(crate) type Details = [u64; 8];

/// The facts about a shared object, fixed at its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: SharedKind,
    /// Bytes of memory.
    pub(crate) size: u64,
    /// Number of words that processes change while they run.
    pub(crate) words: u64,
    /// A random number that no other object has.
    pub(crate) id: u128,
    /// Digest of the machine's description.
    pub(crate) machine: u128,
    /// The device that the object belongs to; none for the host.
    pub(crate) device: Option<SharedDevice>,
    pub(crate) creator: ProcessId,
    pub(crate) details: Details,
}

/// The reason why bytes are no header of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    Foreign,
    Version(u32),
    Invalid,
}

/// Stands for no device.
const HOST: u32 = u32::MAX;

impl Header {
    pub(super) fn encode(&self) -> [u8; LEN] {
        let mut bytes = Vec::with_capacity(LEN);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.kind as u32).to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.words.to_le_bytes());
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(self.machine.to_le_bytes());
        bytes.extend(self.device.map_or([0; 16], |device| device.uuid));
        bytes.extend(self.device.map_or(HOST, |device| device.ordinal.into()).to_le_bytes());
        bytes.extend(self.creator.pid.to_le_bytes());
        bytes.extend(self.creator.started.to_le_bytes());
        bytes.extend(self.details.iter().flat_map(|detail| detail.to_le_bytes()));
        let mut all = [0; LEN];
        all.copy_from_slice(&bytes);
        all
    }

    pub(super) fn decode(bytes: &[u8; LEN]) -> Result<Self, HeaderError> {
        let mut rest = Reader(bytes);
        if rest.word() != Some(MAGIC) {
            return Err(HeaderError::Foreign);
        }
        match rest.half() {
            Some(VERSION) => Self::decode_facts(&mut rest).ok_or(HeaderError::Invalid),
            other => Err(HeaderError::Version(other.unwrap_or(0))),
        }
    }

    fn decode_facts(rest: &mut Reader<'_>) -> Option<Self> {
        let kind = SharedKind::from_number(rest.half()?)?;
        let size = rest.word().filter(|size| *size <= MOST_BYTES)?;
        let words = rest.word().filter(|words| *words <= MOST_WORDS)?;
        let id = u128::from_le_bytes(rest.take()?);
        let machine = u128::from_le_bytes(rest.take()?);
        let uuid = rest.take()?;
        let device = match rest.half()? {
            HOST => None,
            ordinal => Some(SharedDevice { ordinal: u16::try_from(ordinal).ok()?, uuid }),
        };
        let creator = ProcessId { pid: rest.half()?, started: rest.word()? };
        let mut details = Details::default();
        for detail in &mut details {
            *detail = rest.word()?;
        }
        Some(Self { kind, size, words, id, machine, device, creator, details })
    }
}

/// Reads numbers from bytes, one after another.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn half(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: Header = Header {
        kind: SharedKind::Pool,
        size: 1 << 40,
        words: 17,
        id: 3 << 100,
        machine: 5 << 90,
        device: Some(SharedDevice { ordinal: 3, uuid: [7; 16] }),
        creator: ProcessId { pid: 12, started: 1 << 40 },
        details: [1, 2, 3, 4, 5, 6, 7, u64::MAX],
    };

    #[test]
    fn a_header_survives_encoding() {
        for kind in SharedKind::ALL {
            for device in [None, HEADER.device] {
                let header = Header { kind, device, ..HEADER };
                assert_eq!(Header::decode(&header.encode()), Ok(header));
            }
        }
    }

    #[test]
    fn a_header_of_another_version_is_named() {
        let mut bytes = HEADER.encode();
        bytes[8] = 9;
        assert_eq!(Header::decode(&bytes), Err(HeaderError::Version(9)));
        bytes[0] ^= 1;
        assert_eq!(Header::decode(&bytes), Err(HeaderError::Foreign));
        let large = Header { size: MOST_BYTES + 1, ..HEADER };
        assert_eq!(Header::decode(&large.encode()), Err(HeaderError::Invalid));
        let wordy = Header { words: MOST_WORDS + 1, ..HEADER };
        assert_eq!(Header::decode(&wordy.encode()), Err(HeaderError::Invalid));
    }

    proptest! {
        #[test]
        fn altered_headers_are_refused_or_within_the_limits(at in 0..LEN, byte in any::<u8>()) {
            let mut bytes = HEADER.encode();
            bytes[at] = byte;
            if let Ok(header) = Header::decode(&bytes) {
                prop_assert!(header.size <= MOST_BYTES && header.words <= MOST_WORDS);
                prop_assert_eq!(header.encode(), bytes);
            }
        }
    }
}
