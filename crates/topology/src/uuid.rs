//! Identities of devices: sixteen bytes, written `GPU-` and five groups of hexadecimal digits.

use super::error::TopologyError;
use super::model::DeviceModel;

/// Lengths of the groups, in digits.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The UUID of the device at this place, the same in every run.
pub(super) fn derive(model: DeviceModel, ordinal: usize) -> [u8; 16] {
    let ordinal = u64::try_from(ordinal).unwrap_or(u64::MAX);
    // FNV-1a over the name keeps models apart; the mixer below spreads neighbouring ordinals over all bits.
    let name = model
        .name()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let high = mix(name.wrapping_add(ordinal));
    let low = mix(high ^ ordinal);
    let mut bytes = [0; 16];
    for (byte, source) in bytes.iter_mut().zip(high.to_be_bytes().into_iter().chain(low.to_be_bytes())) {
        *byte = source;
    }
    bytes
}

/// The finaliser of SplitMix64.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The text that management tools print.
pub(super) fn format(uuid: &[u8; 16]) -> String {
    let mut text = String::from("GPU");
    let mut digits = uuid.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    for group in GROUPS {
        text.push('-');
        text.extend(digits.by_ref().take(group).filter_map(|digit| char::from_digit(digit.into(), 16)));
    }
    text
}

/// The bytes behind such a text; the `GPU-` may be left out.
pub(super) fn parse(text: &str) -> Result<[u8; 16], TopologyError> {
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
    use std::collections::BTreeSet;

    #[test]
    fn every_place_has_its_own_uuid() {
        let all: BTreeSet<_> =
            DeviceModel::ALL.iter().flat_map(|model| (0..64).map(|ordinal| derive(*model, ordinal))).collect();
        assert_eq!(all.len(), DeviceModel::ALL.len() * 64);
    }

    #[test]
    fn a_uuid_never_changes() {
        assert_eq!(format(&derive(DeviceModel::H100, 0)), "GPU-81810bb3-1564-9594-21fb-8b16cc6cff7e");
    }

    #[test]
    fn text_and_bytes_agree() {
        for ordinal in 0..8 {
            let uuid = derive(DeviceModel::A100, ordinal);
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
