//! Identities of devices: sixteen bytes, written `GPU-` and five groups of hexadecimal digits.

/// Lengths of the groups, in digits.
pub(super) const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The UUID of a device of a model at this place, the same in every run.
pub(super) fn derive(model: &str, ordinal: usize) -> [u8; 16] {
    let ordinal = u64::try_from(ordinal).unwrap_or(u64::MAX);
    // FNV-1a over the name keeps models apart; the mixer below spreads neighbouring ordinals over all bits.
    let name = model
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::DeviceModel;

    #[test]
    fn every_place_has_its_own_uuid() {
        let all: BTreeSet<_> =
            DeviceModel::ALL.iter().flat_map(|model| (0..64).map(|ordinal| derive(model.name(), ordinal))).collect();
        assert_eq!(all.len(), DeviceModel::ALL.len() * 64);
    }

    #[test]
    fn a_uuid_never_changes() {
        assert_eq!(format(&derive(DeviceModel::H100.name(), 0)), "GPU-81810bb3-1564-9594-21fb-8b16cc6cff7e");
    }
}
