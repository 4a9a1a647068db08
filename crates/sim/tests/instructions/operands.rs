//! Operand values: values at the edges, values near each other, and random bits.

use crate::kind::{BRAIN, DOUBLE, HALF, Kind, Layout, Narrow, SINGLE};
use crate::stream::{Stream, hash};
use crate::variant::Variant;

/// The operands of all cases: for each operand, the values of all cases.
pub(crate) fn operands(variant: &Variant) -> Vec<Vec<u64>> {
    let mut stream = Stream(hash(&variant.text));
    let mut columns = vec![vec![0; variant.cases]; variant.operands.len()];
    let alone = variant.operands.len() == 1;
    let lists: Vec<Vec<u64>> = variant.operands.iter().map(|kind| edges(*kind)).collect();
    let mut masks = vec![0; variant.operands.len()];
    for case in 0..variant.cases {
        for (index, kind) in variant.operands.iter().enumerate() {
            let value = match kind {
                // One operand can try every edge.
                _ if alone && case < lists[index].len() => lists[index][case],
                Kind::Mask if case % 32 != 0 => masks[index],
                Kind::Choices | Kind::Choice => at_random(&mut stream, *kind),
                _ if index > 0 && stream.below(6) == 0 => related(&mut stream, *kind, &columns, case, index),
                _ if !lists[index].is_empty() && stream.below(5) < 2 => stream.pick(&lists[index]),
                _ => at_random(&mut stream, *kind),
            };
            masks[index] = value;
            columns[index][case] = value & mask(kind.bits());
        }
    }
    columns
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// A value derived from an earlier operand: the same, its neighbour, its opposite, or what a product leaves.
fn related(stream: &mut Stream, kind: Kind, columns: &[Vec<u64>], case: usize, index: usize) -> u64 {
    let other = columns[stream.below(index as u64) as usize][case];
    let top = 1 << (kind.bits() - 1);
    match stream.below(8) {
        0 => other,
        4 => 0,
        5 => match kind.layout() {
            Some(layout) if stream.below(2) == 0 => none(stream, layout),
            Some(layout) => at_the_edge(stream, layout, other),
            None => !other,
        },
        1 => other ^ top,
        2 => other.wrapping_add(1),
        3 => other.wrapping_sub(1) ^ top,
        _ if index == 2 && kind == Kind::F32 => {
            let at = |index: usize| f32::from_bits(columns[index][case] as u32);
            u64::from((-at(0) * at(1)).to_bits()).wrapping_add(stream.below(3)).wrapping_sub(1)
        }
        _ if index == 2 && kind == Kind::F64 => {
            let at = |index: usize| f64::from_bits(columns[index][case]);
            (-at(0) * at(1)).to_bits().wrapping_add(stream.below(3)).wrapping_sub(1)
        }
        // The same exponent, another fraction.
        _ => match kind.layout() {
            Some((fraction, _)) => (other & !mask(fraction)) | (stream.next() & mask(fraction)),
            None => !other,
        },
    }
}

/// A NaN.
fn none(stream: &mut Stream, (fraction, exponent): Layout) -> u64 {
    let sign = stream.below(2) << (fraction + exponent);
    let payload = stream.next() & mask(fraction) & stream.pick(&[!0, 1, 1 << (fraction - 1)]);
    sign | mask(exponent) << fraction | payload.max(1)
}

/// An operand whose product with `other`, or a quotient of the two, is near the least normal number, or near
/// overflow.
fn at_the_edge(stream: &mut Stream, (fraction, exponent): Layout, other: u64) -> u64 {
    let bias = mask(exponent - 1).cast_signed();
    let power = (other >> fraction & mask(exponent)).cast_signed() - bias;
    let edge = stream.pick(&[1 - bias, bias]);
    let biased = stream.pick(&[edge - power, power - edge, power + edge]) + bias - stream.below(2).cast_signed();
    let sign = stream.below(2) << (fraction + exponent);
    let biased = biased.clamp(0, mask(exponent).cast_signed() - 1).cast_unsigned();
    let near = stream.pick(&[0, 1, 2, mask(fraction), mask(fraction) - 1, stream.0 & mask(fraction)]);
    sign | biased << fraction | near
}

/// The values at which something happens.
fn edges(kind: Kind) -> Vec<u64> {
    match kind {
        Kind::B16 => integers(16),
        Kind::B32 => integers(32),
        Kind::B64 => integers(64),
        Kind::Count => vec![0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 0xffff_ffff],
        Kind::Angle => Vec::new(),
        _ => kind.layout().map(floats).unwrap_or_default(),
    }
}

fn integers(bits: u32) -> Vec<u64> {
    let mut all = vec![0, 1, 2, 3, 5, 7, 10, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, !0, !1, !2, !6];
    for place in [7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63].into_iter().filter(|place| *place < bits) {
        all.extend([(1u64 << place) - 1, 1 << place, (1 << place) + 1, !(1 << place)]);
    }
    all.into_iter().map(|value| value & mask(bits)).collect()
}

/// The bits of a value that has few of them.
fn encoded((fraction, exponent): Layout, power: i32, steps: i64) -> u64 {
    let bias = (1i64 << (exponent - 1)) - 1;
    let biased = (bias + i64::from(power)).clamp(1, (1 << exponent) - 2);
    (biased << fraction).wrapping_add(steps).cast_unsigned()
}

fn floats(layout: Layout) -> Vec<u64> {
    let (fraction, exponent) = layout;
    let (sign, infinity) = (1u64 << (fraction + exponent), mask(exponent) << fraction);
    let quiet = 1 << (fraction - 1);
    let least = 1 << fraction;
    let mut all = vec![0, 1, 2, least / 2, least - 1, least, least + 1, infinity - 1, infinity];
    all.extend([infinity | quiet, infinity | 1, infinity | quiet | 5, infinity | (quiet / 2), sign - 1]);
    if fraction < 16 {
        // What `.oob` looks for.
        all.push(0x7ff7);
    }
    all.extend([-1, 0, 1].map(|steps| encoded(layout, 0, steps)));
    // Where integers end, and where narrower formats do.
    for power in
        [-150, -149, -127, -126, -25, -24, -15, -14, -2, -1, 1, 4, 7, 8, 10, 11, 15, 16, 23, 24, 31, 32, 53, 62, 63]
    {
        all.extend([-1, 0].map(|steps| encoded(layout, power, steps)));
    }
    for power in [52, 64, 126, 127, 128] {
        all.extend([-1, 0, 1].map(|steps| encoded(layout, power, steps)));
    }
    // One and a half, two and a half, and so on.
    for (power, steps) in [(0, 1), (1, 1), (1, 3), (2, 1), (2, 5), (6, 1), (6, 127)] {
        all.push(encoded(layout, power, steps << (fraction - 1 - power.cast_unsigned())));
    }
    let mut both = Vec::new();
    for value in all {
        both.extend([value, value | sign]);
    }
    both
}

fn float_at_random(stream: &mut Stream, layout: Layout) -> u64 {
    let (fraction, exponent) = layout;
    let bits = stream.next();
    let sign = bits >> 63 << (fraction + exponent);
    let part = bits & mask(fraction);
    let bias = (1 << (exponent - 1)) - 1;
    let biased = match stream.below(8) {
        0 => stream.below(1 << exponent),
        1 => 0,
        2 => stream.below(3),
        3 => (1 << exponent) - 2 - stream.below(3),
        _ => (bias + stream.below(40)).saturating_sub(12).clamp(1, (1 << exponent) - 2),
    };
    // What a narrower format would have to round: its last bit, and a half, or nearly so.
    let part = match stream.below(4) {
        0 if fraction > 10 => {
            let keep = stream.pick(&[7, 10, 23]).min(fraction - 2);
            let half = 1 << (fraction - keep - 1);
            let near = stream.pick(&[0, 1, !0]);
            (((part >> (fraction - keep)) << (fraction - keep)) | half).wrapping_add(near) & mask(fraction)
        }
        // An integer and a half.
        1 if biased > bias && biased - bias < u64::from(fraction) => {
            let below = fraction - (biased - bias) as u32;
            (part >> below << below) | (stream.below(2) << (below - 1))
        }
        _ => part,
    };
    sign | biased << fraction | part
}

fn at_random(stream: &mut Stream, kind: Kind) -> u64 {
    match kind {
        Kind::B16 | Kind::B32 | Kind::B64 => integer_at_random(stream, kind.bits()),
        Kind::Count => stream.below(72),
        Kind::Bytes => stream.next(),
        Kind::Choices => (0..8).fold(0, |all, _| all << 4 | stream.pick(&[0x4, 0x8, 0x9, 0xc, 0xd, 0xe])),
        Kind::Choice => (0..8).fold(0, |all, _| all << 4 | stream.pick(&[0x4, 0xe])),
        Kind::Predicate => stream.below(2),
        Kind::F16 => float_at_random(stream, HALF),
        Kind::Bf16 => float_at_random(stream, BRAIN),
        Kind::F32 => float_at_random(stream, SINGLE),
        Kind::F64 => float_at_random(stream, DOUBLE),
        Kind::F16x2 => pair(stream, Kind::F16),
        Kind::Bf16x2 => pair(stream, Kind::Bf16),
        Kind::Angle => {
            let power = stream.below(12) as i32 - 8;
            let sign = stream.below(2) << 31;
            sign | encoded(SINGLE, power, (stream.next() & mask(23)).cast_signed())
        }
        Kind::Tame(element) => tame(stream, element),
        Kind::Sparse(element) => {
            if stream.below(4) == 0 {
                wide(stream, element)
            } else {
                0
            }
        }
        Kind::Wild(element) => {
            if stream.below(24) == 0 {
                odd(stream, element)
            } else {
                wide(stream, element)
            }
        }
        Kind::Power(element) => power(stream, element),
        Kind::Mask => match stream.below(4) {
            0 => u64::from(u32::MAX),
            1 => 1 << stream.below(32),
            _ => stream.next() as u32 as u64 | 1 << stream.below(32),
        },
        Kind::Lane => {
            if stream.below(8) == 0 {
                stream.next()
            } else {
                stream.below(34)
            }
        }
        Kind::Few => stream.pick(&[0, 1, 0x8000_0000, 0xffff_ffff]),
        Kind::FewLong => stream.pick(&[0, 1, 1 << 32, 1 << 63, !0]),
    }
}

fn integer_at_random(stream: &mut Stream, bits: u32) -> u64 {
    let value = stream.next();
    match stream.below(5) {
        0 => value,
        // Of any size, so that quotients are interesting, too.
        1 => (value & mask(bits)) >> stream.below(bits.into()),
        2 => ((value & mask(bits)) >> stream.below(bits.into())).wrapping_neg(),
        3 => {
            // Where a conversion to a floating-point number lies in the middle.
            let keep = stream.pick(&[8, 11, 24, 53]).min(bits - 2);
            let drop = 1 + stream.below(u64::from(bits - keep));
            let kept = (value & mask(keep)) << drop;
            kept.wrapping_add(1 << (drop - 1)).wrapping_add(stream.pick(&[0, 1, !0]))
        }
        _ => value.cast_signed().wrapping_shr(stream.below(64) as u32).cast_unsigned(),
    }
}

fn pair(stream: &mut Stream, kind: Kind) -> u64 {
    let list = edges(kind);
    let mut half = || if stream.below(5) < 2 { stream.pick(&list) } else { at_random(stream, kind) };
    half() << 16 | half()
}

/// Exponents within seven of one.
fn tame(stream: &mut Stream, element: Narrow) -> u64 {
    element_with(stream, element, |stream| stream.below(8) as i32 - 4)
}

/// All exponents of normal numbers whose products can be added.
fn wide(stream: &mut Stream, element: Narrow) -> u64 {
    element_with(stream, element, |stream| match stream.below(4) {
        0 => stream.below(29) as i32 - 14,
        1 => stream.below(13) as i32 - 6,
        _ => stream.below(5) as i32 - 2,
    })
}

fn odd(stream: &mut Stream, element: Narrow) -> u64 {
    match element {
        Narrow::F16x2 => pair(stream, Kind::F16),
        Narrow::Bf16x2 => pair(stream, Kind::Bf16),
        Narrow::E4m3x4 | Narrow::E5m2x4 => stream.next(),
        Narrow::Tf32 | Narrow::F32 => at_random(stream, Kind::F32),
        Narrow::F64 => at_random(stream, Kind::F64),
    }
}

/// Sums of these end in a half, or in a little more or less than that.
fn power(stream: &mut Stream, element: Narrow) -> u64 {
    let layout = match element {
        Narrow::F16x2 => HALF,
        Narrow::Bf16x2 => BRAIN,
        Narrow::E4m3x4 => (3, 4),
        Narrow::E5m2x4 => (2, 5),
        Narrow::Tf32 | Narrow::F32 => SINGLE,
        Narrow::F64 => DOUBLE,
    };
    let mut one = || {
        if stream.below(2) == 0 {
            return 0;
        }
        let power = stream.pick(&[0, -5, -6, -12, -13, -14]);
        stream.below(2) << (layout.0 + layout.1) | encoded(layout, power, 0)
    };
    match element {
        Narrow::F16x2 | Narrow::Bf16x2 => one() << 16 | one(),
        Narrow::E4m3x4 | Narrow::E5m2x4 => (0..4).fold(0, |all, _| all << 8 | one()),
        _ => one(),
    }
}

fn element_with(stream: &mut Stream, element: Narrow, power: impl Fn(&mut Stream) -> i32) -> u64 {
    let mut one = |layout: Layout| {
        let power = power(stream);
        let (fraction, exponent) = layout;
        let sign = stream.below(2) << (fraction + exponent);
        sign | encoded(layout, power, (stream.next() & mask(fraction)).cast_signed())
    };
    match element {
        Narrow::F16x2 => one(HALF) << 16 | one(HALF),
        Narrow::Bf16x2 => one(BRAIN) << 16 | one(BRAIN),
        Narrow::E4m3x4 => (0..4).fold(0, |all, _| all << 8 | one((3, 4))),
        Narrow::E5m2x4 => (0..4).fold(0, |all, _| all << 8 | one((2, 5))),
        Narrow::Tf32 | Narrow::F32 => one(SINGLE),
        Narrow::F64 => one(DOUBLE),
    }
}
