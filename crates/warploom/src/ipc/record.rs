//! Records: descriptors as bytes, with a format number, an origin and a checksum.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `WLip` |
//! | 2 | format, little endian |
//! | 1 | kind of record |
//! | 1 | kind of memory |
//! | 16 | machine: its boot identifier |
//! | 16 | process: a random number that it drew |
//! | … | body, as long as the kind says |
//! | 8 | checksum of everything before, little endian |
//!
//! The checksum finds accidents. It is no signature: a process that writes what it likes can compute it, too.

use super::IpcError;
use super::error::SharedMemory;
use super::origin::Origin;

const MAGIC: [u8; 4] = *b"WLip";
const FORMAT: u16 = 1;
/// The bytes before the body.
const HEAD: usize = 40;
/// The bytes after it.
const CHECKSUM: usize = 8;

/// The kind of a record.
#[derive(Clone, Copy)]
pub(super) struct RecordKind {
    number: u8,
    /// Its name in errors.
    pub(super) what: &'static str,
    body: usize,
}

pub(super) const POOL: RecordKind = RecordKind { number: 1, what: "pool handle", body: 32 };
pub(super) const BUFFER: RecordKind = RecordKind { number: 2, what: "buffer descriptor", body: 88 };
pub(super) const EVENT: RecordKind = RecordKind { number: 3, what: "event descriptor", body: 64 };
pub(super) const MEMORY: RecordKind = RecordKind { number: 4, what: "memory handle", body: 32 };

impl RecordKind {
    /// The bytes of a whole record.
    pub(super) const fn len(self) -> usize {
        HEAD + self.body + CHECKSUM
    }

    /// A record with a body, which has the length that its kind says.
    pub(super) fn write<const N: usize>(self, origin: Origin, memory: SharedMemory, body: &[&[u8]]) -> [u8; N] {
        let (mut record, mut at) = ([0; N], 0);
        let memory = match memory {
            SharedMemory::Device => 1,
            SharedMemory::Pinned => 2,
        };
        let head: [&[u8]; 5] =
            [&MAGIC, &FORMAT.to_le_bytes(), &[self.number, memory], &origin.machine, &origin.process];
        for part in head.iter().chain(body) {
            record[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let (content, sum) = record.split_at_mut(at);
        sum.copy_from_slice(&checksum(content).to_le_bytes());
        record
    }

    /// The parts of a record: where it is from, its kind of memory, and its body.
    pub(super) fn read(self, record: &[u8]) -> Result<(Origin, SharedMemory, Body<'_>), IpcError> {
        let RecordKind { number, what, .. } = self;
        let expected = self.len();
        let wrong = IpcError::Length { what, found: record.len(), expected };
        let mut head = Body(record);
        // A record of another format may have another length.
        let begins = |magic: [u8; 4]| if magic == MAGIC { Ok(()) } else { Err(IpcError::NotADescriptor { what }) };
        begins(head.take().ok_or(wrong.clone())?)?;
        let found = u16::from_le_bytes(head.take().ok_or(wrong.clone())?);
        if found != FORMAT {
            return Err(IpcError::Version { what, found, known: FORMAT });
        }
        let [kind, memory] = head.take().ok_or(wrong.clone())?;
        if kind != number {
            return Err(IpcError::NotADescriptor { what });
        }
        let (content, sum) = record.split_last_chunk::<CHECKSUM>().ok_or(wrong.clone())?;
        if record.len() != expected {
            return Err(wrong);
        }
        if u64::from_le_bytes(*sum) != checksum(content) {
            return Err(IpcError::Altered { what });
        }
        let memory = match memory {
            1 => SharedMemory::Device,
            2 => SharedMemory::Pinned,
            _ => return Err(IpcError::NotADescriptor { what }),
        };
        let origin = Origin { machine: head.take().ok_or(wrong.clone())?, process: head.take().ok_or(wrong)? };
        Ok((origin, memory, Body(&head.0[..self.body])))
    }
}

/// The rest of a record, from which its fields are taken one after the other.
#[derive(Debug)]
pub(super) struct Body<'a>(&'a [u8]);

impl Body<'_> {
    /// The next bytes, unless there are too few.
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }
}

/// FNV-1a with 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record with other bytes at a place, and the checksum that belongs to them.
    pub(in crate::ipc) fn forged<const N: usize>(mut record: [u8; N], at: usize, bytes: &[u8]) -> [u8; N] {
        record[at..at + bytes.len()].copy_from_slice(bytes);
        let sum = checksum(&record[..N - CHECKSUM]).to_le_bytes();
        record[N - CHECKSUM..].copy_from_slice(&sum);
        record
    }

    fn event() -> [u8; EVENT.len()] {
        EVENT.write(Origin { machine: [3; 16], process: [4; 16] }, SharedMemory::Device, &[&[7; 64]])
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = event();
        let (origin, memory, mut body) = EVENT.read(&record).unwrap();
        assert_eq!((origin.machine, origin.process, memory), ([3; 16], [4; 16], SharedMemory::Device));
        assert_eq!((body.take::<64>(), body.take::<1>()), (Some([7; 64]), None));
    }

    #[test]
    fn every_single_altered_byte_is_refused() {
        for at in 0..EVENT.len() {
            for bit in 0..8 {
                let mut record = event();
                record[at] ^= 1 << bit;
                assert!(EVENT.read(&record).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_truncated_or_extended_record_is_refused() {
        let record = event();
        for end in 0..record.len() {
            let error = EVENT.read(&record[..end]).unwrap_err();
            assert_eq!(error, IpcError::Length { what: "event descriptor", found: end, expected: record.len() });
        }
        let longer = [&record[..], &[0]].concat();
        assert!(matches!(EVENT.read(&longer), Err(IpcError::Length { found: 113, expected: 112, .. })));
    }

    #[test]
    fn a_record_of_another_kind_format_or_memory_is_refused_by_name() {
        let record = event();
        assert_eq!(BUFFER.read(&record).err(), Some(IpcError::NotADescriptor { what: "buffer descriptor" }));
        let what = "event descriptor";
        let newer = EVENT.read(&forged(record, 4, &[2, 0])).err();
        assert_eq!(newer, Some(IpcError::Version { what, found: 2, known: 1 }));
        assert_eq!(EVENT.read(&forged(record, 7, &[9])).err(), Some(IpcError::NotADescriptor { what }));
        assert_eq!(EVENT.read(&forged(record, 0, b"ELF!")).err(), Some(IpcError::NotADescriptor { what }));
    }
}
