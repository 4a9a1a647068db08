//! An unwritten register is zero, even if its memory belonged to another block before.

use std::fmt::Write;

use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};

const WORDS: u64 = 6;
const LONGS: u64 = 2;
const THREADS: u32 = 80;
const BLOCKS: u32 = 4;
/// Bytes that a thread writes: all its words and longs.
const SHARE: u64 = WORDS * 4 + LONGS * 8;

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn word(&mut self) -> String {
        format!("%r{}", self.below(WORDS))
    }

    fn long(&mut self) -> String {
        format!("%rd{}", self.below(LONGS))
    }

    /// Often none.
    fn guard(&mut self) -> String {
        match self.below(3) {
            0 => format!("@{}%p{} ", ["", "!"][self.below(2) as usize], self.below(3)),
            _ => String::new(),
        }
    }

    fn statement(&mut self) -> String {
        let guard = self.guard();
        let (d, a, b) = (self.word(), self.word(), self.word());
        let (wide, other) = (self.long(), self.long());
        match self.below(9) {
            0 | 1 => format!("{guard}mov.u32 {d}, {};", self.below(1000)),
            2 => format!("{guard}add.u32 {d}, {a}, {b};"),
            3 => format!("{guard}xor.b32 {d}, {a}, %own;"),
            4 => format!("{guard}cvt.u64.u32 {wide}, {a};"),
            5 => format!("{guard}add.u64 {wide}, {wide}, {other};"),
            6 => format!("{guard}mov.b64 {{{d}, {a}}}, {wide};"),
            7 => format!("{guard}ld.param.u32 {d}, [number];"),
            // Those whose partner is not there get what the partner's register holds.
            _ => {
                let distance = 1 << self.below(5);
                format!("{guard}activemask.b32 %bit; {guard}shfl.sync.bfly.b32 {d}, {a}, {distance}, 31, %bit;")
            }
        }
    }

    /// Statements, forks and loops; labels are told apart by what is counted.
    fn body(&mut self, depth: u32, labels: &mut u32) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.below(4) {
            *labels += 1;
            let (label, predicate) = (*labels, self.below(3));
            match self.below(5) {
                0 if depth > 0 => {
                    let inner = self.body(depth - 1, labels);
                    let _ = writeln!(text, "@%p{predicate} bra F{label};\n{inner}F{label}:");
                }
                1 if depth > 0 => {
                    let (one, two) = (self.body(depth - 1, labels), self.body(depth - 1, labels));
                    let _ =
                        writeln!(text, "@%p{predicate} bra E{label};\n{one}bra F{label};\nE{label}:\n{two}F{label}:");
                }
                2 if depth > 0 => {
                    let inner = self.body(depth - 1, labels);
                    let _ = writeln!(text, "mov.u32 %i{depth}, 0;\nL{label}:\n{inner}add.u32 %i{depth}, %i{depth}, 1;");
                    let _ = writeln!(text, "setp.lt.u32 %q, %i{depth}, 2;\n@%q bra L{label};");
                }
                _ => {
                    let statement = self.statement();
                    let _ = writeln!(text, "{statement}");
                }
            }
        }
        text
    }

    /// A kernel that ends by writing down all registers, or what some path leaves of them.
    fn kernel(&mut self) -> String {
        let body = self.body(3, &mut 0);
        let mut end = String::new();
        for word in 0..WORDS {
            let _ = writeln!(end, "{}st.global.u32 [%out+{}], %r{word};", self.guard(), word * 4);
        }
        for long in 0..LONGS {
            let _ = writeln!(end, "{}st.global.u64 [%out+{}], %rd{long};", self.guard(), WORDS * 4 + long * 8);
        }
        format!(
            ".version 8.7 .target sm_90 .address_size 64
             .visible .entry kernel(.param .u64 memory, .param .u32 number) {{
                 .reg .pred %p<3>, %q; .reg .b32 %r<{WORDS}>, %i<9>, %own, %block, %index, %bit; .reg .b64 %rd<{LONGS}>, %out, %base;
                 ld.param.u64 %base, [memory];
                 mov.u32 %own, %tid.x;
                 mov.u32 %block, %ctaid.x;
                 mad.lo.u32 %index, %block, {THREADS}, %own;
                 mad.wide.u32 %out, %index, {SHARE}, %base;
                 mul.lo.u32 %index, %index, 0x9e3779b1;
                 shr.u32 %index, %index, 27;
                 and.b32 %bit, %index, 1; setp.ne.u32 %p0, %bit, 0;
                 and.b32 %bit, %block, 1; setp.ne.u32 %p1, %bit, 0;
                 and.b32 %bit, %index, 6; setp.eq.u32 %p2, %bit, 0;
                 {body}
                 {end}
                 ret;
             }}"
        )
    }
}

/// The bytes that all threads write, in a grid whose blocks reuse each other's memory, or each in its own.
fn written(program: &Program, takes_over: bool) -> Vec<u8> {
    let memory = VecMemory::new(64 << 10);
    let bytes = (u64::from(THREADS * BLOCKS) * SHARE) as usize;
    let out = memory.upload(&vec![0xa5; bytes]);
    let mut arguments = out.to_le_bytes().to_vec();
    arguments.extend(77u32.to_le_bytes());
    let launch = Launch {
        grid: [BLOCKS, 1, 1],
        block: [THREADS, 1, 1],
        arguments: &arguments,
        resident: 1,
        ..Launch::default()
    };
    let kernel = program.kernel("kernel").expect("all texts have it");
    let mut grid = Grid::new(kernel, launch, &memory).expect("the arguments are the kernel's");
    if takes_over {
        assert_eq!(grid.step(1 << 20), Step::Done);
    } else {
        (0..grid.blocks()).for_each(|number| assert_eq!(grid.block(number).step(1 << 20), Step::Done));
    }
    memory.read(out, bytes)
}

#[test]
fn a_block_does_not_see_registers_of_the_one_before() {
    let mut chance = Chance(11);
    for _ in 0..400 {
        let text = chance.kernel();
        let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(written(&program, true), written(&program, false), "{text}");
    }
}

/// A function that is called again reuses the registers of the function that was called before it.
#[test]
fn a_function_does_not_see_what_the_one_before_it_left_behind() {
    let text = ".version 8.7 .target sm_90 .address_size 64
        .func leaves() { .reg .b32 %r<9>; mov.u32 %r1, 7; mov.u32 %r2, 8; mov.u32 %r3, %r1; add.u32 %r3, %r3, %r2; ret; }
        .func (.reg .b32 back) finds(.reg .b32 own) {
            .reg .b32 %r<9>; .reg .pred %p;
            setp.lt.u32 %p, own, 16;
            @%p mov.u32 %r1, 100;
            @%p bra OUT;
            mov.u32 %r2, 1;
            OUT: add.u32 back, %r1, %r2;
            ret;
        }
        .visible .entry kernel(.param .u64 memory) {
            .reg .b32 %own, %found; .reg .b64 %out;
            ld.param.u64 %out, [memory];
            mov.u32 %own, %tid.x;
            mad.wide.u32 %out, %own, 4, %out;
            call leaves;
            call (%found), finds, (%own);
            st.global.u32 [%out], %found;
            ret;
        }";
    let program = Program::from_text(text).unwrap();
    let memory = VecMemory::new(4096);
    let out = memory.reserve(128);
    let arguments = out.to_le_bytes();
    let launch = Launch { block: [32, 1, 1], arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(program.kernel("kernel").unwrap(), launch, &memory).unwrap();
    assert_eq!(grid.step(1000), Step::Done);
    let expected: Vec<u8> = (0..32u32).flat_map(|lane| if lane < 16 { 100u32 } else { 1 }.to_le_bytes()).collect();
    assert_eq!(memory.read(out, 128), expected);
}

/// The first block fills a register in all lanes; in the second, half of them have gone elsewhere when the
/// others ask for it.
#[test]
fn lanes_do_not_get_from_others_what_those_never_wrote() {
    let text = ".version 8.7 .target sm_90 .address_size 64
        .visible .entry kernel(.param .u64 memory) {
            .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
            ld.param.u64 %rd1, [memory];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %ctaid.x;
            shl.b32 %r3, %r2, 4;
            setp.lt.u32 %p1, %r1, %r3;
            @%p1 bra OUT;
            add.u32 %r4, %r1, 100;
            activemask.b32 %r5;
            shfl.sync.bfly.b32 %r6, %r4, 16, 31, %r5;
            mad.lo.u32 %r7, %r2, 32, %r1;
            mad.wide.u32 %rd2, %r7, 4, %rd1;
            st.global.u32 [%rd2], %r6;
            OUT: ret;
        }";
    let program = Program::from_text(text).unwrap();
    let memory = VecMemory::new(4096);
    let out = memory.reserve(256);
    let arguments = out.to_le_bytes();
    let launch = Launch { grid: [2, 1, 1], block: [32, 1, 1], arguments: &arguments, resident: 1, ..Launch::default() };
    let mut grid = Grid::new(program.kernel("kernel").unwrap(), launch, &memory).unwrap();
    assert_eq!(grid.step(1000), Step::Done);
    let expected = (0..64u32).map(|thread| if thread < 32 { (thread ^ 16) + 100 } else { 0 });
    assert_eq!(memory.read(out, 256), expected.flat_map(u32::to_le_bytes).collect::<Vec<_>>());
}
