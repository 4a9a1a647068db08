//! Unpacking of LZ4 blocks, which compilers put PTX into.

/// A length of 15 goes on in the bytes that follow, up to one that is not 255.
fn length(nibble: u8, packed: &[u8], at: &mut usize) -> Option<usize> {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        loop {
            let more = *packed.get(*at)?;
            *at += 1;
            length += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Some(length)
}

/// The bytes of a block, if it is one and has `expected` of them.
pub(super) fn unpack(packed: &[u8], expected: usize) -> Option<Vec<u8>> {
    // A byte of a block stands for 255 at most, so what a block claims is not what is allocated.
    let mut unpacked = Vec::with_capacity(expected.min(packed.len().saturating_mul(255)));
    let mut at = 0;
    while at < packed.len() {
        let token = packed[at];
        at += 1;
        let literals = length(token >> 4, packed, &mut at)?;
        unpacked.extend_from_slice(packed.get(at..at.checked_add(literals)?)?);
        at += literals;
        if at == packed.len() {
            break;
        }
        let back = usize::from(u16::from_le_bytes(packed.get(at..at + 2)?.try_into().ok()?));
        at += 2;
        let copied = length(token & 15, packed, &mut at)?.checked_add(4)?;
        let start = unpacked.len().checked_sub(back).filter(|_| back > 0)?;
        if unpacked.len() + copied > expected {
            return None;
        }
        // What is copied may be what this very copy has written.
        for index in start..start + copied {
            unpacked.push(unpacked[index]);
        }
    }
    (unpacked.len() == expected).then_some(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_overlapping_copies_are_unpacked() {
        assert_eq!(unpack(&[0x30, b'a', b'b', b'c'], 3).as_deref(), Some(&b"abc"[..]));
        // One literal, repeated 4 + 15 + 1 times from one byte back, and a last literal.
        let packed = [0x1f, b'x', 1, 0, 1, 0x10, b'y'];
        assert_eq!(unpack(&packed, 22), Some([vec![b'x'; 21], vec![b'y']].concat()));
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for packed in [&[0x30, b'a'][..], &[0x10, b'a', 0, 0], &[0x10, b'a', 2, 0], &[0xf0, 255], &[0x1f, b'x', 1, 0]] {
            assert_eq!(unpack(packed, 100), None, "{packed:?}");
        }
        assert_eq!(unpack(&[0x30, b'a', b'b', b'c'], 4), None);
    }
}
