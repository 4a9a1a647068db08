//! Bulk copies, `st.async` and `red.async`: bytes, barriers and groups, in every order of blocks.

use warploom_ptx::{Grid, Launch, Program, Step, Trap, TrapKind, VecMemory};

/// Bytes of the source and of the destination.
const ROOM: usize = 4096;
const COUNTED: &str = "mbarrier::complete_tx::bytes";

/// The destination after a kernel, `%rd2`, which began as `0xee`; the source is `%rd1` and given. `%r1` is the
/// thread, `%r2` the block; `tile` has 2048 bytes of shared memory, and `bar` a barrier for one arrival.
fn run(body: &str, source: &[u8], blocks: u32, threads: u32) -> Result<Vec<u8>, Box<Trap>> {
    run_over(body, source, &[0xee; ROOM], blocks, threads)
}

fn run_over(body: &str, source: &[u8], before: &[u8], blocks: u32, threads: u32) -> Result<Vec<u8>, Box<Trap>> {
    let text = format!(
        ".version 8.7 .target sm_90 .address_size 64
         .visible .entry k(.param .u64 from, .param .u64 into) {{
             .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<24>; .reg .b64 %rd<8>;
             .shared .align 128 .b8 tile[2048]; .shared .align 8 .b64 bar;
             ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [into]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
             setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
             barrier.cluster.arrive; barrier.cluster.wait;
             {body}
             barrier.cluster.arrive; barrier.cluster.wait; ret;
         }}"
    );
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(1 << 16);
    let [from, into] = [source, before].map(|bytes| {
        let mut room = bytes.to_vec();
        room.resize(ROOM, 0xee);
        memory.upload(&room)
    });
    let arguments = [from.to_le_bytes(), into.to_le_bytes()].concat();
    let (grid, cluster) = ([blocks, 1, 1], (blocks > 1).then_some([blocks, 1, 1]));
    let launch = Launch { grid, block: [threads, 1, 1], cluster, arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(program.kernel("k").expect("it is there"), launch, &memory).expect("it fits");
    for _ in 0..100_000 {
        match grid.step(5) {
            Step::Running => {}
            Step::Done => return Ok(memory.read(into, ROOM)),
            Step::Trapped(trap) => return Err(Box::new(trap)),
        }
    }
    panic!("it does not end");
}

fn bytes() -> Vec<u8> {
    (0..ROOM as u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Waits for phase 0 of `bar`.
const WAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra wait;";
/// Thread 0 sends `tile` to the destination, each block 256 bytes.
const STORE: &str = "mul.wide.u32 %rd3, %r2, 256; add.u64 %rd3, %rd2, %rd3; fence.proxy.async;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 256;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";

#[test]
fn bytes_come_from_global_memory_and_go_back() {
    for space in ["shared::cluster", "shared::cta"] {
        let body = format!(
            "mov.u32 %r3, 256; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r3;
             @%p1 cp.async.bulk.{space}.global.{COUNTED} [tile], [%rd1+32], %r3, [bar]; {WAIT} {STORE}"
        );
        let found = run(&body, &bytes(), 1, 32).expect("it runs");
        assert_eq!(found[..256], bytes()[32..288]);
        assert!(found[256..].iter().all(|byte| *byte == 0xee));
    }
}

#[test]
fn the_phase_ends_when_all_bytes_have_come_and_not_before() {
    // The second half is fetched by another thread, which the first one waits for.
    let body = format!(
        "setp.eq.u32 %p3, %r1, 32; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED}.L2::cache_hint [tile], [%rd1], 128, [bar], %rd4;
         @%p1 mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0; @%p1 selp.u32 %r5, 1, 0, %p4;
         bar.sync 0;
         @%p3 cp.async.bulk.shared::cluster.global.{COUNTED} [tile+128], [%rd1+128], 128, [bar];
         {WAIT} {STORE} @%p1 st.global.u32 [%rd2+1024], %r5;"
    );
    let found = run(&body, &bytes(), 1, 64).expect("it runs");
    assert_eq!((&found[..256], &found[1024..1028]), (&bytes()[..256], &[0; 4][..]));
}

#[test]
fn a_copy_before_the_bytes_are_expected_is_counted_as_well() {
    let body = format!(
        "@%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], 256, [bar];
         @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; {WAIT} {STORE}"
    );
    assert_eq!(run(&body, &bytes(), 1, 32).expect("it runs")[..256], bytes()[..256]);
}

#[test]
fn a_copy_reaches_every_block_of_the_mask() {
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; setp.eq.u32 %p3, %r2, 1; and.pred %p3, %p3, %p1;
         mov.u16 %h1, 0b0101;
         @%p3 cp.async.bulk.shared::cluster.global.{COUNTED}.multicast::cluster [tile], [%rd1], 256, [bar], %h1;
         mov.u16 %h1, 0b1010;
         @%p3 cp.async.bulk.shared::cluster.global.{COUNTED}.multicast::cluster [tile], [%rd1+256], 256, [bar], %h1;
         {WAIT} {STORE}"
    );
    let found = run(&body, &bytes(), 4, 32).expect("it runs");
    for block in 0..4 {
        let from = block % 2 * 256;
        assert_eq!(found[block * 256..][..256], bytes()[from..from + 256], "block {block}");
    }
}

#[test]
fn blocks_of_a_cluster_send_to_each_other() {
    // Each fills its upper half, and sends it to the lower half of the next one, whose barrier counts.
    let fill = "mad.lo.u32 %r3, %r2, 1000, %r1; shl.b32 %r4, %r1, 2; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;
        st.shared.u32 [%r5+1024], %r3; fence.proxy.async; bar.sync 0;
        add.u32 %r6, %r2, 1; rem.u32 %r6, %r6, 3; mov.u32 %r7, tile; mapa.shared::cluster.u32 %r7, %r7, %r6;
        mov.u32 %r8, bar; mapa.shared::cluster.u32 %r8, %r8, %r6;";
    let body = format!(
        "{fill} @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
         @%p1 cp.async.bulk.shared::cluster.shared::cta.{COUNTED} [%r7], [tile+1024], 256, [%r8]; {WAIT} {STORE}"
    );
    let found = run(&body, &bytes(), 3, 64).expect("it runs");
    for block in 0..3_usize {
        let words = (0..64).flat_map(|thread| ((block + 2) as u32 % 3 * 1000 + thread).to_le_bytes());
        assert_eq!(found[block * 256..][..256], words.collect::<Vec<_>>(), "block {block}");
    }
    // The sum of what was there, 7, and what is sent.
    let sums = body
        .replace("st.shared.u32 [%r5+1024], %r3;", "st.shared.u32 [%r5+1024], %r3; st.shared.u32 [%r5], 7;")
        .replace("fence.proxy.async; bar.sync 0;", "fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;")
        .replace("cp.async.bulk", "cp.reduce.async.bulk")
        .replace(&format!("{COUNTED} [%r7]"), &format!("{COUNTED}.add.u32 [%r7]"))
        .replace("cp.reduce.async.bulk.global.shared::cta.bulk_group", "cp.async.bulk.global.shared::cta.bulk_group")
        .replace("cp.reduce.async.bulk.commit", "cp.async.bulk.commit")
        .replace("cp.reduce.async.bulk.wait", "cp.async.bulk.wait");
    let found = run(&sums, &bytes(), 3, 64).expect("it runs");
    for block in 0..3_usize {
        let words = (0..64).flat_map(|thread| ((block + 2) as u32 % 3 * 1000 + thread + 7).to_le_bytes());
        assert_eq!(found[block * 256..][..256], words.collect::<Vec<_>>(), "block {block}");
    }
}

#[test]
fn registers_are_stored_in_another_block_and_counted() {
    let peer = "xor.b32 %r6, %r2, 1; shl.b32 %r4, %r1, 4; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;
        mapa.shared::cluster.u32 %r7, %r5, %r6; mov.u32 %r8, bar; mapa.shared::cluster.u32 %r8, %r8, %r6;
        mad.lo.u32 %r10, %r2, 100, %r1; add.u32 %r11, %r10, 1; add.u32 %r12, %r10, 2; add.u32 %r13, %r10, 3;";
    let body = format!(
        "{peer} @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
         st.async.shared::cluster.{COUNTED}.v4.b32 [%r7], {{%r10, %r11, %r12, %r13}}, [%r8]; {WAIT} bar.sync 0; {STORE}"
    );
    let found = run(&body, &[], 2, 16).expect("it runs");
    for block in 0..2_u32 {
        let words =
            (0..16).flat_map(|thread| (0..4).map(move |word| ((block ^ 1) * 100 + thread + word).to_le_bytes()));
        assert_eq!(found[block as usize * 256..][..256], words.flatten().collect::<Vec<_>>(), "block {block}");
    }
    // Two longs each, at generic addresses.
    let longs = body
        .replace(
            "mapa.shared::cluster.u32 %r7, %r5, %r6;",
            "cvt.u64.u32 %rd4, %r5; cvta.shared.u64 %rd4, %rd4; mapa.u64 %rd4, %rd4, %r6;",
        )
        .replace("mapa.shared::cluster.u32 %r8, %r8, %r6;", "cvta.shared.u64 %rd5, bar; mapa.u64 %rd5, %rd5, %r6;")
        .replace("st.async.shared::cluster", "mov.b64 %rd6, {%r10, %r11}; mov.b64 %rd7, {%r12, %r13}; st.async.weak")
        .replace(".v4.b32 [%r7], {%r10, %r11, %r12, %r13}, [%r8]", ".v2.u64 [%rd4], {%rd6, %rd7}, [%rd5]");
    assert_eq!(run(&longs, &[], 2, 16).expect("it runs"), found);
}

#[test]
fn reductions_in_another_block_combine_with_what_is_there() {
    let cases: [(&str, u32, u32, u32); 12] = [
        ("add.u32", 5, 7, 12),
        ("add.s32", 5, u32::MAX, 4),
        ("min.u32", 5, 7, 5),
        ("max.u32", 5, 7, 7),
        ("min.s32", 5, u32::MAX, u32::MAX),
        ("max.s32", 5, u32::MAX, 5),
        ("inc.u32", 5, 7, 6),
        ("inc.u32", 7, 7, 0),
        ("dec.u32", 0, 7, 7),
        ("and.b32", 6, 3, 2),
        ("or.b32", 6, 3, 7),
        ("xor.b32", 6, 3, 5),
    ];
    for (operation, old, value, new) in cases {
        let body = format!(
            "xor.b32 %r6, %r2, 1; mov.u32 %r5, tile; mapa.shared::cluster.u32 %r7, %r5, %r6;
             mov.u32 %r8, bar; mapa.shared::cluster.u32 %r8, %r8, %r6; mov.u32 %r3, {value}; mov.u32 %r4, {old};
             st.shared.u32 [tile], %r4; barrier.cluster.arrive; barrier.cluster.wait;
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
             red.async.relaxed.cluster.shared::cluster.{COUNTED}.{operation} [%r7], %r3, [%r8];
             {WAIT} ld.shared.u32 %r9, [tile]; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd2, %rd3;
             st.global.u32 [%rd3], %r9;"
        );
        let found = run(&body, &[], 2, 1).expect("it runs");
        assert_eq!(found[..8], [new.to_le_bytes(); 2].concat(), "{operation} {old} {value}");
    }
    let body = format!(
        "mov.u64 %rd3, 0xffffffff00000001; st.shared.u64 [tile], %rd3; mov.u64 %rd4, 0x1ffffffff;
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;
         red.async.relaxed.cluster.{COUNTED}.add.u64 [tile], %rd4, [bar]; {WAIT}
         ld.shared.u64 %rd5, [tile]; st.global.u64 [%rd2], %rd5;"
    );
    let sum = 0xffff_ffff_0000_0001_u64.wrapping_add(0x1_ffff_ffff);
    assert_eq!(run(&body, &[], 1, 1).expect("it runs")[..8], sum.to_le_bytes());
}

#[test]
fn reductions_to_global_memory_are_those_of_atomics() {
    // The source and the destination of each, 16 bytes repeated, and the sum of the first elements.
    let word = |value: u32| value.to_le_bytes().repeat(4);
    let long = |value: u64| value.to_le_bytes().repeat(2);
    let short = |value: u16| value.to_le_bytes().repeat(8);
    let cases = [
        ("add.u32", word(7), word(5), word(12)),
        ("add.s32", word(7), word(u32::MAX), word(6)),
        ("inc.u32", word(7), word(7), word(0)),
        ("dec.u32", word(7), word(9), word(7)),
        ("min.u32", word(7), word(9), word(7)),
        ("max.u32", word(7), word(9), word(9)),
        ("min.s32", word(u32::MAX), word(9), word(u32::MAX)),
        ("max.s32", word(u32::MAX), word(9), word(9)),
        ("and.b32", word(6), word(3), word(2)),
        ("or.b32", word(6), word(3), word(7)),
        ("xor.b32", word(6), word(3), word(5)),
        ("add.u64", long(1 << 40), long(u64::MAX), long((1 << 40) - 1)),
        ("min.u64", long(1 << 40), long(u64::MAX), long(1 << 40)),
        ("max.s64", long(1 << 40), long(u64::MAX), long(1 << 40)),
        ("min.s64", long(1 << 40), long(u64::MAX), long(u64::MAX)),
        ("and.b64", long(6 << 40), long(3 << 40), long(2 << 40)),
        ("xor.b64", long(6 << 40), long(3 << 40), long(5 << 40)),
        ("add.f32", word(1.5_f32.to_bits()), word(2.25_f32.to_bits()), word(3.75_f32.to_bits())),
        ("add.f64", long(1.5_f64.to_bits()), long(2.25_f64.to_bits()), long(3.75_f64.to_bits())),
        ("add.noftz.f16", short(0x3e00), short(0x4080), short(0x4380)),
        ("min.f16", short(0x3e00), short(0x4080), short(0x3e00)),
        ("max.f16", short(0x3e00), short(0x4080), short(0x4080)),
        ("add.noftz.bf16", short(0x3fc0), short(0x4010), short(0x4070)),
        ("max.bf16", short(0x3fc0), short(0x4010), short(0x4010)),
    ];
    for (operation, source, before, after) in cases {
        assert_eq!(reduced(operation, &source, &before)[..16], after, "{operation}");
    }
}

/// The destination after a reduction of 16 bytes.
fn reduced(operation: &str, source: &[u8], before: &[u8]) -> Vec<u8> {
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], 16, [bar]; {WAIT}
         @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%rd2], [tile], 16;
         @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group.read 0;"
    );
    run_over(&body, source, before, 1, 1).expect("it runs")
}

#[test]
fn prefetches_and_empty_copies_change_nothing() {
    let body = format!(
        "cp.async.bulk.prefetch.L2.global [%rd1], 256; mov.u32 %r3, 0; mbarrier.arrive.shared.b64 %rd4, [bar];
         cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], %r3, [bar];
         cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], %r3; cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0; {WAIT}"
    );
    assert!(run(&body, &bytes(), 1, 1).expect("it runs").iter().all(|byte| *byte == 0xee));
}

#[test]
fn addresses_are_multiples_of_sixteen_and_inside_of_memory() {
    let trap = |body: &str| run(body, &bytes(), 1, 1).expect_err("it traps").kind;
    let copy = |into: &str, from: &str, size: u32, barrier: &str| {
        let body = format!(
            "mov.u32 %r3, {size}; mov.u32 %r4, bar; mov.u32 %r5, tile;
             cp.async.bulk.shared::cluster.global.{COUNTED} [%r5{into}], [%rd1{from}], %r3, [%r4{barrier}];"
        );
        trap(&body)
    };
    assert!(matches!(copy("+8", "", 64, ""), TrapKind::Misaligned { address: 8, alignment: 16 }));
    assert!(matches!(copy("", "+4", 64, ""), TrapKind::Misaligned { alignment: 16, .. }));
    assert!(matches!(copy("", "", 64, "+4"), TrapKind::Misaligned { alignment: 8, .. }));
    assert!(matches!(copy("+65536", "", 64, ""), TrapKind::Shared { .. }));
    assert!(matches!(copy("", "+1073741824", 64, ""), TrapKind::Global(_)));
    let store = format!("mov.u32 %r5, tile; st.async.{COUNTED}.b32 [%r5+2], %r1, [bar];");
    assert!(matches!(trap(&store), TrapKind::Misaligned { address: 2, alignment: 4 }));
    let beyond = format!("mov.u32 %r5, tile; st.async.{COUNTED}.b32 [%r5+65536], %r1, [bar];");
    assert!(matches!(trap(&beyond), TrapKind::ClusterShared { address: 65536, .. }));
    let absent = "mov.u32 %r5, tile; mapa.shared::cluster.u32 %r6, %r5, 3;
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6], [tile], 64, [bar];";
    assert!(matches!(trap(absent), TrapKind::Cluster { rank: 3, count: 1 }));
}

/// As an H200 has it.
#[test]
fn a_size_is_rounded_down_to_a_multiple_of_sixteen() {
    let body = format!(
        "mov.u32 %r3, 280; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 272;
         cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], %r3, [bar]; {WAIT}
         cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], %r3; cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;"
    );
    let found = run(&body, &bytes(), 1, 1).expect("it runs");
    assert_eq!((&found[..272], &found[272..280]), (&bytes()[..272], &[0xee; 8][..]));
}

/// As an H200 has it: of the address of the barrier only the offset counts.
#[test]
fn bytes_are_counted_in_the_block_that_gets_them() {
    let body = format!(
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; xor.b32 %r6, %r2, 1; mov.u32 %r7, tile;
         mapa.shared::cluster.u32 %r7, %r7, %r6; st.shared.u32 [tile+1024], %r2; fence.proxy.async; {{ROUTE}} {WAIT}
         ld.shared.u32 %r5, [tile]; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r5;"
    );
    let routes = [
        format!("cp.async.bulk.shared::cluster.shared::cta.{COUNTED} [%r7], [tile+1024], 16, [bar];"),
        format!("st.async.shared::cluster.{COUNTED}.v4.b32 [%r7], {{%r2, %r2, %r2, %r2}}, [bar];"),
    ];
    for route in routes {
        let found = run(&body.replace("{ROUTE}", &route), &[], 2, 1).expect("it runs");
        assert_eq!(found[..8], [1, 0, 0, 0, 0, 0, 0, 0], "{route}");
    }
}

#[test]
fn a_barrier_counts_fewer_bytes_than_a_mebibyte() {
    let expect = |bytes: u32| {
        let body = format!(
            "mov.u32 %r3, {bytes}; mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], %r3;
             mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], %r3;"
        );
        run(&body, &[], 1, 1).map(drop).map_err(|trap| trap.kind)
    };
    assert_eq!(expect((1 << 20) - 1), Ok(()));
    assert_eq!(expect(1 << 20), Err(TrapKind::BarrierBytes { bytes: 1 << 20 }));
}

/// Bits that an H200 gave: subnormals are kept, NaN is canonical but for doubles, minima ignore it.
#[test]
fn reductions_to_global_memory_have_the_bits_of_an_h200() {
    let words = |values: [u32; 4]| values.map(u32::to_le_bytes).concat();
    let longs = |values: [u64; 2]| values.map(u64::to_le_bytes).concat();
    let shorts = |values: [u16; 8]| values.map(u16::to_le_bytes).concat();
    let (nan, one, less) = (0x7e01, 0x3c00, 0xbc00);
    let halves = [nan, one, nan, 0, 0x8000, one, less, 1];
    let others = [one, nan, nan + 1, 0x8000, 0, less, one, 2];
    let cases = [
        (
            "add.f32",
            words([1, 0x40_0000, 0x7fc1_2345, 0x3f80_0000]),
            words([1, 0x40_0000, 0x3f80_0000, 0x7f81_2345]),
            words([2, 0x80_0000, 0x7fff_ffff, 0x7fff_ffff]),
        ),
        (
            "add.f32",
            words([0x80_0001, 0x8080_0000, 0x7f7f_ffff, 0x8000_0000]),
            words([0x8080_0000, 0x80_0003, 0x7f7f_ffff, 0x8000_0000]),
            words([1, 3, 0x7f80_0000, 0x8000_0000]),
        ),
        (
            "add.f64",
            longs([0x7ff8_0000_0000_1234, 0x3ff0_0000_0000_0000]),
            longs([0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_5678]),
            longs([0x7ff8_0000_0000_1234, 0x7ff0_0000_0000_5678]),
        ),
        (
            "add.f64",
            longs([1, 0x7ff8_0000_0000_1234]),
            longs([1, 0x7ff8_0000_0000_5678]),
            longs([2, 0x7ff8_0000_0000_5678]),
        ),
        (
            "add.noftz.f16",
            shorts([nan, one, 1, 0x7bff, 0x8000, one, 0x7c00, 0x400]),
            shorts([one, 0x7d01, 1, 0x7bff, 0x8000, one, 0xfc00, 0x8001]),
            shorts([0x7fff, 0x7fff, 2, 0x7c00, 0x8000, 0x4000, 0x7fff, 0x3ff]),
        ),
        (
            "add.noftz.bf16",
            shorts([0x7fc1, 0x3f80, 1, 0x7f7f, 0x8000, 0x3f80, 0x7f80, 0x80]),
            shorts([0x3f80, 0x7f81, 1, 0x7f7f, 0x8000, 0x3f80, 0xff80, 0x8001]),
            shorts([0x7fff, 0x7fff, 2, 0x7f80, 0x8000, 0x4000, 0x7fff, 0x7f]),
        ),
        ("min.f16", shorts(halves), shorts(others), shorts([one, one, 0x7fff, 0x8000, 0x8000, less, less, 1])),
        ("max.f16", shorts(halves), shorts(others), shorts([one, one, 0x7fff, 0, 0, one, one, 2])),
    ];
    for (operation, before, source, after) in cases {
        assert_eq!(reduced(operation, &source, &before)[..16], after, "{operation}");
    }
}
