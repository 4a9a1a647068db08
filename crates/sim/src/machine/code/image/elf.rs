//! Cubins and host objects: ELF files with PTX or fatbins in their sections.

use object::LittleEndian;
use object::elf::{EM_CUDA, ET_REL, FileHeader64, OsAbi, SHF_COMPRESSED, SHT_NOBITS, SectionHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _};

use super::Refusal;

type Header = FileHeader64<LittleEndian>;
type Section = SectionHeader64<LittleEndian>;

/// Bytes of the file header.
pub(crate) const HEADER: usize = size_of::<Header>();
/// Bytes of one section header.
pub(crate) const SECTION: usize = size_of::<Section>();
/// The ABI version of files with the architecture in the second byte of their flags.
const NEWER_ABI: OsAbi = OsAbi(0x41);
/// Prefix of the names of PTX sections: lines, each followed by a zero byte.
pub(crate) const PTX: &[u8] = b".nv_debug_ptx_txt";
/// Sections of host objects that hold fatbins, one after another.
const FATBINS: [&[u8]; 2] = [b"__nv_relfatbin", b".nv_fatbin"];

/// The ELF header of any machine.
fn header(bytes: &[u8]) -> Option<&Header> {
    let header = Header::parse(bytes).ok()?;
    (header.is_little_endian() && usize::from(header.e_shentsize.get(LittleEndian)) == SECTION).then_some(header)
}

/// The header of a cubin.
fn cubin(bytes: &[u8]) -> Result<&Header, Refusal> {
    header(bytes).filter(|header| header.e_machine(LittleEndian) == EM_CUDA).ok_or_else(damaged)
}

/// The end of the section headers.
fn tables_end(header: &Header) -> Option<usize> {
    let start = usize::try_from(header.e_shoff.get(LittleEndian)).ok()?;
    start.checked_add(usize::from(header.e_shnum.get(LittleEndian)) * SECTION)
}

fn damaged() -> Refusal {
    Refusal::image("the ELF file is damaged, or not a cubin of 64 bits")
}

/// Length of a file up to the end of its section headers, from its file header.
pub(crate) fn tables(header: &[u8]) -> Result<usize, Refusal> {
    tables_end(cubin(header)?).map(|end| end.max(HEADER)).ok_or_else(damaged)
}

/// Length of a file, from its headers.
pub(crate) fn length(bytes: &[u8]) -> Result<usize, Refusal> {
    let header = cubin(bytes)?;
    let sections = header.section_headers(LittleEndian, bytes).map_err(|_| damaged())?;
    let ends = sections.iter().map(|section| match section.file_range(LittleEndian) {
        Some((start, length)) => usize::try_from(start.checked_add(length)?).ok(),
        None => Some(0),
    });
    let longest = ends.chain([tables_end(header)]).try_fold(HEADER, |longest, end| Some(longest.max(end?)));
    longest.ok_or_else(damaged)
}

/// `true` if the bytes begin with an ELF header of any machine.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(super::ELF)
}

/// `true` if a cubin is relocatable.
pub(crate) fn is_relocatable(bytes: &[u8]) -> Result<bool, Refusal> {
    if !is_elf(bytes) {
        return Err(Refusal::image("it is no cubin"));
    }
    Ok(cubin(bytes)?.e_type(LittleEndian) == ET_REL)
}

/// The architecture of a cubin.
pub(crate) fn architecture(bytes: &[u8]) -> Option<u32> {
    let header = header(bytes)?;
    let flags = header.e_flags(LittleEndian).0;
    // Newer files have it one byte higher.
    Some(if header.e_ident.os_abi == NEWER_ABI { flags >> 8 & 0xff } else { flags & 0xff })
}

/// All fatbins in a host object.
pub(crate) fn fatbins(bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let sections = header(bytes).and_then(|header| header.sections(LittleEndian, bytes).ok()).unwrap_or_default();
    for section in sections.iter() {
        let name = sections.section_name(LittleEndian, section).unwrap_or_default();
        if !FATBINS.contains(&name) {
            continue;
        }
        let mut rest = section.data(LittleEndian, bytes).unwrap_or_default();
        while let Some(start) = rest.windows(4).step_by(8).position(|magic| magic == super::fatbin::MAGIC) {
            rest = &rest[start * 8..];
            let whole = super::fatbin::length(rest).ok().and_then(|length| rest.split_at_checked(length));
            let Some((fatbin, behind)) = whole else { break };
            all.push(fatbin);
            // Fatbins are aligned to eight bytes.
            rest = behind.get(fatbin.len().next_multiple_of(8) - fatbin.len()..).unwrap_or_default();
        }
    }
    all
}

/// All PTX in a cubin.
pub(crate) fn texts(bytes: &[u8]) -> Result<Vec<String>, Refusal> {
    let mut texts = Vec::new();
    let sections = cubin(bytes)?.sections(LittleEndian, bytes).map_err(|_| damaged())?;
    for section in sections.iter() {
        let name = sections.section_name(LittleEndian, section).unwrap_or_default();
        if !name.starts_with(PTX) || section.sh_type(LittleEndian) == SHT_NOBITS {
            continue;
        }
        if section.sh_flags(LittleEndian).contains(SHF_COMPRESSED) {
            return Err(Refusal::image("its PTX is compressed"));
        }
        let content = section.data(LittleEndian, bytes).map_err(|_| damaged())?;
        let lines = String::from_utf8_lossy(content).replace('\0', "\n");
        if lines.contains(".version") {
            texts.push(lines);
        }
    }
    Ok(texts)
}
