use super::inputs::Random;
use crate::machine::{Machine, Run, args};

/// `Sample`: a byte, a double, three shorts, two floats, in words as they lie in memory.
fn sample(tag: i8, weight: f64, counts: [i16; 3], position: [f32; 2]) -> [u64; 4] {
    let counts = counts.iter().rev().fold(0, |word, count| word << 16 | u64::from(*count as u16));
    let [x, y] = position.map(|place| u64::from(place.to_bits()));
    [u64::from(tag as u8), weight.to_bits(), counts, y << 32 | x]
}

pub(crate) fn structs_are_passed_by_value(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let y = run.room::<f64>(40);
    run.launch("struct_by_value", 1, 40, args![sample(-3, 2.5, [1, -2, 30], [0.5, 0.25]), 1.5f64, y]);
    let expected: Vec<f64> = (0..40).map(|i| (2.5 * -3.0 + 29.0 + 0.75) * 1.5 * f64::from(i)).collect();
    assert_eq!(run.read::<f64>(y, 40), expected);
}

pub(crate) fn functions_take_and_return_structs(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let samples: Vec<[u64; 4]> =
        (0..10).map(|i| sample(i, f64::from(i) / 2.0, [i.into(), 2, -1], [1.5, f32::from(i)])).collect();
    let (samples, totals) = (run.upload(&samples), run.room::<f64>(3));
    run.launch("struct_totals", 1, 1, args![samples, totals, 10u32]);
    assert_eq!(run.read::<f64>(totals, 1), [22.5]);
    assert_eq!(run.read::<i64>(totals + 8, 1), [45 + 45 + 10]);
    assert_eq!(run.read::<f32>(totals + 16, 2), [15.0, 45.0]);
}

pub(crate) fn recursion_differs_by_lane(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let x: Vec<u32> = (0..64).map(|i| i * 7 % 13).collect();
    let (from, y) = (run.upload(&x), run.room::<u32>(64));
    run.launch("fibonacci", 2, 32, args![from, y]);
    let fibonacci = |n: u32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(run.read::<u32>(y, 64), x.into_iter().map(fibonacci).collect::<Vec<u32>>());

    let y = run.room::<u32>(8);
    run.launch("ackermann", 1, 8, args![2u32, y]);
    assert_eq!(run.read::<u32>(y, 8), (0..8).map(|n| 2 * n + 3).collect::<Vec<_>>());
}

pub(crate) fn lanes_call_different_functions_through_a_table(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let mut random = Random(1);
    let (a, b) = (random.vec(96, |bits| bits as i32), random.vec(96, |bits| bits as i32));
    let which = random.vec(96, |bits| (bits % 3) as u32);
    let (x, y, w, c) = (run.upload(&a), run.upload(&b), run.upload(&which), run.room::<i32>(96));
    run.launch("function_pointers", 3, 32, args![x, y, w, c]);
    let operations = [i32::wrapping_add, i32::wrapping_sub, i32::wrapping_mul];
    let expected: Vec<i32> = (0..96).map(|i| operations[which[i] as usize](a[i], b[i])).collect();
    assert_eq!(run.read::<i32>(c, 96), expected);
}

pub(crate) fn virtual_functions_are_found_through_local_objects(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let x = Random(2).vec(64, |bits| f32::from(bits as i8));
    let (from, y) = (run.upload(&x), run.room::<f32>(64));
    run.launch("virtual_areas", 1, 64, args![from, y]);
    let expected: Vec<f32> =
        x.iter().enumerate().map(|(i, x)| if i % 2 == 1 { x * (2.0 * x) } else { x * x }).collect();
    assert_eq!(run.read::<f32>(y, 64), expected);
}

pub(crate) fn arrays_of_a_thread_are_its_own(machine: &Machine) {
    let run = Run::new(machine, "compute_75/calls");
    let x = Random(3).vec(16 * 40, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(16 * 40));
    run.launch("local_sort", 1, 40, args![from, y]);
    let found = run.read::<i32>(y, 16 * 40);
    for (i, row) in x.chunks(16).enumerate() {
        let mut row = row.to_vec();
        row.sort_unstable();
        row.rotate_left(i % 16);
        assert_eq!(found[16 * i..16 * (i + 1)], row);
    }
}

pub(crate) fn debug_builds_run_the_same(machine: &Machine) {
    let run = Run::new(machine, "compute_75/debug");
    let x = Random(4).vec(100, |bits| bits as i32 >> 20);
    let (from, y) = (run.upload(&x), run.room::<i32>(100));
    run.launch("clamp_all", 1, 128, args![from, y, [-500i32, 700], 100u32]);
    let expected: Vec<i32> = x.into_iter().map(|value| value.clamp(-500, 700)).collect();
    assert_eq!(run.read::<i32>(y, 100), expected);
}

pub(crate) fn many_values_alive_and_bounds_of_a_launch(machine: &Machine) {
    let run = Run::new(machine, "compute_75/bounds");
    let x = Random(5).vec(64 * 5, |bits| f32::from(bits as i8));
    let (from, y) = (run.upload(&x), run.room::<f32>(64 * 32));
    run.launch("spilling", 1, 32, args![from, y, 5u32]);
    let found = run.read::<f32>(y, 64 * 32);
    for t in 0..32 {
        for k in 0..64 {
            let expected = (0..5).fold(0.0, |sum: f32, row| x[row * 64 + k].mul_add((t + 1) as f32, sum));
            assert_eq!(found[t * 64 + k], expected);
        }
    }
    let y = run.room::<u32>(256);
    run.launch("bounded", 2, 128, args![y]);
    assert_eq!(run.read::<u32>(y, 256), (0..256).collect::<Vec<_>>());
}
