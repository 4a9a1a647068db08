use super::inputs::Random;
use crate::machine::{Machine, Run, args};

pub(crate) fn votes_are_of_the_whole_warp(machine: &Machine) {
    let run = Run::new(machine, "compute_75/warp");
    for seed in 0..3 {
        let x = Random(seed).vec(64, |bits| if seed == 1 { 5 } else { bits as i32 });
        let (from, answers) = (run.upload(&x), run.room::<u32>(8 * 64));
        run.launch("votes", 1, 64, args![from, answers, 64u32]);
        let found = run.read::<u32>(answers, 8 * 64);
        for i in 0..64 {
            let warp = &x[i / 32 * 32..i / 32 * 32 + 32];
            let ballot = warp.iter().enumerate().fold(0u32, |mask, (lane, x)| mask | u32::from(*x > 0) << lane);
            let lane = i as u32 % 32;
            let bit = 1u32 << lane;
            let expected = [
                ballot,
                u32::from(ballot == u32::MAX),
                u32::from(ballot != 0),
                if i % 2 == 1 { 0xaaaa_aaaa } else { 0 },
                bit - 1,
                bit | (bit - 1),
                !(bit | (bit - 1)),
                !(bit - 1),
            ];
            assert_eq!((0..8).map(|row| found[row * 64 + i]).collect::<Vec<_>>(), expected, "{i}");
        }
    }
}

pub(crate) fn shuffles_take_values_of_other_lanes(machine: &Machine) {
    let run = Run::new(machine, "compute_75/warp");
    let x = Random(4).vec(64, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(6 * 64));
    run.launch("shuffles", 2, 32, args![from, y, 64u32]);
    let found = run.read::<i32>(y, 6 * 64);
    for i in 0..64 {
        let (warp, lane) = (&x[i / 32 * 32..i / 32 * 32 + 32], i % 32);
        let group = lane / 8 * 8;
        let expected = [
            warp[5],
            warp[lane.saturating_sub(1)],
            warp[if lane + 2 < 32 { lane + 2 } else { lane }],
            warp[lane ^ 4],
            warp[group + 1],
            warp[if lane % 8 + 3 < 8 { lane + 3 } else { lane }],
        ];
        assert_eq!((0..6).map(|row| found[row * 64 + i]).collect::<Vec<_>>(), expected, "{i}");
    }
}

pub(crate) fn lanes_with_equal_values_find_each_other(machine: &Machine) {
    let run = Run::new(machine, "compute_75/warp");
    let mut x = Random(5).vec(64, |bits| (bits % 7) as i32 - 3);
    x[32..].fill(9);
    let (from, answers) = (run.upload(&x), run.room::<u32>(4 * 64));
    run.launch("matches", 1, 64, args![from, answers, 64u32]);
    let found = run.read::<u32>(answers, 4 * 64);
    for i in 0..64 {
        let warp = &x[i / 32 * 32..i / 32 * 32 + 32];
        let mask =
            |same: &dyn Fn(i32) -> bool| warp.iter().enumerate().fold(0, |m, (l, x)| m | u32::from(same(*x)) << l);
        let all = if i < 32 { [0, 0] } else { [u32::MAX, 1] };
        let expected = [mask(&|other| other == x[i]), mask(&|other| other * other == x[i] * x[i]), all[0], all[1]];
        assert_eq!((0..4).map(|row| found[row * 64 + i]).collect::<Vec<_>>(), expected, "{i}");
    }
}

pub(crate) fn reductions_of_a_warp_are_one_instruction(machine: &Machine) {
    let run = Run::new(machine, "compute_80/redux");
    let x = Random(6).vec(64, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(9 * 64));
    run.launch("redux", 1, 64, args![from, y, 64u32]);
    let found = run.read::<i32>(y, 9 * 64);
    for i in 0..64 {
        let warp = &x[i / 32 * 32..i / 32 * 32 + 32];
        let bits = || warp.iter().map(|value| *value as u32);
        let sum = warp.iter().fold(0i32, |sum, x| sum.wrapping_add(*x));
        let expected = [
            sum,
            *warp.iter().min().expect("there are some"),
            *warp.iter().max().expect("there are some"),
            sum,
            bits().min().expect("there are some") as i32,
            bits().max().expect("there are some") as i32,
            bits().fold(u32::MAX, |a, b| a & b) as i32,
            bits().fold(0, |a, b| a | b) as i32,
            bits().fold(0, |a, b| a ^ b) as i32,
        ];
        assert_eq!((0..9).map(|row| found[row * 64 + i]).collect::<Vec<_>>(), expected, "{i}");
    }
}
