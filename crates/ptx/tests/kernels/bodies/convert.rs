use super::inputs::{Random, doubles, same_double, same_single, singles};
use crate::machine::{Machine, Plain, Run, args};

const N: usize = 300;

/// A value converted to every type; floats out of range as `cvt` converts them.
trait Convert: Plain {
    fn all(self) -> (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
}

macro_rules! convert {
    ($($type:ty)*) => {$(
        impl Convert for $type {
            fn all(self) -> (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64) {
                let v = self;
                (v as i8, v as u8, v as i16, v as u16, v as i32, v as u32, v as i64, v as u64, v as f32, v as f64)
            }
        }
    )*};
}

convert!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

fn convert<T: Convert>(machine: &Machine, kernel: &str, values: &[T]) {
    let run = Run::new(machine, "compute_75/convert");
    let x = run.upload(values);
    let to: [u64; 10] = std::array::from_fn(|_| run.room::<u64>(N));
    run.launch(kernel, 3, 128, args![x, to, N as u32]);
    let found = (
        run.read::<i8>(to[0], N),
        run.read::<u8>(to[1], N),
        run.read::<i16>(to[2], N),
        run.read::<u16>(to[3], N),
        run.read::<i32>(to[4], N),
        run.read::<u32>(to[5], N),
        run.read::<i64>(to[6], N),
        run.read::<u64>(to[7], N),
        run.read::<f32>(to[8], N),
        run.read::<f64>(to[9], N),
    );
    for (i, value) in values.iter().enumerate() {
        let all = value.all();
        let integers = (found.0[i], found.1[i], found.2[i], found.3[i], found.4[i], found.5[i], found.6[i], found.7[i]);
        assert_eq!(integers, (all.0, all.1, all.2, all.3, all.4, all.5, all.6, all.7), "{kernel} {value:?}");
        assert!(same_single(found.8[i], all.8) && same_double(found.9[i], all.9), "{kernel} {value:?}");
    }
}

pub(crate) fn integers_become_every_type(machine: &Machine) {
    let mut random = Random(1);
    convert(machine, "convert_i8", &random.vec(N, |bits| bits as i8));
    convert(machine, "convert_u8", &random.vec(N, |bits| bits as u8));
    convert(machine, "convert_i16", &random.vec(N, |bits| bits as i16));
    convert(machine, "convert_u16", &random.vec(N, |bits| bits as u16));
    convert(machine, "convert_i32", &random.vec(N, |bits| bits as i32));
    convert(machine, "convert_u32", &random.vec(N, |bits| bits as u32));
    convert(machine, "convert_i64", &random.vec(N, |bits| bits as i64));
    convert(machine, "convert_u64", &random.vec(N, |bits| bits));
}

pub(crate) fn floats_in_range_become_every_type(machine: &Machine) {
    let mut random = Random(2);
    convert(machine, "convert_f32", &random.vec(N, |bits| f32::from(bits as u8) / 2.0));
    convert(machine, "convert_f64", &random.vec(N, |bits| f64::from(bits as u8) / 2.0));
}

/// A float as an integer, rounded: nearest, zero, up, down.
fn rounded(value: f64, direction: usize) -> f64 {
    match direction {
        0 => value.round_ties_even(),
        1 => value.trunc(),
        2 => value.ceil(),
        _ => value.floor(),
    }
}

pub(crate) fn floats_become_integers_in_four_directions(machine: &Machine) {
    let run = Run::new(machine, "compute_75/convert");
    let (narrow, wide) = (singles(N, 3), doubles(N, 4));
    let (x, w, y) = (run.upload(&narrow), run.upload(&wide), run.room::<i64>(32 * N));
    run.launch("round_to_integers", 3, 128, args![x, w, y, N as u32]);
    let found = run.read::<i64>(y, 32 * N);
    for row in 0..32 {
        for i in 0..N {
            let value = if row < 16 { narrow[i].into() } else { wide[i] };
            let whole = rounded(value, row % 4);
            // What is no number is the highest bit alone in 64 bits, and of a double; else zero.
            let expected = match row / 4 % 4 {
                0 if whole.is_nan() && row >= 16 => i32::MIN.into(),
                1 if whole.is_nan() && row >= 16 => 1 << 31,
                0 => i64::from(whole as i32),
                1 => i64::from(whole as u32),
                _ if whole.is_nan() => i64::MIN,
                2 => whole as i64,
                _ => (whole as u64) as i64,
            };
            assert_eq!(found[row * N + i], expected, "row {row} of {value:e}");
        }
    }
}

/// The neighbours of what nearest gives, by direction: nearest, zero, up, down.
fn directed(near: f32, exact: impl Fn(f32) -> std::cmp::Ordering, direction: usize) -> f32 {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let (down, up) = match exact(near) {
        Equal => (near, near),
        Less => (near, near.next_up()),
        Greater => (near.next_down(), near),
    };
    match direction {
        0 => near,
        1 => {
            if near > 0.0 || down > 0.0 {
                down
            } else {
                up
            }
        }
        2 => up,
        _ => down,
    }
}

pub(crate) fn integers_become_floats_in_four_directions(machine: &Machine) {
    let run = Run::new(machine, "compute_75/convert");
    let values = Random(5).vec(N, |bits| (bits >> (bits % 50)) as i64 - (bits % 1000) as i64);
    let wide = Random(6).vec(N, |bits| (bits as i64) as f64 / 1e5);
    let (x, w, y) = (run.upload(&values), run.upload(&wide), run.room::<f64>(24 * N));
    run.launch("round_to_floats", 3, 128, args![x, w, y, N as u32]);
    let found = run.read::<f64>(y, 24 * N);
    for i in 0..N {
        for direction in 0..4 {
            let of = |value: i128, near: f32| directed(near, |near| (near as i128).cmp(&value), direction);
            let narrow = values[i] as i32;
            let singles = [
                of(narrow.into(), narrow as f32),
                of(values[i].into(), values[i] as f32),
                of((values[i] as u64).into(), values[i] as u64 as f32),
                directed(wide[i] as f32, |near| f64::from(near).total_cmp(&wide[i]), direction),
            ];
            for (kind, single) in singles.into_iter().enumerate() {
                assert_eq!(
                    found[(4 * kind + direction) * N + i],
                    f64::from(single),
                    "{kind} {direction} {}",
                    values[i]
                );
            }
        }
        let nearest = [values[i] as f64, values[i] as u64 as f64];
        assert_eq!([found[16 * N + i], found[20 * N + i]], nearest);
        for kind in [16, 20] {
            let at = |row: usize| found[(kind + row) * N + i];
            assert!(at(3) <= at(0) && at(0) <= at(2) && (at(3) == at(2) || at(3).next_up() == at(2)));
            assert_eq!(at(1), if at(2) > 0.0 { at(3) } else { at(2) });
        }
    }
}
