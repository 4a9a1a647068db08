//! Blocks on several threads give the results of one thread.

use warploom_ptx::{Crew, Grid, Launch, Program, Step, TrapKind, VecMemory};

const HEADER: &str = ".version 8.7 .target sm_90 .address_size 64\n";

/// Each thread adds what the hash of its number says to a sum, and writes its number.
const SUM: &str = "
    .visible .entry sum(.param .u64 out, .param .u64 total) {
        .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [total];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
        and.b32 %r5, %r4, 127; mov.u32 %r6, %r4;
    again:
        mul.lo.u32 %r6, %r6, 1664525; add.u32 %r6, %r6, 1013904223;
        setp.ne.u32 %p, %r5, 0; sub.u32 %r5, %r5, 1; @%p bra again;
        red.global.add.u32 [%rd2], %r6;
        mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r6;
        ret;
    }";

/// Each block waits until the one before has been here.
const CHAIN: &str = "
    .visible .entry chain(.param .u64 turn) {
        .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd1;
        ld.param.u64 %rd1, [turn]; mov.u32 %r1, %ctaid.x;
    again:
        ld.volatile.global.u32 %r2, [%rd1]; setp.ne.u32 %p, %r2, %r1; @%p bra again;
        add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1], %r2;
        ret;
    }";

/// Blocks from a number on leave their memory.
const FALL: &str = "
    .visible .entry fall(.param .u32 from) {
        .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd1;
        ld.param.u32 %r1, [from]; mov.u32 %r2, %ctaid.x; setp.lt.u32 %p, %r2, %r1; @%p bra done;
        mov.u64 %rd1, 16; st.global.u32 [%rd1], %r2;
    done:
        ret;
    }";

/// Memory that is reached by calls, and memory that is reached directly.
fn memories() -> [VecMemory; 2] {
    [VecMemory::new(1 << 20), VecMemory::new(1 << 20).reached_directly()]
}

fn to_end(mut step: impl FnMut() -> Step) -> Step {
    loop {
        match step() {
            Step::Running => {}
            end => return end,
        }
    }
}

#[test]
fn results_are_those_of_one_thread() {
    let program = Program::from_text(&format!("{HEADER}{SUM}")).expect("it is valid");
    let kernel = program.kernel("sum").expect("the text has it");
    let mut results = Vec::new();
    for (memory, crew) in memories().iter().flat_map(|memory| [1, 4].map(|size| (memory, Crew::new(size)))) {
        for fuel in [100, 5000, u64::MAX >> 1] {
            let (out, total) = (memory.reserve(200 * 64 * 4), memory.reserve(4));
            let arguments = [out.to_le_bytes(), total.to_le_bytes()].concat();
            let launch = Launch { grid: [200, 1, 1], block: [64, 1, 1], arguments: &arguments, ..Launch::default() };
            let mut grid = Grid::new(kernel, launch, memory).expect("it fits");
            // The two ways of going on may be mixed.
            let mut turns = 0;
            let end = to_end(|| {
                turns += 1;
                if turns % 3 == 0 { grid.step(fuel) } else { grid.step_spread(fuel, &crew) }
            });
            assert_eq!(end, Step::Done);
            results.push((memory.read(out, 200 * 64 * 4), memory.read(total, 4)));
            assert!(grid.instructions() > 200 * 2 * 128);
        }
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn blocks_that_wait_for_earlier_ones_get_on() {
    let program = Program::from_text(&format!("{HEADER}{CHAIN}")).expect("it is valid");
    let kernel = program.kernel("chain").expect("the text has it");
    for memory in memories() {
        for (size, resident) in [(2, 1), (4, 16), (4, 100)] {
            let (crew, turn) = (Crew::new(size), memory.reserve(4));
            let launch = Launch { grid: [100, 1, 1], arguments: &turn.to_le_bytes(), resident, ..Launch::default() };
            let mut grid = Grid::new(kernel, launch, &memory).expect("it fits");
            assert_eq!(to_end(|| grid.step_spread(20_000, &crew)), Step::Done);
            assert_eq!(memory.read(turn, 4), 100u32.to_le_bytes());
        }
    }
}

#[test]
fn a_block_that_traps_ends_all_and_is_named() {
    let program = Program::from_text(&format!("{HEADER}{FALL}")).expect("it is valid");
    let kernel = program.kernel("fall").expect("the text has it");
    let (memory, crew) = (VecMemory::new(64), Crew::new(3));
    for from in [0u32, 150, 999] {
        let launch = Launch { grid: [1000, 1, 1], arguments: &from.to_le_bytes(), ..Launch::default() };
        let mut grid = Grid::new(kernel, launch, &memory).expect("it fits");
        let Step::Trapped(trap) = to_end(|| grid.step_spread(1 << 20, &crew)) else { panic!("it ended") };
        assert_eq!(trap.kind, TrapKind::Global(16));
        assert!(trap.block[0] >= from, "{trap}");
        assert_eq!((grid.step_spread(1, &crew), grid.step(1)), (Step::Trapped(trap.clone()), Step::Trapped(trap)));
    }
}
