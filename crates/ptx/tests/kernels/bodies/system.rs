use super::inputs::Random;
use crate::machine::{Machine, Run, args};

pub(crate) fn threads_print(machine: &Machine) {
    let run = Run::new(machine, "compute_75/system");
    let from = run.upload(&[1.0f32, 2.345, -0.5, 1e10]);
    run.launch("print_lines", 1, 4, args![from]);
    run.launch("print_greeting", 2, 32, args![]);
    run.assert_printed(
        "thread 0: 1.00 a even -1%\nthread 1: 2.35 b odd -2%\nthread 2: -0.50 c even -3%\n\
         thread 3: 10000000000.00 d odd -4%\nhello\n",
    );
}

pub(crate) fn assertions_that_hold_are_quiet(machine: &Machine) {
    let run = Run::new(machine, "compute_75/system");
    let from = run.upload(&[1, 2, 3, -4]);
    run.launch("assert_not_negative", 1, 32, args![from, 3u32]);
    run.assert_printed("");
}

pub(crate) fn traps_that_are_not_met_stop_nothing(machine: &Machine) {
    let run = Run::new(machine, "compute_75/system");
    let x = Random(1).vec(128, |bits| bits as i32 | 1);
    let (from, counted) = (run.upload(&x), run.upload(&[0i32]));
    run.launch("trap_at", 2, 64, args![from, 42i32, counted]);
    assert_eq!(run.read::<i32>(counted, 1), [128]);
}

pub(crate) fn memory_is_read_where_the_argument_says(machine: &Machine) {
    let run = Run::new(machine, "compute_75/system");
    let (from, y) = (run.upload(&[7i32, 8]), run.room::<i32>(1));
    run.launch("read_anywhere", 1, 1, args![from, 1i64, y]);
    assert_eq!(run.read::<i32>(y, 1), [8]);
    run.launch("read_anywhere", 1, 1, args![from + 8, -2i64, y]);
    assert_eq!(run.read::<i32>(y, 1), [7]);
}

pub(crate) fn lines_of_the_source_do_not_change_what_is_computed(machine: &Machine) {
    let run = Run::new(machine, "compute_75/lineinfo");
    let (x, y) = (run.upload(&[5i32, 6, 7]), run.room::<i32>(4));
    let at = run.upload(&[2i32, 0, 1, 2]);
    run.launch("gather_lines", 1, 4, args![x, at, y]);
    assert_eq!(run.read::<i32>(y, 4), [21, 15, 18, 21]);
}

pub(crate) fn threads_have_a_heap(machine: &Machine) {
    let run = Run::new(machine, "compute_75/system");
    let y = run.room::<i32>(64);
    run.launch("heap_sums", 2, 32, args![y]);
    assert_eq!(run.read::<i32>(y, 64), (0..64).map(|i| i * (i + 1) / 2).collect::<Vec<i32>>());
}

pub(crate) fn clocks_go_on_and_places_are_told(machine: &Machine) {
    let run = Run::new(machine, "compute_75/time");
    let y = run.room::<i64>(3);
    run.launch("clocks", 1, 1, args![100u32, y]);
    let found = run.read::<i64>(y, 3);
    assert!(found[0] > 0 && found[1] >= 0 && found[2] > 0, "{found:?}");
    run.launch("nap", 1, 1, args![1000u32, y]);
    assert!(run.read::<u64>(y, 1)[0] < 1_000_000_000, "it naps for less than a second");

    let y = run.room::<u32>(6 * 80);
    run.launch("whereabouts", 2, 40, args![y]);
    let found = run.read::<u32>(y, 6 * 80);
    for (block, places) in found.chunks(6 * 40).enumerate() {
        for (i, place) in places.chunks(6).enumerate() {
            assert_eq!(place[0], places[0], "block {block} is on one multiprocessor");
            assert_eq!(place[1..], [1, i as u32 % 32, 40, 2, 32]);
        }
    }
}

pub(crate) fn a_latch_that_is_open_lets_a_kernel_pass(machine: &Machine) {
    let run = Run::new(machine, "compute_75/time");
    let (latch, seen) = (run.upload(&[9i32]), run.room::<i32>(1));
    run.launch("latch", 1, 1, args![latch, seen]);
    assert_eq!(run.read::<i32>(seen, 1), [9]);
}

pub(crate) fn conditions_that_are_not_set_need_no_graph(machine: &Machine) {
    let run = Run::new(machine, "compute_75/conditions");
    let (left, conditions) = (run.upload(&[0u32]), run.upload(&[0u64; 2]));
    run.launch("count_down", 1, 1, args![7u64, left]);
    run.launch("set_conditions", 1, 32, args![conditions, left, 2u32]);
    assert_eq!(run.read::<u32>(left, 1), [0]);
}
