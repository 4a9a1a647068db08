//! What the addresses of a full warp look like, found in one pass over them.
#![expect(unsafe_code, reason = "calls the pass that needs a processor's features, after asking for them")]

use crate::lanes::Longs;

/// How the addresses of half a warp lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// All are the same.
    Uniform,
    /// Each follows the one before.
    Contiguous,
    Other,
}

/// What is common to 32 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// All bits that any of them has.
    pub(crate) bits: u64,
    /// All together.
    pub(crate) whole: Pattern,
    pub(crate) halves: [Pattern; 2],
}

/// Looks at all lanes, for accesses of `size` bytes each.
pub(crate) fn survey(addresses: &Longs, size: u64) -> Survey {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature has just been found.
        return unsafe { survey_with_avx2(addresses, size) };
    }
    survey_all(addresses, size)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn survey_with_avx2(addresses: &Longs, size: u64) -> Survey {
    survey_all(addresses, size)
}

#[inline(always)]
fn survey_all(addresses: &Longs, size: u64) -> Survey {
    let (low, high) = addresses.split_at(16);
    let (first, second) = (low[0], high[0]);
    // Zero where all agree.
    let (mut bits, mut same, mut next) = (0, [0; 2], [0; 2]);
    for lane in 0..16 {
        let step = lane as u64 * size;
        bits |= low[lane] | high[lane];
        same[0] |= low[lane] ^ first;
        same[1] |= high[lane] ^ second;
        next[0] |= low[lane] ^ first.wrapping_add(step);
        next[1] |= high[lane] ^ second.wrapping_add(step);
    }
    let half = |index: usize| match (same[index], next[index]) {
        (0, _) => Pattern::Uniform,
        (_, 0) => Pattern::Contiguous,
        _ => Pattern::Other,
    };
    let halves = [half(0), half(1)];
    let whole = match halves {
        [Pattern::Uniform, Pattern::Uniform] if first == second => Pattern::Uniform,
        [Pattern::Contiguous, Pattern::Contiguous] if second == first.wrapping_add(16 * size) => Pattern::Contiguous,
        _ => Pattern::Other,
    };
    Survey { bits, whole, halves }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_seen_for_the_whole_and_for_its_halves() {
        use Pattern::{Contiguous, Other, Uniform};
        let of = |address: fn(u64) -> u64| survey(&std::array::from_fn(|lane| address(lane as u64)), 4);
        assert_eq!(of(|_| 64).whole, Uniform);
        assert_eq!(of(|lane| 64 + 4 * lane).whole, Contiguous);
        let rows = of(|lane| 64 + 4 * (lane % 16));
        assert_eq!((rows.whole, rows.halves), (Other, [Contiguous; 2]));
        let rows = of(|lane| 64 + 4 * (lane / 16));
        assert_eq!((rows.whole, rows.halves), (Other, [Uniform; 2]));
        let odd = of(|lane| if lane == 20 { 67 } else { 64 + 4 * lane });
        assert_eq!((odd.whole, odd.halves, odd.bits & 3), (Other, [Contiguous, Other], 3));
    }
}
