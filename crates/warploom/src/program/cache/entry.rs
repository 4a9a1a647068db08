//! Cache entries: code and log, with a digest.
#![expect(unsafe_code, reason = "bytes of a store are trusted by a promise of the cache that read them")]

use std::fmt;
use std::sync::Arc;

use super::CacheKey;
use super::sha256::Sha256;
use crate::program::{CodeKind, ObjectCode};

const KINDS: &[CodeKind] =
    &[CodeKind::Ptx, CodeKind::Cubin, CodeKind::LtoIr, CodeKind::Fatbin, CodeKind::Object, CodeKind::Library];

/// An entry of a cache: code and log, with the key that they were made for and a digest of it all. A clone
/// shares the bytes.
///
/// Code in an entry is loaded and linked without further checks, so that an entry carries its origin: the
/// functions that compile through a cache make it, and a cache gives back the entry that it was given. A
/// cache that stores bytes elsewhere makes an entry of them by [`from_bytes`](CacheEntry::from_bytes), which
/// is `unsafe`.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheEntry {
    bytes: Arc<[u8]>,
}

impl CacheEntry {
    /// The entry that was stored as these bytes.
    ///
    /// # Safety
    ///
    /// The bytes come from [`CacheEntry::as_bytes`], by way of a store that only programs write to which may
    /// choose the code that this process runs. Bytes that were damaged meanwhile, or that belong to another
    /// key, do no harm: the digest and the key in them are compared before use. The digest tells damage, and
    /// not who has written the bytes.
    #[must_use]
    pub unsafe fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> CacheEntry {
        CacheEntry { bytes: bytes.into() }
    }

    /// The bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for CacheEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CacheEntry").field("bytes", &self.bytes.len()).finish()
    }
}

/// The number that stands for a kind.
fn number(kind: CodeKind) -> u8 {
    match kind {
        CodeKind::Ptx => 1,
        CodeKind::Cubin => 2,
        CodeKind::LtoIr => 3,
        CodeKind::Fatbin => 4,
        CodeKind::Object => 5,
        CodeKind::Library => 6,
    }
}

/// The entry for a cache: a digest, the key, the kind, then texts and code, each behind its length.
pub(super) fn encode(key: &CacheKey, code: &ObjectCode, log: &str) -> CacheEntry {
    let mut body = key.as_bytes().to_vec();
    body.push(number(code.kind()));
    let mut part = |bytes: &[u8]| {
        body.extend((bytes.len() as u64).to_le_bytes());
        body.extend(bytes);
    };
    part(code.name().as_bytes());
    part(log.as_bytes());
    part(code.bytes());
    for (expression, name) in code.lowered_names() {
        part(expression.as_bytes());
        part(name.as_bytes());
    }
    CacheEntry { bytes: [&Sha256::of(&body)[..], &body].concat().into() }
}

/// The decoded entry; `None` if the bytes are damaged, or for another key.
pub(super) fn decode(key: &CacheKey, entry: &CacheEntry) -> Option<(ObjectCode, String)> {
    let (digest, body) = entry.bytes.split_first_chunk::<32>()?;
    if Sha256::of(body) != *digest {
        return None;
    }
    let body = body.strip_prefix(key.as_bytes())?;
    let (found, mut rest) = body.split_first()?;
    let kind = *KINDS.iter().find(|kind| number(**kind) == *found)?;
    let (name, log) = (text(&mut rest)?, text(&mut rest)?);
    // Compilers and linkers have made it: an entry comes from here, or by the promise of `from_bytes`.
    let code = ObjectCode::made(kind, &name, part(&mut rest)?);
    let mut names = Vec::new();
    while !rest.is_empty() {
        names.push((text(&mut rest)?, text(&mut rest)?));
    }
    Some((code.with_lowered_names(names), log))
}

fn part<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (len, behind) = rest.split_first_chunk::<8>()?;
    let (part, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    *rest = behind;
    Some(part)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    str::from_utf8(part(rest)?).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> ObjectCode {
        let names = [("scale<float>", "_Z5scale"), ("&g", "g")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        ObjectCode::made(CodeKind::Cubin, "scale.cu", [0, 1, 2, 255]).with_lowered_names(names)
    }

    /// An entry of these bytes, which are no code.
    fn stored(bytes: &[u8]) -> CacheEntry {
        CacheEntry { bytes: bytes.into() }
    }

    fn key(text: &str) -> CacheKey {
        CacheKey::builder("test").part("text", text).finish()
    }

    #[test]
    fn an_entry_is_read_back() {
        for &kind in KINDS {
            let code = ObjectCode::made(kind, "", []);
            assert_eq!(decode(&key("a"), &encode(&key("a"), &code, "")), Some((code, String::new())));
        }
        let entry = encode(&key("a"), &code(), "a warning");
        assert_eq!(decode(&key("a"), &entry), Some((code(), "a warning".to_owned())));
    }

    #[test]
    fn a_damaged_truncated_or_foreign_entry_is_none() {
        let whole = encode(&key("a"), &code(), "a warning");
        assert_eq!(decode(&key("b"), &whole), None);
        let whole = whole.as_bytes();
        for len in 0..whole.len() {
            assert_eq!(decode(&key("a"), &stored(&whole[..len])), None, "{len}");
        }
        for position in 0..whole.len() {
            let mut damaged = whole.to_vec();
            damaged[position] ^= 1;
            assert_eq!(decode(&key("a"), &stored(&damaged)), None, "{position}");
        }
        assert_eq!(decode(&key("a"), &stored(&[whole, b"more"].concat())), None);
    }

    /// A valid digest does not authenticate the writer.
    #[test]
    fn lengths_that_lead_nowhere_are_none() {
        for len in [1, u64::MAX, u64::MAX / 2] {
            let body = [&key("a").as_bytes()[..], &[1], &len.to_le_bytes()].concat();
            assert_eq!(decode(&key("a"), &stored(&[&Sha256::of(&body)[..], &body].concat())), None);
        }
    }
}
