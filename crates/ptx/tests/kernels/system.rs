use crate::run::{Random, Run, args};
use warploom_ptx::{Grid, Launch, Step, TrapKind, VecMemory};

#[test]
fn threads_print_in_order_of_their_lanes() {
    let run = Run::new("compute_75/system");
    let from = run.upload(&[1.0f32, 2.345, -0.5, 1e10]);
    run.launch("print_lines", 1, 4, args![from]);
    run.launch("print_greeting", 2, 32, args![]);
    let expected = "thread 0: 1.00 a even -1%\nthread 1: 2.35 b odd -2%\nthread 2: -0.50 c even -3%\n\
                    thread 3: 10000000000.00 d odd -4%\nhello\n";
    assert_eq!(run.memory.printed(), expected);
}

#[test]
fn a_failed_assertion_says_what_and_where() {
    let run = Run::new("compute_75/system");
    let x = [1, 2, 3, -4, 5];
    let from = run.upload(&x);
    run.launch("assert_not_negative", 1, 32, args![from, 3u32]);
    let trap = run.trap("assert_not_negative", 1, 32, args![from, 5u32]);
    let TrapKind::Assert { message, file, function, .. } = &trap.kind else { panic!("{trap}") };
    assert_eq!(message, "x[i] >= 0");
    assert!(file.ends_with("system.cu") && function.contains("assert_not_negative"), "{trap}");
    assert_eq!((trap.block, trap.thread), ([0; 3], [3, 0, 0]));
}

#[test]
fn a_trap_stops_the_grid_and_names_the_thread() {
    let run = Run::new("compute_75/system");
    let mut x = Random(1).vec(128, |bits| bits as i32 | 1);
    x[77] = 42;
    let (from, counted) = (run.upload(&x), run.upload(&[0i32]));
    let trap = run.trap("trap_at", 2, 64, args![from, 42i32, counted]);
    assert_eq!((trap.kind, trap.block, trap.thread), (TrapKind::Trap, [1, 0, 0], [13, 0, 0]));
    assert_eq!(trap.instruction, "trap");
}

#[test]
fn memory_that_is_not_there_stops_the_grid_with_its_address() {
    let run = Run::new("compute_75/system");
    let (from, y) = (run.upload(&[7i32, 8]), run.room::<i32>(1));
    run.launch("read_anywhere", 1, 1, args![from, 1i64, y]);
    assert_eq!(run.read::<i32>(y, 1), [8]);
    let trap = run.trap("read_anywhere", 1, 1, args![from, -1_000_000_000i64, y]);
    assert_eq!(trap.kind, TrapKind::Global(from.wrapping_sub(4_000_000_000)));
    let trap = run.trap("read_anywhere", 1, 1, args![from + 2, 0i64, y]);
    assert_eq!(trap.kind, TrapKind::Misaligned { address: from + 2, alignment: 4 });
}

#[test]
fn a_trap_names_the_line_of_the_source() {
    let run = Run::new("compute_75/lineinfo");
    let (x, y) = (run.upload(&[5i32, 6, 7]), run.room::<i32>(4));
    let at = run.upload(&[2i32, 0, 1, 2]);
    run.launch("gather_lines", 1, 4, args![x, at, y]);
    assert_eq!(run.read::<i32>(y, 4), [21, 15, 18, 21]);
    let at = run.upload(&[2i32, 0, 1_000_000_000, 2]);
    let trap = run.trap("gather_lines", 1, 4, args![x, at, y]);
    let (file, line) = trap.source.clone().expect("the text says it");
    assert!(file.ends_with("lineinfo.cu"), "{file}");
    assert_eq!((line, trap.thread), (6, [2, 0, 0]));
}

#[test]
fn threads_have_a_heap() {
    let run = Run::new("compute_75/system");
    let y = run.room::<i32>(64);
    run.launch("heap_sums", 2, 32, args![y]);
    assert_eq!(run.read::<i32>(y, 64), (0..64).map(|i| i * (i + 1) / 2).collect::<Vec<i32>>());
}

#[test]
fn clocks_go_on_and_places_are_told() {
    let run = Run::new("compute_75/time");
    let y = run.room::<i64>(3);
    run.launch("clocks", 1, 1, args![100u32, y]);
    let found = run.read::<i64>(y, 3);
    assert!(found[0] > 0 && found[2] > 0, "{found:?}");
    run.launch("nap", 1, 1, args![1000u32, y]);

    let y = run.room::<u32>(6 * 80);
    run.launch("whereabouts", 2, 40, args![y]);
    for (i, place) in run.read::<u32>(y, 6 * 80).chunks(6).enumerate() {
        assert_eq!(place, [0, 1, i as u32 % 40 % 32, 40, 2, 32]);
    }
}

#[test]
fn a_kernel_that_waits_goes_on_when_the_host_says_so() {
    let run = Run::new("compute_75/time");
    let (latch, seen) = (run.upload(&[0i32]), run.room::<i32>(1));
    let mut arguments = latch.to_le_bytes().to_vec();
    arguments.extend(seen.to_le_bytes());
    let kernel = run.program.kernel("latch").unwrap();
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(kernel, launch, &run.memory).unwrap();
    assert_eq!((grid.step(5000), grid.step(5000)), (Step::Running, Step::Running));
    write(&run.memory, latch, 9);
    assert_eq!((grid.step(5000), run.read::<i32>(seen, 1)), (Step::Done, vec![9]));
}

fn write(memory: &VecMemory, address: u64, value: i32) {
    use warploom_ptx::{Access, Memory};
    let access = Access { block: [0; 3], warp: 0, lanes: 1, instruction: 0, strong: true };
    memory.store(&access, address, &value.to_le_bytes()).expect("it lies inside");
}

#[test]
fn blocks_may_run_on_threads_of_their_own() {
    let run = Run::new("compute_75/histogram");
    let x = Random(2).vec(4000, |bits| bits as u8);
    let (from, counts) = (run.upload(&x), run.upload(&[0u32; 256]));
    let mut arguments = from.to_le_bytes().to_vec();
    arguments.extend(counts.to_le_bytes());
    arguments.extend(4000u32.to_le_bytes());
    let kernel = run.program.kernel("histogram_shared").unwrap();
    let launch = Launch { grid: [8, 1, 1], block: [128, 1, 1], arguments: &arguments, ..Launch::default() };
    let grid = Grid::new(kernel, launch, &run.memory).unwrap();
    std::thread::scope(|scope| {
        for number in 0..grid.blocks() {
            let mut block = grid.block(number);
            scope.spawn(move || assert_eq!(block.step(u64::MAX), Step::Done));
        }
    });
    let mut expected = [0u32; 256];
    x.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
    assert_eq!(run.read::<u32>(counts, 256), expected);
}
