//! Archives of host objects, as `ar` writes them.

use object::read::archive::{ArchiveFile, ArchiveMember};

/// A member of an archive.
pub(crate) struct Member<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) bytes: &'a [u8],
}

/// All members up to the first damaged one.
pub(crate) fn members(bytes: &[u8]) -> Vec<Member<'_>> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return Vec::new() };
    archive.members().map_while(|found| member(found.ok()?, bytes)).collect()
}

fn member<'a>(member: ArchiveMember<'a>, bytes: &'a [u8]) -> Option<Member<'a>> {
    Some(Member { name: member.name(), bytes: member.data(bytes).ok()? })
}

#[cfg(test)]
mod tests {
    fn members(bytes: &[u8]) -> Vec<&[u8]> {
        super::members(bytes).into_iter().map(|member| member.bytes).collect()
    }

    fn member(name: &str, size: &str, content: &[u8]) -> Vec<u8> {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        [header.as_bytes(), content, if content.len() % 2 == 1 { b"\n" } else { b"" }].concat()
    }

    #[test]
    fn members_are_found_at_odd_lengths_and_under_long_names() {
        let archive = [
            b"!<arch>\n".to_vec(),
            member("/", "4", &[0; 4]),
            member("//", "20", b"a_very_long_name.o/\n"),
            member("a.o/", "3", b"one"),
            member("/0", "4", b"four"),
        ];
        assert_eq!(members(&archive.concat()), [&b"one"[..], b"four"]);
    }

    #[test]
    fn members_behind_a_damaged_one_are_not_found() {
        for size in ["x", "1000", "-1", "99999999999"] {
            let archive = [
                b"!<arch>\n".to_vec(),
                member("a.o/", "4", b"good"),
                member("b.o/", size, b"lost"),
                member("c.o/", "4", b"gone"),
            ];
            assert_eq!(members(&archive.concat()), [b"good"], "{size}");
        }
        assert!(members(b"!<arch").is_empty());
        assert!(members(b"!<thin>\n").is_empty());
    }
}
