use super::inputs::Random;
use crate::machine::{Machine, Run, args};

const N: usize = 512;

fn rows<T: Copy>(all: &[T], i: usize) -> Vec<T> {
    all.iter().skip(i).step_by(N).copied().collect()
}

fn permuted(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |result, index| {
        let nibble = selector >> (4 * index) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { if byte & 128 != 0 { 255 } else { 0 } } else { byte };
        result | u32::from(byte) << (8 * index)
    })
}

fn expected_u32(u: u32, v: u32) -> [u32; 36] {
    let (s, t) = (u as i32, v as i32);
    let both = u64::from(v) << 32 | u64::from(u);
    let mul24 = |a: i32, b: i32| (i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) as u32;
    let bytes = |value: u32| value.to_le_bytes().map(i32::from);
    let signed = |value: u32| value.to_le_bytes().map(|byte| i32::from(byte as i8));
    let dot = |a: [i32; 4], b: [i32; 4]| (0..4).map(|k| a[k] * b[k]).sum::<i32>() as u32;
    let majority = (u & v) | (u & (u >> 7)) | (v & (u >> 7));
    let field = |start: u32| if start & 255 > 31 { 0 } else { (u >> (start & 255)) & 511 };
    let ones = |start: u32, count: u32| (((1u64 << count) - 1) << start) as u32;
    let find = |value: u32| if value == 0 { u32::MAX } else { 31 - value.leading_zeros() };
    let shift = |value: u32| {
        if s < 0 { (!value).leading_zeros().wrapping_sub(1).wrapping_add(1) } else { value.leading_zeros() }
    };
    [
        u.count_ones(),
        u.leading_zeros(),
        if u == 0 { 0 } else { u.trailing_zeros() + 1 },
        u.reverse_bits(),
        permuted(u, v, 0x7250),
        permuted(u, v, v & 0x7777),
        ((both << (u & 31)) >> 32) as u32,
        (both >> (v & 31)) as u32,
        ((both << u.min(32)) >> 32) as u32,
        (both >> v.min(32)) as u32,
        ((i64::from(s) * i64::from(t)) >> 32) as u32,
        ((u64::from(u) * u64::from(v)) >> 32) as u32,
        mul24(s, t),
        (u64::from(u & 0xff_ffff) * u64::from(v & 0xff_ffff)) as u32,
        u.abs_diff(v).wrapping_add(7),
        s.abs_diff(t).wrapping_add(7),
        ((i64::from(s) + i64::from(t)) >> 1) as u32,
        ((u64::from(u) + u64::from(v) + 1) >> 1) as u32,
        (s << 16 >> 21) as u32,
        field(v),
        (v & !(0x1fff << 7)) | (u & 0x1fff) << 7,
        dot(bytes(u), bytes(v)).wrapping_add(3),
        dot(signed(u), signed(v)).wrapping_add(3),
        3u32.wrapping_add((u & 0xffff) * (v & 255)).wrapping_add((u >> 16) * (v >> 8 & 255)),
        3i32.wrapping_add(i32::from(u as i16) * i32::from((v >> 16) as i8))
            .wrapping_add(i32::from((u >> 16) as i16) * i32::from((v >> 24) as i8)) as u32,
        find(u),
        if u == 0 || u == u32::MAX { u32::MAX } else { shift(u) },
        majority,
        ones(u & 31, v & 31),
        u << (v & 31),
        u >> (v & 31),
        (s >> (v & 31)) as u32,
        if v > 31 { 0 } else { u << v },
        (s >> v.min(31)) as u32,
        u.min(v),
        s.wrapping_abs() as u32,
    ]
}

pub(crate) fn words_are_counted_shifted_and_permuted(machine: &Machine) {
    let run = Run::new(machine, "compute_75/bits");
    let mut random = Random(1);
    let a = random.vec(N, |bits| if bits % 5 == 0 { bits as u32 % 3 } else { (bits >> 32) as u32 });
    let b = random.vec(N, |bits| if bits % 3 == 0 { bits as u32 % 40 } else { (bits >> 32) as u32 });
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<u32>(36 * N));
    run.launch("bits_u32", 4, 128, args![x, y, z, N as u32]);
    let found = run.read::<u32>(z, 36 * N);
    for i in 0..N {
        assert_eq!(rows(&found, i), expected_u32(a[i], b[i]), "{:#x} {:#x}", a[i], b[i]);
    }
}

pub(crate) fn longs_are_multiplied_divided_and_carried(machine: &Machine) {
    let run = Run::new(machine, "compute_75/bits");
    let mut random = Random(2);
    let a = random.vec(N, |bits| bits);
    let b = random.vec(N, |bits| if bits % 3 == 0 { bits % 100 + 1 } else { bits | 1 });
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<u64>(19 * N));
    run.launch("bits_u64", 4, 128, args![x, y, z, N as u32]);
    let found = run.read::<u64>(z, 19 * N);
    for i in 0..N {
        let (u, v) = (a[i], b[i]);
        let (s, t) = (u as i64, v as i64);
        let low_product = u64::from(u as u32) * u64::from(v as u32);
        let expected = [
            u.count_ones().into(),
            u.leading_zeros().into(),
            if u == 0 { 0 } else { (u.trailing_zeros() + 1).into() },
            u.reverse_bits(),
            ((u128::from(u) * u128::from(v)) >> 64) as u64,
            ((i128::from(s) * i128::from(t)) >> 64) as u64,
            u / v,
            u % v,
            s.wrapping_div(t) as u64,
            s.wrapping_rem(t) as u64,
            u << (v & 63),
            u >> (v & 63),
            (s >> (v & 63)) as u64,
            u.min(v),
            s.min(t) as u64,
            u.wrapping_add(v),
            u.wrapping_add(u.overflowing_add(v).1.into()),
            u.wrapping_sub(v),
            low_product.wrapping_add((u >> 32 << 32) | v >> 32),
        ];
        assert_eq!(rows(&found, i), expected, "{u:#x} {v:#x}");
    }
}

pub(crate) fn quotients_of_short_types_are_of_those_types(machine: &Machine) {
    let run = Run::new(machine, "compute_75/bits");
    let mut random = Random(3);
    let a = random.vec(N, |bits| bits as i32);
    let b = random.vec(N, |bits| (bits as i32) | 1);
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<i32>(11 * N));
    run.launch("divisions", 4, 128, args![x, y, z, N as u32]);
    let found = run.read::<i32>(z, 11 * N);
    for i in 0..N {
        let (u, v) = (a[i], b[i]);
        let expected = [
            u.wrapping_div(v),
            u.wrapping_rem(v),
            (u as u32 / v as u32) as i32,
            (u as u32 % v as u32) as i32,
            i32::from(u as i16) / i32::from(v as i16),
            i32::from(u as i16) % i32::from(v as i16),
            (u as u16 / v as u16).into(),
            (u as u8 % v as u8).into(),
            u / 10,
            u % 1_000_003,
            (u as u32 / 7) as i32,
        ];
        assert_eq!(rows(&found, i), expected, "{u} {v}");
    }
}

pub(crate) fn loops_of_shifts_are_a_generator(machine: &Machine) {
    let run = Run::new(machine, "compute_75/bits");
    let y = run.room::<u64>(96);
    run.launch("xorshift", 3, 32, args![12345u64, 50u32, y]);
    for (i, found) in run.read::<u64>(y, 96).into_iter().enumerate() {
        let mut state = 12345 + i as u64;
        for _ in 0..50 {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
        }
        assert_eq!(found, state.wrapping_mul(0x2545_f491_4f6c_dd1d));
    }
}
