use crate::run::{Plain, Random, Run, args};

/// `Sample`: a byte, a double, three shorts, two floats.
fn sample(tag: i8, weight: f64, counts: [i16; 3], position: [f32; 2]) -> Vec<u8> {
    let mut bytes = vec![tag as u8, 0, 0, 0, 0, 0, 0, 0];
    weight.put(&mut bytes);
    counts.into_iter().for_each(|count| count.put(&mut bytes));
    bytes.resize(24, 0);
    position.into_iter().for_each(|place| place.put(&mut bytes));
    bytes
}

#[test]
fn structs_are_passed_by_value() {
    let run = Run::new("compute_75/calls");
    let y = run.room::<f64>(40);
    let bytes = sample(-3, 2.5, [1, -2, 30], [0.5, 0.25]);
    let arguments = crate::run::Arguments::default().with_bytes(8, &bytes).with(1.5f64).with(y);
    run.launch("struct_by_value", 1, 40, arguments);
    let expected: Vec<f64> = (0..40).map(|i| (2.5 * -3.0 + 29.0 + 0.75) * 1.5 * f64::from(i)).collect();
    assert_eq!(run.read::<f64>(y, 40), expected);
}

#[test]
fn functions_take_and_return_structs() {
    let run = Run::new("compute_75/calls");
    let bytes: Vec<u8> =
        (0..10).flat_map(|i| sample(i, f64::from(i) / 2.0, [i.into(), 2, -1], [1.5, f32::from(i)])).collect();
    let (samples, totals) = (run.memory.upload(&bytes), run.room::<f64>(3));
    run.launch("struct_totals", 1, 1, args![samples, totals, 10u32]);
    assert_eq!(run.read::<f64>(totals, 1), [22.5]);
    assert_eq!(run.read::<i64>(totals + 8, 1), [45 + 45 + 10]);
    assert_eq!(run.read::<f32>(totals + 16, 2), [15.0, 45.0]);
}

#[test]
fn recursion_differs_by_lane() {
    let run = Run::new("compute_75/calls");
    let x: Vec<u32> = (0..64).map(|i| i * 7 % 13).collect();
    let (from, y) = (run.upload(&x), run.room::<u32>(64));
    run.launch("fibonacci", 2, 32, args![from, y]);
    let fibonacci = |n: u32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(run.read::<u32>(y, 64), x.into_iter().map(fibonacci).collect::<Vec<u32>>());

    let y = run.room::<u32>(8);
    run.launch("ackermann", 1, 8, args![2u32, y]);
    assert_eq!(run.read::<u32>(y, 8), (0..8).map(|n| 2 * n + 3).collect::<Vec<_>>());
}

#[test]
fn lanes_call_different_functions_through_a_table() {
    let run = Run::new("compute_75/calls");
    let mut random = Random(1);
    let (a, b) = (random.vec(96, |bits| bits as i32), random.vec(96, |bits| bits as i32));
    let which = random.vec(96, |bits| (bits % 3) as u32);
    let (x, y, w, c) = (run.upload(&a), run.upload(&b), run.upload(&which), run.room::<i32>(96));
    run.launch("function_pointers", 3, 32, args![x, y, w, c]);
    let operations = [i32::wrapping_add, i32::wrapping_sub, i32::wrapping_mul];
    let expected: Vec<i32> = (0..96).map(|i| operations[which[i] as usize](a[i], b[i])).collect();
    assert_eq!(run.read::<i32>(c, 96), expected);
}

#[test]
fn virtual_functions_are_found_through_local_objects() {
    let run = Run::new("compute_75/calls");
    let x = Random(2).vec(64, |bits| f32::from(bits as i8));
    let (from, y) = (run.upload(&x), run.room::<f32>(64));
    run.launch("virtual_areas", 1, 64, args![from, y]);
    let expected: Vec<f32> =
        x.iter().enumerate().map(|(i, x)| if i % 2 == 1 { x * (2.0 * x) } else { x * x }).collect();
    assert_eq!(run.read::<f32>(y, 64), expected);
}

#[test]
fn arrays_of_a_thread_are_its_own() {
    let run = Run::new("compute_75/calls");
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

#[test]
fn debug_builds_run_the_same() {
    let run = Run::new("compute_75/debug");
    let x = Random(4).vec(100, |bits| bits as i32 >> 20);
    let (from, y) = (run.upload(&x), run.room::<i32>(100));
    let mut range = Vec::new();
    (-500i32).put(&mut range);
    700i32.put(&mut range);
    run.launch("clamp_all", 1, 128, args![from, y].with_bytes(4, &range).with(100u32));
    let expected: Vec<i32> = x.into_iter().map(|value| value.clamp(-500, 700)).collect();
    assert_eq!(run.read::<i32>(y, 100), expected);
}

#[test]
fn many_values_alive_and_bounds_of_a_launch() {
    let run = Run::new("compute_75/bounds");
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
    assert_eq!(run.program.kernel("bounded").unwrap().max_threads(), Some([128, 1, 1]));
}

#[test]
fn blocks_have_the_shape_that_a_kernel_requires_and_are_clusters_of_their_own() {
    let run = Run::new("compute_90/clusters");
    let y = run.room::<u32>(256);
    let launch = warploom_ptx::Launch { grid: [2, 1, 1], block: [64, 2, 1], ..warploom_ptx::Launch::default() };
    run.shaped("exact_block", launch, args![y]);
    assert_eq!(run.read::<u32>(y, 256), (0..256).collect::<Vec<_>>());
    run.launch("cluster_ranks", 2, 64, args![y]);
    assert_eq!(run.read::<u32>(y, 128), [0; 128]);
}
