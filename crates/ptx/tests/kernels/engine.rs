//! Tests of the interpreter that no driver can run: traps, single steps, and properties of a text.

use crate::bodies::inputs::Random;
use crate::machine::{Machine, Run, args};
use warploom_ptx::{Grid, Launch, Step, TrapKind, VecMemory};

#[test]
fn a_failed_assertion_says_what_and_where() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/system");
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
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/system");
    let mut x = Random(1).vec(128, |bits| bits as i32 | 1);
    x[77] = 42;
    let (from, counted) = (run.upload(&x), run.upload(&[0i32]));
    let trap = run.trap("trap_at", 2, 64, args![from, 42i32, counted]);
    assert_eq!((trap.kind, trap.block, trap.thread), (TrapKind::Trap, [1, 0, 0], [13, 0, 0]));
    assert_eq!(trap.instruction, "trap");
}

#[test]
fn memory_that_is_not_there_stops_the_grid_with_its_address() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/system");
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
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/lineinfo");
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
fn a_kernel_that_waits_goes_on_when_the_host_says_so() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/time");
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
    let access = Access { block: [0; 3], warp: 0, lanes: 1, readers: 1, instruction: 0, strong: true };
    memory.store(&access, address, &value.to_le_bytes()).expect("it lies inside");
}

#[test]
fn blocks_may_run_on_threads_of_their_own() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/histogram");
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

#[test]
fn arguments_are_as_long_as_the_kernel_says() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/convert");
    let kernel = run.program.kernel("convert_i8").unwrap();
    assert_eq!(kernel.parameters().iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>(), [(0, 8), (8, 80), (88, 4)]);
}

#[test]
fn texts_say_which_variables_are_managed_and_how_many_threads_a_block_may_have() {
    let machine = Machine::default();
    let run = Run::new(&machine, "compute_75/memory");
    assert!(run.program.variables().iter().any(|variable| variable.name == "shared_with_host" && variable.managed));
    let run = Run::new(&machine, "compute_75/bounds");
    assert_eq!(run.program.kernel("bounded").unwrap().max_threads(), Some([128, 1, 1]));
}
