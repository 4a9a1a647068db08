use super::inputs::Random;
use crate::machine::{Machine, Run, args};

const N: usize = 500;

pub(crate) fn words_are_changed_by_every_operation(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let x = Random(1).vec(N, |bits| bits as u32);
        let start = [0, 0, 0, u32::MAX, 0, 0, 0, 0, u32::MAX, 0, 0];
        let (from, cells, old) = (run.upload(&x), run.upload(&start), run.room::<u32>(N));
        run.launch("atomics_u32", 4, 128, args![from, cells, old, N as u32]);
        let found = run.read::<u32>(cells, 11);
        let sum = x.iter().fold(0u32, |sum, value| sum.wrapping_add(*value));
        let fold = |start: u32, f: fn(u32, u32) -> u32| x.iter().fold(start, |all, value| f(all, *value));
        let counted = (0..N).fold(0u32, |count, _| if count >= 100 { 0 } else { count + 1 });
        let down = (0..N).fold(0u32, |count, _| if count == 0 || count > 100 { 100 } else { count - 1 });
        assert_eq!([found[0], found[1]], [sum, sum.wrapping_neg()]);
        assert!(x.contains(&found[2]) && x.contains(&found[7]));
        assert_eq!(
            [found[3], found[4], found[5], found[6]],
            [*x.iter().min().expect("there are some"), *x.iter().max().expect("there are some"), counted, down]
        );
        assert_eq!(
            [found[8], found[9], found[10]],
            [fold(u32::MAX, |a, b| a & b), fold(0, |a, b| a | b), fold(0, |a, b| a ^ b)]
        );
        // What each addition found is a sum of others: together with its own they make a chain from zero to
        // the end.
        let mut links: Vec<(u32, u32)> =
            run.read::<u32>(old, N).into_iter().zip(&x).map(|(old, x)| (old, old.wrapping_add(*x))).collect();
        let mut at = 0;
        while let Some(index) = links.iter().position(|(from, _)| *from == at) {
            at = links.swap_remove(index).1;
        }
        assert_eq!((at, links.len()), (sum, 0));
    }
}

pub(crate) fn signed_extremes_and_longs(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let x = Random(2).vec(N, |bits| bits as i32);
        let (from, cells, old) = (run.upload(&x), run.upload(&[0, i32::MAX, i32::MIN]), run.room::<i32>(3 * N));
        run.launch("atomics_i32", 4, 128, args![from, cells, old, N as u32]);
        let sum = x.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
        assert_eq!(
            run.read::<i32>(cells, 3),
            [sum, *x.iter().min().expect("there are some"), *x.iter().max().expect("there are some")]
        );

        let x = Random(3).vec(N, |bits| bits);
        let start = [0, 0, u64::MAX, 0, 0, u64::MAX, 0, 0];
        let (from, cells) = (run.upload(&x), run.upload(&start));
        run.launch("atomics_u64", 4, 128, args![from, cells, N as u32]);
        let found = run.read::<u64>(cells, 8);
        let fold = |start: u64, f: fn(u64, u64) -> u64| x.iter().fold(start, |all, value| f(all, *value));
        assert_eq!(found[0], fold(0, u64::wrapping_add));
        assert!(x.contains(&found[1]) && x.contains(&found[4]));
        assert_eq!(
            [found[2], found[3]],
            [*x.iter().min().expect("there are some"), *x.iter().max().expect("there are some")]
        );
        assert_eq!(
            [found[5], found[6], found[7]],
            [fold(u64::MAX, |a, b| a & b), fold(0, |a, b| a | b), fold(0, |a, b| a ^ b)]
        );

        let x = Random(4).vec(N, |bits| bits as i64);
        let (from, cells) = (run.upload(&x), run.upload(&[i64::MAX, i64::MIN]));
        run.launch("atomics_i64", 4, 128, args![from, cells, N as u32]);
        assert_eq!(
            run.read::<i64>(cells, 2),
            [*x.iter().min().expect("there are some"), *x.iter().max().expect("there are some")]
        );
    }
}

pub(crate) fn floats_are_added_one_after_the_other(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let x = Random(5).vec(N, |bits| f32::from(bits as i8));
        let (from, sum, last, wide) = (run.upload(&x), run.upload(&[0f32]), run.upload(&[0f32]), run.upload(&[0f64]));
        run.launch("atomics_float", 4, 128, args![from, sum, last, wide, N as u32]);
        let total: f32 = x.iter().sum();
        assert_eq!(run.read::<f32>(sum, 1), [total]);
        assert_eq!(run.read::<f64>(wide, 1), [f64::from(total)]);
        assert!(x.contains(&run.read::<f32>(last, 1)[0]));
    }
}

pub(crate) fn loops_of_compare_and_swap_count_in_half_words(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let cells = run.upload(&[0u16; 6]);
        run.launch("atomics_u16", 3, 64, args![cells, 5u32]);
        let expected: Vec<u16> =
            (0..6).map(|cell| (0..192).filter(|i| i % 5 == cell && cell < 5).count() as u16).collect();
        assert_eq!(run.read::<u16>(cells, 6), expected);
    }
}

pub(crate) fn shared_memory_has_atomics_too(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let x = Random(6).vec(256, |bits| bits as i32 >> 8);
        let (from, cells) = (run.upload(&x), run.upload(&[0, i32::MIN]));
        run.launch("atomics_scopes", 4, 64, args![from, cells]);
        assert_eq!(run.read::<i32>(cells, 2), [x.iter().sum::<i32>(), *x.iter().max().expect("there are some")]);
    }
}

pub(crate) fn lanes_that_fight_for_a_lock_all_get_it(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let (lock, count) = (run.upload(&[0i32]), run.upload(&[0i32]));
        run.launch("spin_lock", 2, 64, args![lock, count, 3u32]);
        assert_eq!(run.read::<i32>(count, 1), [2 * 64 * 3]);
    }
}

pub(crate) fn everybody_gets_a_ticket(machine: &Machine) {
    for run in Run::each(machine, "atomics") {
        let (next, tickets) = (run.upload(&[0u32]), run.room::<u32>(256));
        run.launch("tickets", 4, 64, args![next, tickets]);
        let mut found = run.read::<u32>(tickets, 256);
        found.sort_unstable();
        assert_eq!(found, (0..256).collect::<Vec<_>>());
    }
}

pub(crate) fn histograms_count_every_byte(machine: &Machine) {
    let run = Run::new(machine, "compute_75/histogram");
    let x = Random(7).vec(5000, |bits| (bits % 37 * (bits >> 32) % 256) as u8);
    let mut expected = [0u32; 256];
    x.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
    for (kernel, grid) in [("histogram_shared", 3), ("histogram_global", 40)] {
        let (from, counts) = (run.upload(&x), run.upload(&[0u32; 256]));
        run.launch(kernel, grid, 128, args![from, counts, 5000u32]);
        assert_eq!(run.read::<u32>(counts, 256), expected, "{kernel}");
    }
}
