//! Fatbins: PTX and cubins for several architectures in one piece.
//!
//! ```text
//!   header: magic, version, its length, length of all entries
//!   entry…: kind, header length, payload length, architecture, flags, unpacked length │ payload
//! ```
//!
//! Host compilers embed a wrapper with a pointer to this. The CUDA runtime unwraps it; the driver refuses
//! wrappers.

use std::borrow::Cow;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::Refusal;

pub(crate) const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
/// The magic number of a wrapper.
pub(crate) const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
/// Length of the first header, in bytes.
pub(crate) const HEADER: usize = 16;

const PTX: u16 = 1;
const CUBIN: u16 = 2;
const LTO: u16 = 8;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Maximum length of unpacked PTX; a larger claim is refused.
const LONGEST: usize = 1 << 30;

/// One entry.
pub(crate) enum Entry<'i> {
    Ptx(Cow<'i, [u8]>),
    Cubin {
        bytes: Cow<'i, [u8]>,
        architecture: u32,
    },
    /// LTO-IR, packed in a way that NVIDIA's linkers know.
    Lto,
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let mut word = [0; 8];
    word[..length].copy_from_slice(bytes.get(at..at.checked_add(length)?)?);
    Some(u64::from_le_bytes(word))
}

fn size(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    number(bytes, at, length).and_then(|size| usize::try_from(size).ok())
}

fn damaged() -> Refusal {
    Refusal::image("the fatbin is damaged or cut short")
}

/// Length of a fatbin in bytes, from its header.
pub(crate) fn length(header: &[u8]) -> Result<usize, Refusal> {
    let (own, entries) = (size(header, 6, 2), size(header, 8, 8));
    let length = own.zip(entries).and_then(|(own, entries)| own.checked_add(entries));
    length.filter(|length| *length >= HEADER).ok_or_else(damaged)
}

/// The entries of a fatbin, with the reasons for unreadable ones.
pub(crate) fn entries(bytes: &[u8]) -> Result<Vec<Result<Entry<'_>, String>>, Refusal> {
    let end = length(bytes)?;
    let mut rest = size(bytes, 6, 2).and_then(|own| bytes.get(own..end)).ok_or_else(damaged)?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (header, payload) = (size(rest, 4, 4), size(rest, 8, 8));
        let (header, payload) = header.zip(payload).ok_or_else(damaged)?;
        let end = header.checked_add(payload).filter(|end| header > 0 && *end <= rest.len()).ok_or_else(damaged)?;
        entries.push(entry(&rest[..header], &rest[header..end]));
        rest = &rest[end..];
    }
    Ok(entries)
}

/// The contents of an LZ4 block of `expected` bytes, if it is valid.
fn unpack_lz4(packed: &[u8], expected: usize) -> Option<Vec<u8>> {
    // A byte of a block expands to at most 255, so a larger claim is refused before any allocation.
    if expected > packed.len().saturating_mul(255) {
        return None;
    }
    let mut unpacked = vec![0; expected];
    let length = lz4_flex::block::decompress_into(packed, &mut unpacked).ok()?;
    (length == expected).then_some(unpacked)
}

/// The contents of a zstd frame of `expected` bytes, if it is valid.
fn unpack_zstd(packed: &[u8], expected: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let decoder = StreamingDecoder::new(packed).ok()?;
    decoder.take(expected as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() == expected).then_some(unpacked)
}

fn entry<'i>(header: &'i [u8], payload: &'i [u8]) -> Result<Entry<'i>, String> {
    let field = |at, length| number(header, at, length).ok_or("an entry's header is cut short");
    let (kind, architecture, flags) = (field(0, 2)? as u16, field(28, 4)? as u32, field(40, 8)?);
    if kind == LTO {
        return Ok(Entry::Lto);
    }
    let bytes = if flags & (LZ4 | ZSTD) != 0 {
        let packed = field(16, 4)? as usize;
        let unpacked = usize::try_from(field(56, 8)?).unwrap_or(usize::MAX);
        let packed = payload.get(..packed).filter(|_| unpacked <= LONGEST).ok_or("an entry's lengths do not fit")?;
        let bytes = if flags & LZ4 != 0 { unpack_lz4(packed, unpacked) } else { unpack_zstd(packed, unpacked) };
        Cow::Owned(bytes.ok_or("an entry's compressed bytes are damaged")?)
    } else {
        Cow::Borrowed(payload)
    };
    match kind {
        PTX => Ok(Entry::Ptx(bytes)),
        CUBIN => Ok(Entry::Cubin { bytes, architecture }),
        other => Err(format!("the entry for sm_{architecture} is of kind {other}, which is neither PTX nor a cubin")),
    }
}

#[cfg(test)]
mod tests {
    use super::unpack_lz4;

    #[test]
    fn literals_and_overlapping_copies_are_unpacked() {
        assert_eq!(unpack_lz4(&[0x30, b'a', b'b', b'c'], 3).as_deref(), Some(&b"abc"[..]));
        // One literal, repeated 4 + 15 + 1 times from one byte back, and a last literal.
        let packed = [0x1f, b'x', 1, 0, 1, 0x10, b'y'];
        assert_eq!(unpack_lz4(&packed, 22), Some([vec![b'x'; 21], vec![b'y']].concat()));
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for packed in [&[0x30, b'a'][..], &[0x10, b'a', 0, 0], &[0x10, b'a', 2, 0], &[0xf0, 255], &[0x1f, b'x', 1, 0]] {
            assert_eq!(unpack_lz4(packed, 100), None, "{packed:?}");
        }
        assert_eq!(unpack_lz4(&[0x30, b'a', b'b', b'c'], 4), None);
        assert_eq!(unpack_lz4(&[0x30, b'a', b'b', b'c'], 2), None);
    }

    /// An allocation of the claimed length would abort the process.
    #[test]
    fn a_length_beyond_the_most_that_a_block_can_have_is_refused() {
        assert_eq!(unpack_lz4(&[0x30, b'a', b'b', b'c'], isize::MAX as usize), None);
    }
}
