//! Small programs: single instructions, and traps.

use warploom_ptx::{Grid, Launch, Program, Step, Trap, TrapKind, VecMemory};

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// Words that one block of threads leaves at `out`, in `%rd1`, after some instructions.
fn run_with(outside: &str, body: &str, threads: u32, words: usize, fuel: u64) -> Result<Vec<u32>, Box<Trap>> {
    let text = format!(
        "{HEADER}{outside}\n.visible .entry k(.param .u64 out) {{\n.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<24>; \
         .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .f64 %fd<4>;\nld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd1;\n{body}\nret;\n}}"
    );
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(1 << 16);
    let program = memory.place(&program);
    let out = memory.reserve(words * 4);
    let launch = Launch { block: [threads, 1, 1], arguments: &out.to_le_bytes(), ..Launch::default() };
    let mut grid = Grid::new(program.kernel("k").expect("it is there"), launch, &memory).expect("it fits");
    for _ in 0..100_000 {
        match grid.step(fuel) {
            Step::Running => {}
            Step::Done => {
                let bytes = memory.read(out, words * 4);
                return Ok(bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect());
            }
            Step::Trapped(trap) => return Err(Box::new(trap)),
        }
    }
    panic!("it does not end");
}

/// The value of `%r2` after each of some instructions.
#[track_caller]
fn results<const N: usize>(instructions: [&str; N]) -> [u32; N] {
    let body: String = instructions
        .iter()
        .enumerate()
        .map(|(index, instruction)| format!("{instruction}\nst.global.u32 [%rd1+{}], %r2;\n", index * 4))
        .collect();
    run_with("", &body, 1, N, 1000)
        .unwrap_or_else(|trap| panic!("{trap}"))
        .try_into()
        .expect("as many as there are instructions")
}

#[track_caller]
fn trap(outside: &str, body: &str, threads: u32) -> Trap {
    *run_with(outside, body, threads, 64, 1000).expect_err("it should trap")
}

#[test]
fn selections_and_comparisons_to_numbers() {
    let found = results([
        "set.lt.u32.s32 %r2, -1, 0;",
        "set.lt.u32.u32 %r2, -1, 0;",
        "set.gtu.f32.f32 %r2, 0f7FC00000, 0f00000000;",
        "slct.u32.s32 %r2, 5, 6, -1;",
        "slct.u32.f32 %r2, 5, 6, 0f80000000;",
        "setp.eq.s32 %p1|%p2, 1, 2; selp.u32 %r2, 7, 8, %p2;",
        "setp.ne.and.s32 %p3, 1, 2, !%p1; selp.u32 %r2, 7, 8, %p3;",
        "testp.subnormal.f32 %p4, 0f00000001; selp.u32 %r2, 1, 0, %p4;",
        "mov.pred %p5, 1; xor.pred %p5, %p5, %p4; selp.u32 %r2, 1, 0, %p5;",
        "setp.lo.u32 %p6, 1, -1; selp.u32 %r2, 1, 0, %p6;",
    ]);
    assert_eq!(found, [u32::MAX, 0, 0x3f80_0000, 6, 5, 7, 7, 1, 0, 1]);
}

#[test]
fn numbers_are_taken_apart_and_put_together() {
    let found = results([
        "mov.b32 %r2, {1, 2};",
        "mov.b32 {%rs1, %rs2}, 0x00070009; cvt.u32.u16 %r2, %rs2;",
        "mov.b64 %rd3, {3, 4}; mov.b64 {_, %r2}, %rd3;",
        "mov.b64 %rd3, 0x0004000300020001; mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd3; cvt.u32.u16 %r2, %rs3;",
        "mov.f32 %f1, 1.5; mov.b32 %r2, %f1;",
        "mov.f64 %fd1, 0d3FF8000000000000; cvt.rn.f32.f64 %f1, %fd1; mov.b32 %r2, %f1;",
        "copysign.f32 %f1, 0fBF800000, 0f40000000; mov.b32 %r2, %f1;",
        "cvt.rna.tf32.f32 %r2, 0f3F801000;",
        "cvt.sat.u8.s32 %r2, 300;",
        "cvt.rn.satfinite.f16x2.f32 %r2, 0f7F000000, 0f3F800000;",
        "prmt.b32.rc8 %r2, 0x11223344, 0, 2;",
        "szext.clamp.s32 %r2, 0x0000000c, 4;",
        "fns.b32 %r2, 0x00000014, 0, 2;",
        "min.xorsign.abs.f32 %f1, 0fC0000000, 0f40400000; mov.b32 %r2, %f1;",
    ]);
    let expected = [
        0x0002_0001,
        7,
        4,
        3,
        0x3fc0_0000,
        0x3fc0_0000,
        0xc000_0000,
        0x3f80_2000,
        255,
        0x7bff_3c00,
        0x2222_2222,
        0xffff_fffc,
        4,
        0xc000_0000,
    ];
    assert_eq!(found, expected);
}

#[test]
fn names_of_inner_blocks_hide_those_of_outer_ones() {
    let body = "{ .reg .b32 x; mov.u32 x, 5; { .reg .b32 x; mov.u32 x, 6; bra again; again: st.global.u32 [%rd1], x; }
        bra again; st.global.u32 [%rd1+8], 1; again: st.global.u32 [%rd1+4], x; }
        .reg .v2 .b32 pair; mov.u32 pair.x, 8; mov.u32 pair.y, 9; st.global.v2.u32 [%rd1+8], {pair.x, pair.y};";
    assert_eq!(run_with("", body, 1, 4, 1000).unwrap(), [5 + 1, 5, 8, 9]);
}

#[test]
fn functions_may_take_and_give_registers() {
    let outside = ".func (.reg .b32 sum) plus(.reg .b32 a, .reg .b32 b) { add.u32 sum, a, b; ret; }";
    let body = "call (%r2), plus, (%r1, 40); st.global.u32 [%rd2], %r2;";
    assert_eq!(run_with(outside, body, 3, 3, 1000).unwrap(), [40, 41, 42]);
}

#[test]
fn a_grid_gives_the_same_however_often_it_is_stopped() {
    let body = "mov.u32 %r2, 0; mov.u32 %r3, 0;
        loop: setp.gt.u32 %p1, %r3, %r1; @%p1 bra done; add.u32 %r2, %r2, %r3; add.u32 %r3, %r3, 1; bra loop;
        done: shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; bar.sync 0; add.u32 %r2, %r2, %r4; st.global.u32 [%rd2], %r2;";
    let whole = run_with("", body, 64, 64, u64::MAX).unwrap();
    let sum = |n: u32| n * (n + 1) / 2;
    assert_eq!(whole, (0..64).map(|i| sum(i) + sum(i ^ 1)).collect::<Vec<_>>());
    for fuel in [1, 7, 100] {
        assert_eq!(run_with("", body, 64, 64, fuel).unwrap(), whole);
    }
}

#[test]
fn lanes_on_different_ways_meet_at_a_barrier_of_their_warp() {
    let body = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra even;
        bar.warp.sync -1; mov.u32 %r3, 1; bra both;
        even: bar.warp.sync -1; mov.u32 %r3, 2;
        both: st.global.u32 [%rd2], %r3;";
    assert_eq!(run_with("", body, 32, 4, 1000).unwrap(), [2, 1, 2, 1]);
}

#[test]
fn a_generic_atomic_reaches_the_memory_of_a_thread() {
    let body = ".local .align 8 .b8 mine[16]; st.local.u32 [mine+4], %r1;
        mov.u64 %rd3, mine; cvta.local.u64 %rd3, %rd3; atom.add.u32 %r2, [%rd3+4], 10; ld.local.u32 %r3, [mine+4];
        mad.lo.u32 %r4, %r3, 100, %r2; st.global.u32 [%rd2], %r4;";
    assert_eq!(run_with("", body, 32, 3, 1000).unwrap(), [1000, 1101, 1202]);
    let outside = ".local .align 8 .b8 mine[16]; mov.u64 %rd3, mine; cvta.local.u64 %rd3, %rd3; atom.add.u32 %r2, [%rd3+524288], 1;";
    assert!(matches!(trap("", outside, 1).kind, TrapKind::Local(_)));
}

#[test]
fn an_out_of_bounds_access_traps_with_its_thread() {
    let shared = ".shared .align 4 .b8 part[64];";
    let store = "mov.u32 %r2, part; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], 1;";
    let found = trap(shared, store, 32);
    assert_eq!((found.kind, found.thread), (TrapKind::Shared { address: 64, size: 64 }, [16, 0, 0]));
    let found = trap(shared, "ld.shared.u32 %r2, [part+62];", 1);
    assert_eq!(found.kind, TrapKind::Misaligned { address: 62, alignment: 4 });
    let local = ".local .align 4 .b8 mine[16]; mov.u32 %r2, mine; ld.local.u32 %r3, [%r2+4096];";
    assert_eq!(trap("", local, 1).kind, TrapKind::Local(4096));
    let found = trap("", "mov.u64 %rd3, 64; st.global.u32 [%rd3], %r1;", 1);
    assert_eq!((found.kind, found.instruction.as_str(), found.place.line), (TrapKind::Global(64), "st.global.u32", 9));
    assert_eq!(trap("", "ld.param.u32 %r2, [out+8];", 1).kind, TrapKind::Parameter(8));
}

#[test]
fn generic_loads_of_one_warp_from_several_spaces_keep_to_their_lanes() {
    let shared = ".shared .align 4 .b8 part[64];";
    let load = "st.global.u32 [%rd2], %r1; mov.u32 %r2, part; st.shared.u32 [%r2], 77; bar.sync 0;
        mov.u64 %rd3, part; cvta.shared.u64 %rd3, %rd3;
        setp.lt.u32 %p1, %r1, 16; selp.b64 %rd4, %rd2, %rd3, %p1;
        ld.u32 %r3, [%rd4]; st.global.u32 [%rd2], %r3;";
    let expected: Vec<u32> = (0..16).chain([77; 16]).collect();
    assert_eq!(run_with(shared, load, 32, 32, 1000).unwrap(), expected);
}

#[test]
fn threads_that_wait_for_each_other_in_vain_trap() {
    let found = trap("", "setp.eq.u32 %p1, %r1, 0; @%p1 bra one; bar.sync 1; bra end; one: bar.sync 2; end:", 64);
    assert!(matches!(found.kind, TrapKind::Deadlock(_)), "{found}");
    let lonely = "setp.eq.u32 %p1, %r1, 0; @%p1 bra one; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; bra end;
        one: shfl.sync.up.b32 %r2, %r1, 1, 0, -1; end:";
    assert!(matches!(trap("", lonely, 32).kind, TrapKind::Deadlock(_)));
    assert_eq!(trap("", "mov.u32 %r2, 16; bar.sync %r2;", 32).kind, TrapKind::Barrier { barrier: 16, threads: 0 });
    assert_eq!(trap("", "bar.sync 1, 33;", 64).kind, TrapKind::Barrier { barrier: 1, threads: 33 });
}

#[test]
fn calls_without_end_and_calls_of_nothing_trap() {
    let outside = ".func forever() { call forever; ret; }";
    assert!(matches!(trap(outside, "call forever;", 1).kind, TrapKind::Stack { .. }));
    let body = "shape: .callprototype _ (); mov.u64 %rd3, 4096; call %rd3, (), shape;";
    assert_eq!(trap("", body, 1).kind, TrapKind::Call(4096));
    let body = "list: .branchtargets here, here; mov.u32 %r2, 2; brx.idx %r2, list; here:";
    assert_eq!(trap("", body, 1).kind, TrapKind::BranchIndex { index: 2, count: 2 });
}

#[test]
fn barriers_do_not_wait_for_threads_that_have_ended() {
    let body = "setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0; st.global.u32 [%rd2], 1;";
    assert_eq!(run_with("", body, 64, 32, 1000).unwrap(), [1; 32]);
}

#[test]
fn lanes_with_masks_of_their_own_meet_those_of_the_same_mask() {
    // Even lanes and odd lanes each name themselves, at the same instructions.
    let body = "and.b32 %r2, %r1, 1; shl.b32 %r3, 0x55555555, %r2;\n\
        redux.sync.add.u32 %r4, %r1, %r3; st.global.u32 [%rd2], %r4;\n\
        setp.lt.u32 %p1, %r1, 3; vote.sync.ballot.b32 %r5, %p1, %r3; st.global.u32 [%rd2+128], %r5;\n\
        shr.u32 %r6, %r1, 2; match.any.sync.b32 %r7, %r6, %r3; st.global.u32 [%rd2+256], %r7;\n\
        elect.sync %r8|%p2, %r3; st.global.u32 [%rd2+384], %r8;";
    let found = run_with("", body, 32, 128, 1000).unwrap_or_else(|trap| panic!("{trap}"));
    for lane in 0..32 {
        let odd = lane % 2;
        assert_eq!(found[lane], 240 + 16 * odd as u32);
        assert_eq!(found[32 + lane], [0b101, 0b010][odd]);
        assert_eq!(found[64 + lane], 0b101 << odd << (lane / 4 * 4));
        assert_eq!(found[96 + lane], odd as u32);
    }
}

#[test]
fn a_fragment_needs_all_lanes_and_an_address_that_is_a_multiple() {
    let load = |space: &str, address: &str| {
        format!(
            "wmma.load.a.sync.aligned.row.m16n16k16{space}.f16 {{%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}}, [{address}];"
        )
    };
    let some = format!("setp.lt.u32 %p1, %r1, 16; @%p1 {}", load(".global", "%rd1"));
    assert!(matches!(trap("", &some, 32).kind, TrapKind::Deadlock(_)));
    assert!(matches!(trap("", &load(".global", "%rd1+2"), 32).kind, TrapKind::Misaligned { alignment: 4, .. }));
    let shared = ".shared .align 16 .b8 part[1024];";
    assert!(matches!(trap(shared, &load(".shared", "part+4"), 32).kind, TrapKind::Misaligned { alignment: 16, .. }));
}

#[test]
fn registers_of_128_bits_are_packed_loaded_stored_and_passed() {
    let outside = ".func (.reg .b128 back) swapped(.reg .b128 from) { .reg .b64 %a, %b;\n\
        mov.b128 {%a, %b}, from; mov.b128 back, {%b, %a}; ret; }\n.shared .b128 there;";
    let body = ".reg .b128 %w<4>; mov.u64 %rd3, 0x8182838485868788; mov.u64 %rd4, 0x1112131415161718;\n\
        mov.b128 %w1, {%rd3, %rd4}; st.global.b128 [%rd1], %w1; ld.global.b128 %w2, [%rd1];\n\
        mov.b128 {%r2, %r3, _, %r4}, %w2; st.global.v2.u32 [%rd1+16], {%r2, %r3}; st.global.u32 [%rd1+24], %r4;\n\
        call (%w3), swapped, (%w2); st.shared.b128 [there], %w3; ld.relaxed.cta.shared.b128 %w0, [there];\n\
        st.release.gpu.global.b128 [%rd1+32], %w0;\n\
        ld.global.u8 %w1, [%rd1]; st.global.b128 [%rd1+48], %w1; st.global.b64 [%rd1+64], %w3;\n\
        mov.b128 %w1, {%r2, 7, %r3, 0}; st.global.b128 [%rd1+80], %w1; st.global.b128 [%rd1+96], 9;";
    let found = run_with(outside, body, 1, 28, 1000).unwrap_or_else(|trap| panic!("{trap}"));
    let (a, b, c, d) = (0x8586_8788, 0x8182_8384, 0x1516_1718, 0x1112_1314);
    assert_eq!(found[..8], [a, b, c, d, a, b, d, 0]);
    assert_eq!(found[8..18], [c, d, a, b, 0x88, 0, 0, 0, c, d]);
    assert_eq!(found[20..], [a, 7, b, 0, 9, 0, 0, 0]);
}

#[test]
fn exchanges_and_swaps_of_16_bytes_are_whole() {
    let outside = ".shared .align 16 .b8 there[32];";
    // An exchange, a swap that compares equal, and one whose upper half differs.
    let body = |space: &str, place: &str| {
        format!(
            ".reg .b128 %w<6>; mov.b128 %w1, {{1, 2}}; mov.b128 %w2, {{3, 4}}; st{space}.b128 [{place}], %w1;\n\
             atom{space}.exch.b128 %w3, [{place}], %w2; st.global.b128 [%rd1+64], %w3;\n\
             atom{space}.cas.b128 %w3, [{place}], %w2, %w1; st.global.b128 [%rd1+80], %w3;\n\
             mov.b128 %w4, {{1, 3}}; atom.acq_rel.gpu{space}.cas.b128 %w3, [{place}], %w4, %w2;\n\
             st.global.b128 [%rd1+96], %w3; atom{space}.exch.b128 _, [{place}], 5; ld{space}.b128 %w5, [{place}];\n\
             st.global.b128 [%rd1+112], %w5;"
        )
    };
    for (space, place) in [(".global", "%rd1"), (".shared", "there+16"), ("", "%rd1")] {
        let found = run_with(outside, &body(space, place), 1, 32, 1000).unwrap_or_else(|trap| panic!("{trap}"));
        assert_eq!(found[16..], [1, 0, 2, 0, 3, 0, 4, 0, 1, 0, 2, 0, 5, 0, 0, 0], "{space}");
    }
}

#[test]
fn accesses_to_16_bytes_are_aligned_to_16() {
    let declare = ".reg .b128 %w<3>; mov.b128 %w1, {1, 2};";
    for access in [
        "ld.global.b128 %w2, [%rd1+8];",
        "st.relaxed.gpu.global.b128 [%rd1+8], %w1;",
        "atom.global.exch.b128 %w2, [%rd1+8], %w1;",
        "atom.global.cas.b128 %w2, [%rd1+8], %w1, %w1;",
    ] {
        let found = trap("", &format!("{declare} {access}"), 1).kind;
        assert!(matches!(found, TrapKind::Misaligned { alignment: 16, .. }), "{access} {found:?}");
    }
}
