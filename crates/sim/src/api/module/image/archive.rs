//! Archives of host objects, as `ar` writes them.
//!
//! ```text
//!   "!<arch>\n", then for each member: 60 bytes of text (its size from byte 48 on, in decimal) │ content │ a byte if odd
//! ```

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;
const SIZE: std::ops::Range<usize> = 48..58;

/// The contents of all members; those behind a damaged one are not found.
pub(crate) fn members(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes.strip_prefix(MAGIC).unwrap_or_default();
    let mut members = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(HEADER) {
        let size = std::str::from_utf8(&header[SIZE]).ok().and_then(|size| size.trim().parse::<usize>().ok());
        let Some((member, behind)) = size.and_then(|size| behind.split_at_checked(size)) else { break };
        members.push(member);
        rest = behind.get(member.len() % 2..).unwrap_or_default();
    }
    members
}
