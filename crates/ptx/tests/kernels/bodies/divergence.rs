use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn jumps_by_table_go_sixteen_ways(machine: &Machine) {
    let run = Run::new(machine, "compute_75/jump");
    let x = Random(1).vec(256, |bits| bits as u32);
    let (from, y) = (run.upload(&x), run.room::<u32>(256));
    run.launch("switch_jump", 2, 128, args![from, y]);
    let expected: Vec<u32> = x
        .into_iter()
        .map(|v| match v % 17 {
            0 => v.wrapping_mul(3).wrapping_add(1),
            1 => v ^ 0x5555_5555,
            2 => v / 7,
            3 => v % 1000,
            4 => v.count_ones(),
            5 => v.reverse_bits(),
            6 => v.leading_zeros(),
            7 => v << 3,
            8 => v >> 5,
            9 => !v,
            10 => v & 0xff00_ff00,
            11 => v | 0x0f0f_0f0f,
            12 => v.wrapping_neg(),
            13 => v.wrapping_mul(v),
            14 => ((u64::from(v) * u64::from(v)) >> 32) as u32,
            15 => v.trailing_zeros() + 1,
            _ => v,
        })
        .collect();
    assert_eq!(run.read::<u32>(y, 256), expected);
}

/// The interpreter inside of the kernel, in Rust.
fn bytecode(program: &[u32], start: u32, cells: &mut [u32], mut fuel: u32) -> u32 {
    let (mut accumulator, mut at) = (start, 0u32);
    while (at as usize) < program.len() && fuel > 0 {
        fuel -= 1;
        let word = program[at as usize];
        at += 1;
        let operand = word >> 4;
        let cell = (operand & 31) as usize;
        match word & 15 {
            0 => accumulator = operand,
            1 => accumulator = accumulator.wrapping_add(operand),
            2 => accumulator = accumulator.wrapping_sub(operand),
            3 => accumulator = accumulator.wrapping_mul(operand),
            4 => accumulator /= operand | 1,
            5 => accumulator ^= operand,
            6 => accumulator = cells[cell],
            7 => cells[cell] = accumulator,
            8 => accumulator = accumulator.wrapping_add(cells[cell]),
            9 if accumulator == 0 => at = operand,
            10 if accumulator != 0 => at = operand,
            9 | 10 => {}
            11 => at = operand,
            12 => at = program.len() as u32,
            13 => accumulator = !accumulator,
            14 => accumulator >>= cell,
            _ => accumulator <<= cell,
        }
    }
    accumulator
}

pub(crate) fn an_interpreter_in_a_kernel_takes_every_lane_its_own_way(machine: &Machine) {
    let run = Run::new(machine, "compute_75/jump");
    // Counts down from the thread's number, then mixes.
    let word = |code: u32, operand: u32| operand << 4 | code;
    let mut program = vec![word(1, 3), word(7, 1), word(6, 1), word(2, 1), word(7, 1), word(10, 2)];
    program.extend(
        Random(2).vec(40, |bits| bits as u32 & 0xff).into_iter().filter(|word| !(9..=12).contains(&(word & 15))),
    );
    let cells: Vec<u32> = (0..64 * 32).collect();
    let (code, memory, y) = (run.upload(&program), run.upload(&cells), run.room::<u32>(64));
    run.launch("bytecode", 2, 32, args![code, program.len() as u32, memory, y, 1000u32]);
    let mut cells = cells;
    let expected: Vec<u32> =
        (0..64).map(|i| bytecode(&program, i as u32, &mut cells[32 * i..32 * (i + 1)], 1000)).collect();
    assert_eq!(run.read::<u32>(y, 64), expected);
    assert_eq!(run.read::<u32>(memory, 64 * 32), cells);
}

pub(crate) fn lanes_meet_again_behind_a_loop_of_different_lengths(machine: &Machine) {
    let run = Run::new(machine, "compute_75/warp");
    let x = Random(3).vec(64, |bits| bits as u32 % 1000);
    let (from, steps, sums) = (run.upload(&x), run.room::<u32>(64), run.room::<u32>(64));
    run.launch("divergent_collatz", 1, 64, args![from, steps, sums]);
    let collatz = |mut value: u32| {
        let mut count = 0;
        while value > 1 {
            value = if value % 2 == 1 { 3 * value + 1 } else { value / 2 };
            count += 1;
        }
        count
    };
    let expected: Vec<u32> = x.into_iter().map(collatz).collect();
    assert_eq!(run.read::<u32>(steps, 64), expected);
    let totals: Vec<u32> = (0..64).map(|i| expected[i / 32 * 32..i / 32 * 32 + 32].iter().sum()).collect();
    assert_eq!(run.read::<u32>(sums, 64), totals);
}

pub(crate) fn pixels_that_escape_leave_their_warp_early(machine: &Machine) {
    let run = Run::new(machine, "compute_75/mandelbrot");
    let (width, height, limit) = (40, 24, 60);
    let steps = run.room::<u32>(width * height);
    let launch = Shape { grid: [5, 3, 1], block: [8, 8, 1], ..Shape::default() };
    let (w, h) = (width as u32, height as u32);
    run.shaped("mandelbrot", launch, args![steps, w, h, -2f32, -1.2f32, 0.075f32, limit]);
    let found = run.read::<u32>(steps, width * height);
    for (i, found) in found.into_iter().enumerate() {
        let (cx, cy) = (-2f32 + (i % width) as f32 * 0.075, -1.2f32 + (i / width) as f32 * 0.075);
        let (mut x, mut y, mut count) = (0f32, 0f32, 0);
        while count < limit && x * x + y * y <= 4.0 {
            (x, y) = ((x * x - y * y) + cx, 2.0 * (x * y) + cy);
            count += 1;
        }
        assert_eq!(found, count, "pixel {i}");
    }

    run.launch("mandelbrot_f64", 3, 50, args![steps, w, h, -2f64, -1.2f64, 0.075f64, limit]);
    for (i, found) in run.read::<u32>(steps, width * height).into_iter().enumerate() {
        let (px, py) = ((i % width) as f64, (i / width) as f64);
        let (cx, cy) = (px.mul_add(0.075, -2.0), py.mul_add(0.075, -1.2));
        let (mut x, mut y, mut count) = (0f64, 0f64, 0);
        while count < limit && x.mul_add(x, y * y) <= 4.0 {
            let next = x.mul_add(x, (-y).mul_add(y, cx));
            y = (2.0 * x).mul_add(y, cy);
            x = next;
            count += 1;
        }
        assert_eq!(found, count, "pixel {i}");
    }
}
