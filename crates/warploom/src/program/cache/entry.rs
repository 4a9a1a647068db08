//! Cache entries: code and log, with a checksum.

use super::CacheKey;
use super::sha256::Sha256;
use crate::program::{CodeKind, ObjectCode};

const KINDS: &[CodeKind] =
    &[CodeKind::Ptx, CodeKind::Cubin, CodeKind::LtoIr, CodeKind::Fatbin, CodeKind::Object, CodeKind::Library];

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

/// The bytes for a cache: a digest, the key, the kind, then texts and code, each behind its length.
pub(super) fn encode(key: &CacheKey, code: &ObjectCode, log: &str) -> Vec<u8> {
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
    [&Sha256::of(&body)[..], &body].concat()
}

/// The decoded entry; `None` if the bytes are damaged, or for another key.
pub(super) fn decode(key: &CacheKey, bytes: &[u8]) -> Option<(ObjectCode, String)> {
    let (digest, body) = bytes.split_first_chunk::<32>()?;
    if Sha256::of(body) != *digest {
        return None;
    }
    let body = body.strip_prefix(key.as_bytes())?;
    let (found, mut rest) = body.split_first()?;
    let kind = *KINDS.iter().find(|kind| number(**kind) == *found)?;
    let (name, log) = (text(&mut rest)?, text(&mut rest)?);
    let code = ObjectCode::new(kind, &name, part(&mut rest)?);
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
        ObjectCode::new(CodeKind::Cubin, "scale.cu", [0, 1, 2, 255]).with_lowered_names(names)
    }

    fn key(text: &str) -> CacheKey {
        CacheKey::builder("test").part("text", text).finish()
    }

    #[test]
    fn an_entry_is_read_back() {
        for &kind in KINDS {
            let code = ObjectCode::new(kind, "", []);
            assert_eq!(decode(&key("a"), &encode(&key("a"), &code, "")), Some((code, String::new())));
        }
        let entry = encode(&key("a"), &code(), "a warning");
        assert_eq!(decode(&key("a"), &entry), Some((code(), "a warning".to_owned())));
    }

    #[test]
    fn a_damaged_truncated_or_foreign_entry_is_none() {
        let whole = encode(&key("a"), &code(), "a warning");
        assert_eq!(decode(&key("b"), &whole), None);
        for len in 0..whole.len() {
            assert_eq!(decode(&key("a"), &whole[..len]), None, "{len}");
        }
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            assert_eq!(decode(&key("a"), &damaged), None, "{position}");
        }
        assert_eq!(decode(&key("a"), &[&whole[..], b"more"].concat()), None);
    }

    /// A valid digest does not authenticate the writer.
    #[test]
    fn lengths_that_lead_nowhere_are_none() {
        for len in [1, u64::MAX, u64::MAX / 2] {
            let body = [&key("a").as_bytes()[..], &[1], &len.to_le_bytes()].concat();
            assert_eq!(decode(&key("a"), &[&Sha256::of(&body)[..], &body].concat()), None);
        }
    }
}
