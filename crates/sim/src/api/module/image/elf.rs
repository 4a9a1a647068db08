//! Cubins: ELF files in which compilers may have left the PTX they were made from.

use super::Refusal;

/// Bytes of the first header.
pub(crate) const HEADER: usize = 64;
pub(super) const SECTION: usize = 64;
/// The machine number of NVIDIA's devices.
const CUDA: u16 = 190;
/// A section without bytes in the file.
const NO_BITS: u32 = 8;
/// A section whose bytes are compressed.
const COMPRESSED: u64 = 1 << 11;
/// Sections with this name, or with something behind it, are PTX: lines with a zero byte behind each.
pub(super) const PTX: &[u8] = b".nv_debug_ptx_txt";
/// Sections of host objects that have fatbins in them: one behind another.
const FATBINS: [&[u8]; 2] = [b"__nv_relfatbin\0", b".nv_fatbin\0"];

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    word(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    word(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    word(bytes, at).map(u64::from_le_bytes)
}

/// The list of sections: where it starts and how many there are.
struct Table {
    start: usize,
    count: usize,
}

impl Table {
    /// That of a cubin.
    fn read(bytes: &[u8]) -> Option<Table> {
        Table::of_any(bytes).filter(|_| u16_at(bytes, 18) == Some(CUDA))
    }

    /// That of any machine's file.
    fn of_any(bytes: &[u8]) -> Option<Table> {
        let (start, size, count) = (u64_at(bytes, 40)?, u16_at(bytes, 58)?, u16_at(bytes, 60)?);
        let is_wide = bytes.get(4..6)? == [2, 1] && usize::from(size) == SECTION;
        is_wide.then_some(Table { start: usize::try_from(start).ok()?, count: count.into() })
    }

    fn end(&self) -> Option<usize> {
        self.start.checked_add(self.count * SECTION)
    }
}

/// One row of that list.
struct Section {
    name: usize,
    is_empty: bool,
    is_compressed: bool,
    start: usize,
    length: usize,
}

impl Section {
    fn read(bytes: &[u8], table: &Table, index: usize) -> Option<Section> {
        let at = table.start.checked_add(index * SECTION)?;
        Some(Section {
            name: u32_at(bytes, at)? as usize,
            is_empty: u32_at(bytes, at.checked_add(4)?)? == NO_BITS,
            is_compressed: u64_at(bytes, at.checked_add(8)?)? & COMPRESSED != 0,
            start: usize::try_from(u64_at(bytes, at.checked_add(24)?)?).ok()?,
            length: usize::try_from(u64_at(bytes, at.checked_add(32)?)?).ok()?,
        })
    }

    fn end(&self) -> Option<usize> {
        if self.is_empty { Some(0) } else { self.start.checked_add(self.length) }
    }
}

fn damaged() -> Refusal {
    Refusal::image("the ELF file is damaged, or not a cubin of 64 bits")
}

/// How many bytes hold the lists of a file, given its header.
pub(super) fn tables(header: &[u8]) -> Result<usize, Refusal> {
    Table::read(header).and_then(|table| table.end()).map(|end| end.max(HEADER)).ok_or_else(damaged)
}

/// How many bytes a file has, given those that hold its lists.
pub(super) fn length(bytes: &[u8]) -> Result<usize, Refusal> {
    let longest = || {
        let table = Table::read(bytes)?;
        let ends = (0..table.count).map(|index| Section::read(bytes, &table, index)?.end());
        ends.chain([table.end(), Some(HEADER)]).try_fold(0, |longest: usize, end| Some(longest.max(end?)))
    };
    longest().ok_or_else(damaged)
}

/// Whether bytes begin as a file of any machine does.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(super::ELF)
}

/// Whether a cubin is code that is still to be linked.
pub(crate) fn is_relocatable(bytes: &[u8]) -> Result<bool, Refusal> {
    if !bytes.starts_with(super::ELF) {
        return Err(Refusal::image("it is no cubin"));
    }
    Table::read(bytes).and_then(|_| u16_at(bytes, 16)).map(|kind| kind == 1).ok_or_else(damaged)
}

/// The architecture that a cubin is for.
pub(super) fn architecture(bytes: &[u8]) -> Option<u32> {
    let flags = u32_at(bytes, 48)?;
    // Newer files have it one byte further up.
    Some(if bytes.get(7) == Some(&0x41) { flags >> 8 & 0xff } else { flags & 0xff })
}

/// All fatbins that a host compiler has put into an object.
pub(crate) fn fatbins(bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let Some(table) = Table::of_any(bytes).filter(|_| bytes.starts_with(super::ELF)) else { return all };
    let names = u16_at(bytes, 62).and_then(|index| Section::read(bytes, &table, index.into()));
    let names = names.and_then(|names| bytes.get(names.start..)).unwrap_or_default();
    for section in (0..table.count).filter_map(|index| Section::read(bytes, &table, index)) {
        let name = names.get(section.name..).unwrap_or_default();
        if section.is_empty || !FATBINS.iter().any(|fatbin| name.starts_with(fatbin)) {
            continue;
        }
        let content = section.end().and_then(|end| bytes.get(section.start..end));
        let mut rest = content.unwrap_or_default();
        while let Some(start) = rest.windows(4).step_by(8).position(|magic| magic == super::fatbin::MAGIC) {
            rest = &rest[start * 8..];
            let whole = super::fatbin::length(rest).ok().and_then(|length| rest.split_at_checked(length));
            let Some((fatbin, behind)) = whole else { break };
            all.push(fatbin);
            // The next one is at a multiple of eight bytes.
            rest = behind.get(fatbin.len().next_multiple_of(8) - fatbin.len()..).unwrap_or_default();
        }
    }
    all
}

/// Every PTX that a cubin has.
pub(super) fn texts(bytes: &[u8]) -> Result<Vec<String>, Refusal> {
    let mut texts = Vec::new();
    let table = Table::read(bytes).ok_or_else(damaged)?;
    let names = u16_at(bytes, 62).and_then(|index| Section::read(bytes, &table, index.into())).ok_or_else(damaged)?;
    for index in 0..table.count {
        let section = Section::read(bytes, &table, index).ok_or_else(damaged)?;
        let name = names.start.checked_add(section.name).and_then(|start| bytes.get(start..)).unwrap_or_default();
        if section.is_empty || !name.starts_with(PTX) {
            continue;
        }
        if section.is_compressed {
            return Err(Refusal::image("its PTX is compressed"));
        }
        let content = section.end().and_then(|end| bytes.get(section.start..end)).ok_or_else(damaged)?;
        let lines = String::from_utf8_lossy(content).replace('\0', "\n");
        if lines.contains(".version") {
            texts.push(lines);
        }
    }
    Ok(texts)
}
