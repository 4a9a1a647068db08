use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn constants_hold_what_the_text_says(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let x = Random(1).vec(104, |bits| f32::from(bits as i8));
    let (from, y) = (run.upload(&x), run.room::<f32>(100));
    run.launch("convolve_constant", 1, 128, args![from, y, 100u32]);
    let weights = [0.0625f32, 0.25, 0.375, 0.25, 0.0625];
    let expected: Vec<f32> = (0..100).map(|i| (0..5).fold(0f32, |sum, k| weights[k].mul_add(x[i + k], sum))).collect();
    assert_eq!(run.read::<f32>(y, 100), expected);

    let y = run.room::<f64>(18);
    run.launch("read_initial", 1, 1, args![y]);
    let expected = [3.0, -1.0, 2.0, 127.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, -2.0, 3.0, -4.0, 5.0, -6.0, -4.0, 118.0, -5.5];
    assert_eq!(run.read::<f64>(y, 18), expected);
}

pub(crate) fn variables_hold_addresses_of_others(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let (which, y) = (run.upload(&[2u32, 0, 1, 2]), run.upload(&[0u8; 32]));
    run.launch("read_words", 1, 4, args![which, y]);
    assert_eq!(run.read::<u8>(y, 32), b"three\0\0\0one\0\0\0\0\0two\0\0\0\0\0three\0\0\0");
}

pub(crate) fn variables_outlive_a_kernel(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let y = run.room::<u64>(8);
    for round in 0..3 {
        run.launch("count_calls", 2, 4, args![y, 5i32]);
        let mut found = run.read::<u64>(y, 8);
        found.sort_unstable();
        assert_eq!(found, (8 * round..8 * round + 8).collect::<Vec<_>>());
    }
}

pub(crate) fn shared_memory_of_the_launch_turns_a_row_around(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let x = Random(2).vec(200, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(200));
    let launch = Shape { grid: [2, 1, 1], block: [100, 1, 1], dynamic_shared: 400, ..Shape::default() };
    run.shaped("reverse_dynamic", launch, args![from, y]);
    let expected: Vec<i32> = x.chunks(100).flat_map(|part| part.iter().rev().copied()).collect();
    assert_eq!(run.read::<i32>(y, 200), expected);
}

pub(crate) fn one_pointer_leads_to_every_space(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let x = Random(3).vec(64, |bits| bits as i32);
    let (from, y, spaces) = (run.upload(&x), run.room::<i32>(64), run.room::<u32>(64));
    run.launch("generic_pointers", 1, 64, args![from, y, spaces]);
    let expected: Vec<i32> = (0..64i32)
        .map(|i| match i % 4 {
            0 => x[i as usize],
            1 => 100 + i,
            2 if i / 4 % 2 == 0 => i,
            2 => -i,
            _ => 0,
        })
        .collect();
    assert_eq!(run.read::<i32>(y, 64), expected);
    let expected: Vec<u32> = (0..64).map(|i| [1, 2, 4, 8][i % 4]).collect();
    assert_eq!(run.read::<u32>(spaces, 64), expected);
}

pub(crate) fn warps_hand_over_by_flags_and_by_named_barriers(machine: &Machine) {
    let run = Run::new(machine, "compute_75/memory");
    let x = Random(4).vec(64, |bits| bits as i32 >> 2);
    let (from, y) = (run.upload(&x), run.room::<i32>(64));
    run.launch("hand_over", 1, 64, args![from, y]);
    assert_eq!(run.read::<i32>(y, 32), x[..32].iter().map(|x| 2 * x).collect::<Vec<_>>());
    run.launch("named_barriers", 1, 128, args![from, y]);
    assert_eq!(run.read::<i32>(y, 64), x.iter().rev().copied().collect::<Vec<_>>());
}
