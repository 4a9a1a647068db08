//! UUIDs of devices from text.

use crate::error::TopologyError;
use crate::uuid::GROUPS;

/// The bytes of a UUID; the `GPU-` may be left out.
pub(crate) fn parse(text: &str) -> Result<[u8; 16], TopologyError> {
    let malformed = || {
        let form = "expected \"GPU-\" and groups of 8, 4, 4, 4 and 12 hexadecimal digits";
        TopologyError::malformed("UUID", text, form)
    };
    let groups: Vec<&str> = text.strip_prefix("GPU-").unwrap_or(text).split('-').collect();
    if !groups.iter().map(|group| group.len()).eq(GROUPS) {
        return Err(malformed());
    }
    let digits: Vec<u8> = groups
        .iter()
        .flat_map(|group| group.chars())
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()
        .ok_or_else(malformed)?;
    let mut uuid = [0; 16];
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks(2)) {
        *byte = pair.iter().fold(0, |value, digit| value << 4 | digit);
    }
    Ok(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceModel;
    use crate::uuid::{derive, format};

    #[test]
    fn text_and_bytes_agree() {
        for ordinal in 0..8 {
            let uuid = derive(DeviceModel::A100.name(), ordinal);
            assert_eq!(parse(&format(&uuid)), Ok(uuid));
        }
        let counting = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(parse("00010203-0405-0607-0809-0A0b0c0d0e0f"), Ok(counting));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "GPU-",
            "GPU-0001",
            "GPU-0001020-30405-0607-0809-0a0b0c0d0e0f",
            "GPU-é001020-0405-0607-0809-0a0b0c0d0e0f",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
