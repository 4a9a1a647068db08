//! Cubins from the simulator's linker: ELF files with PTX and no machine code.

use super::elf::{HEADER, PTX, SECTION};

const NAMES: &[u8] = b"\0.shstrtab\0.nv_debug_ptx_txt\0";

/// A number in ELF's byte order.
fn put<const N: usize>(file: &mut Vec<u8>, bytes: [u8; N]) {
    file.extend_from_slice(&bytes);
}

/// One section header.
fn section(file: &mut Vec<u8>, name: u32, kind: u32, start: usize, length: usize) {
    put(file, name.to_le_bytes());
    put(file, kind.to_le_bytes());
    put(file, [0; 16]);
    put(file, (start as u64).to_le_bytes());
    put(file, (length as u64).to_le_bytes());
    put(file, [0; 8]);
    put(file, 1_u64.to_le_bytes());
    put(file, [0; 8]);
}

/// The cubin for PTX and an architecture.
pub(crate) fn write(text: &str, architecture: u32) -> Vec<u8> {
    debug_assert!(NAMES.windows(PTX.len()).any(|name| name == PTX));
    let names = HEADER + text.len() + 1;
    let sections = (names + NAMES.len()).next_multiple_of(8);
    let mut file = Vec::with_capacity(sections + 3 * SECTION);
    put(&mut file, *b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0");
    put(&mut file, 2_u16.to_le_bytes());
    put(&mut file, 190_u16.to_le_bytes());
    put(&mut file, 1_u32.to_le_bytes());
    put(&mut file, [0; 16]);
    put(&mut file, (sections as u64).to_le_bytes());
    put(&mut file, (0x0600_0004 | architecture << 8).to_le_bytes());
    for number in [HEADER, 0, 0, SECTION, 3, 1] {
        put(&mut file, (number as u16).to_le_bytes());
    }
    file.extend_from_slice(text.as_bytes());
    file.push(0);
    file.extend_from_slice(NAMES);
    file.resize(sections, 0);
    section(&mut file, 0, 0, 0, 0);
    section(&mut file, 1, 3, names, NAMES.len());
    section(&mut file, 11, 1, HEADER, text.len() + 1);
    file
}
