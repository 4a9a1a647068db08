//! Code images before they are loaded: PTX, cubin and fatbin.
//!
//! A driver is given an address and no length: text ends at a 0, and a binary says itself how long it is. So
//! a text gets its 0 here, and a binary that is shorter than it says is refused. The driver tells the two
//! apart by the first bytes alone, so that a text which begins like a binary is refused, too: the driver
//! would follow the offsets in it.

use std::borrow::Cow;

use crate::{LibraryError, Result};

const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

/// The number of bytes that a driver may read of any image, before it knows the format. An H200's driver
/// reads the first 8 bytes, and so past the end of a shorter text; the header of ELF, the longest, has 64.
pub(crate) const HEADER: usize = 64;

/// Code in memory that the driver can load.
#[derive(Debug)]
pub(super) enum Image<'a> {
    /// PTX with its terminator, and with zeros after it up to the size of a header.
    Text(Cow<'a, [u8]>),
    /// A cubin or a fatbin, whole.
    Binary(&'a [u8]),
}

impl<'a> Image<'a> {
    pub(super) fn text(ptx: &'a [u8]) -> Result<Image<'a>> {
        refuse_binary(ptx)?;
        let text = ptx.strip_suffix(&[0]).unwrap_or(ptx);
        refuse_zero(text)?;
        if text.len() < ptx.len() && ptx.len() >= HEADER {
            return Ok(Image::Text(Cow::Borrowed(ptx)));
        }
        let len = HEADER.max(text.len() + 1);
        let mut padded = Vec::with_capacity(len);
        padded.extend_from_slice(text);
        padded.resize(len, 0);
        Ok(Image::Text(Cow::Owned(padded)))
    }

    pub(super) fn any(bytes: &'a [u8]) -> Result<Image<'a>> {
        let needed = match bytes.first_chunk() {
            Some(&FATBIN) => fatbin_len(bytes),
            Some(&ELF) => elf_len(bytes),
            _ => return Image::text(bytes),
        };
        match needed {
            Some(needed) if needed <= bytes.len() as u64 => Ok(Image::Binary(bytes)),
            _ => Err(LibraryError::Truncated { have: bytes.len(), needed }.into()),
        }
    }

    pub(super) fn as_ptr(&self) -> *const std::ffi::c_void {
        match self {
            Image::Text(text) => text.as_ptr().cast(),
            Image::Binary(bytes) => bytes.as_ptr().cast(),
        }
    }
}

/// Refuses a text that a driver would take for a binary.
fn refuse_binary(text: &[u8]) -> Result<()> {
    match text.first_chunk() {
        Some(&ELF) => Err(LibraryError::BinaryText { format: "an ELF file" }.into()),
        Some(&FATBIN) => Err(LibraryError::BinaryText { format: "a fatbin" }.into()),
        _ => Ok(()),
    }
}

/// Refuses PTX that a driver would take for a binary, and PTX with a zero in it, where C strings end.
#[cfg(feature = "nvrtc")]
pub(crate) fn check_text(ptx: &[u8]) -> Result<()> {
    refuse_binary(ptx)?;
    refuse_zero(ptx)
}

fn refuse_zero(text: &[u8]) -> Result<()> {
    match text.iter().position(|byte| *byte == 0) {
        Some(position) => Err(LibraryError::NulInText { position }.into()),
        None => Ok(()),
    }
}

/// A little-endian number.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(number))
}

/// The size of a fatbin by its header: the header itself, and the payload.
fn fatbin_len(bytes: &[u8]) -> Option<u64> {
    number::<2>(bytes, 6)?.checked_add(number::<8>(bytes, 8)?)
}

/// The least size of an ELF file: the ends of its tables of sections and segments.
fn elf_len(bytes: &[u8]) -> Option<u64> {
    let end = |start: u64, size: u64, count: u64| start.checked_add(size.checked_mul(count)?);
    let segments = end(number::<8>(bytes, 32)?, number::<2>(bytes, 54)?, number::<2>(bytes, 56)?)?;
    let sections = end(number::<8>(bytes, 40)?, number::<2>(bytes, 58)?, number::<2>(bytes, 60)?)?;
    Some(segments.max(sections).max(64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// A fatbin that says it has so many bytes after its header.
    fn fatbin(rest: u64, len: usize) -> Vec<u8> {
        let mut bytes = [&FATBIN[..], &1_u16.to_le_bytes(), &16_u16.to_le_bytes(), &rest.to_le_bytes()].concat();
        bytes.resize(len, 0);
        bytes
    }

    fn elf(sections: u64, count: u16, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&ELF);
        bytes[40..48].copy_from_slice(&sections.to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&count.to_le_bytes());
        bytes.resize(len, 0);
        bytes
    }

    #[test]
    fn a_binary_that_is_shorter_than_it_says_is_refused() {
        let refused = |bytes: &[u8]| match Image::any(bytes) {
            Err(Error::Library(LibraryError::Truncated { have, needed })) => (have, needed),
            other => panic!("{other:?}"),
        };
        assert!(matches!(Image::any(&fatbin(84, 100)), Ok(Image::Binary(_))));
        assert_eq!(refused(&fatbin(85, 100)), (100, Some(101)));
        assert_eq!(refused(&fatbin(u64::MAX, 100)), (100, None));
        assert_eq!(refused(&FATBIN), (4, None));
        assert!(matches!(Image::any(&elf(64, 2, 192)), Ok(Image::Binary(_))));
        assert_eq!(refused(&elf(64, 3, 192)), (192, Some(256)));
        assert_eq!(refused(&elf(u64::MAX, 1, 192)), (192, None));
        assert_eq!(refused(&ELF), (4, None));
    }

    /// A driver follows the offsets of a text that begins like a binary, past the end of it.
    #[test]
    fn a_text_that_begins_like_a_binary_is_refused() {
        for text in ["\x7fELF", "\x7fELF is what it begins with"] {
            let refused = Image::text(text.as_bytes()).map(drop).unwrap_err();
            assert_eq!(refused, Error::Library(LibraryError::BinaryText { format: "an ELF file" }));
        }
        let refused = Image::text(&fatbin(1, 17)).map(drop).unwrap_err();
        assert_eq!(refused, Error::Library(LibraryError::BinaryText { format: "a fatbin" }));
        assert!(Image::text(b"\x7fEL").is_ok());
    }

    /// A driver reads the header of every format, also where the text is shorter.
    #[test]
    fn a_text_is_followed_by_zeros_up_to_the_size_of_a_header() {
        for len in [0, 1, 7, HEADER - 2, HEADER - 1, HEADER, HEADER + 1] {
            for zeros in [0, 1] {
                let text = [vec![b'x'; len], vec![0; zeros]].concat();
                let Ok(Image::Text(read)) = Image::text(&text) else { panic!("is a text") };
                assert_eq!(read.len(), HEADER.max(len + 1), "{len}");
                assert!(read[..len].iter().all(|byte| *byte == b'x') && read[len..].iter().all(|byte| *byte == 0));
                assert_eq!(matches!(read, Cow::Borrowed(_)), zeros == 1 && len + 1 >= HEADER);
            }
        }
    }

    #[test]
    fn a_text_ends_where_it_ends() {
        for text in ["// PTX", "// PTX\0"] {
            let Ok(Image::Text(read)) = Image::any(text.as_bytes()) else { panic!("is a text") };
            assert!(read.starts_with(b"// PTX\0"));
        }
        assert!(matches!(Image::any(b"a\0b"), Err(Error::Library(LibraryError::NulInText { position: 1 }))));
    }
}
