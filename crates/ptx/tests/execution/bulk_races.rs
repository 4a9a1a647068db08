//! Races with bulk copies in small texts: each has no hazard, and has one when a wait or a fence is missing.

use warploom_ptx::{
    Actor, Deed, Grid, Hazard, Launch, MemorySpace, Presence, Program, Step, VecMemory, Watched, Watches,
};

/// The hazards found in a kernel with 64 threads a block; its argument is the address of zeros. Each block has
/// a barrier for one arrival, which is initialised.
fn found(body: &str, blocks: u32) -> Vec<Hazard> {
    let text = format!(
        ".version 8.7 .target sm_90 .address_size 64
         .visible .entry kernel(.param .u64 data) {{
             .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
             .shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar; .shared .align 8 .b64 other;
             ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r1, 0;
             mov.u32 %r4, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r4, %r3;
             @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 mbarrier.init.shared.b64 [other], 1;
             @%p1 fence.mbarrier_init.release.cluster; bar.sync 0; {MEET}
             {body}
             {MEET} ret;
         }}"
    );
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(1 << 16);
    let arguments = memory.reserve(8192).to_le_bytes();
    let kernel = program.kernel("kernel").expect("it was just written");
    let (grid, cluster) = ([blocks, 1, 1], (blocks > 1).then_some([blocks, 1, 1]));
    let launch = Launch { grid, block: [64, 1, 1], cluster, arguments: &arguments, ..Launch::default() };
    let watched = Watched::new(kernel, &launch, Watches::ALL, &memory);
    let mut grid = Grid::new(kernel, launch, &watched).expect("it can be launched");
    for _ in 0..10_000 {
        match grid.step(100) {
            Step::Running => {}
            Step::Trapped(trap) => panic!("{trap}"),
            Step::Done => return watched.take(),
        }
    }
    panic!("it does not end");
}

const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait;";
const COUNTED: &str = "mbarrier::complete_tx::bytes";
const WAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra wait;";

/// The hazard that a text has when a part of it is replaced; it has none before.
#[track_caller]
fn hazard_with(body: &str, right: &str, wrong: &str, blocks: u32) -> Hazard {
    assert!(body.contains(right), "{right}");
    assert_eq!(found(body, blocks), [], "as it is");
    let mut found = found(&body.replace(right, wrong), blocks);
    assert_eq!(found.len(), 1, "with `{wrong}`: {found:#?}");
    found.remove(0)
}

#[track_caller]
fn copying(hazard: Hazard) -> (MemorySpace, [Actor; 2], [Deed; 2], u64) {
    let Hazard::Copying { space, copier, copier_deed, other, deed, bytes, .. } = hazard else { panic!("{hazard:#?}") };
    (space, [copier, other], [copier_deed, deed], bytes)
}

/// Thread 0 fetches the tile for all.
fn fetch() -> String {
    format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], 256, [bar];
         {WAIT} ld.shared.u32 %r5, [%r4];"
    )
}

#[test]
fn a_bulk_copy_is_in_flight_until_its_barrier_is_waited_for() {
    let (space, [copier, other], deeds, bytes) = copying(hazard_with(&fetch(), WAIT, "", 1));
    assert_eq!((space, deeds, bytes), (MemorySpace::Shared, [Deed::Write, Deed::Read], 4));
    // The thread that started the copy is no exception.
    assert_eq!((copier.thread, other.thread), ([0; 3], [0; 3]));
    assert!(copier.instruction.starts_with("cp.async.bulk") && other.instruction.starts_with("ld.shared"));
    // A barrier of the block does not wait for copies, nor does another `mbarrier`.
    copying(hazard_with(&fetch(), WAIT, "bar.sync 0;", 1));
    let another = "@%p1 mbarrier.arrive.shared.b64 %rd2, [other];
        wait: mbarrier.try_wait.parity.shared.b64 %p2, [other], 0; @!%p2 bra wait;";
    copying(hazard_with(&fetch(), WAIT, another, 1));
    // One thread waits, and a barrier passes that on.
    let one = format!("@!%p1 bra over; {WAIT} over: bar.sync 0;");
    assert_eq!(found(&fetch().replace(WAIT, &one), 1), []);
    let (_, [copier, other], ..) = copying(hazard_with(&fetch().replace(WAIT, &one), "over: bar.sync 0;", "over:", 1));
    assert!(copier.thread == [0; 3] && other.thread != [0; 3]);
}

#[test]
fn an_arrival_behind_a_copy_is_no_wait() {
    let late = format!(
        "@%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], 256, [bar];
         @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; {WAIT} bar.sync 0; ld.shared.u32 %r5, [%r4];"
    );
    copying(hazard_with(&late, WAIT, "", 1));
}

#[test]
fn a_wait_for_one_stage_is_none_for_another() {
    let stages = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [other], 256;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1], 256, [bar];
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile+256], [%rd1+256], 256, [other];
         {WAIT} ld.shared.u32 %r5, [%r4];
         next: mbarrier.try_wait.parity.shared.b64 %p2, [other], 0; @!%p2 bra next; ld.shared.u32 %r5, [%r4+256];"
    );
    let (.., bytes) = copying(hazard_with(&stages, "%p2, [other], 0", "%p2, [bar], 0", 1));
    assert_eq!(bytes, 4);
}

#[test]
fn a_tile_is_fetched_again_when_its_readers_are_done() {
    let again = format!(
        "{} bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [other], 256;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile], [%rd1+256], 256, [other];
         again: mbarrier.try_wait.parity.shared.b64 %p2, [other], 0; @!%p2 bra again; ld.shared.u32 %r5, [%r4];",
        fetch()
    );
    assert_eq!(found(&again, 1), []);
    let hazards = found(&again.replace("bar.sync 0; @%p1 mbarrier", "@%p1 mbarrier"), 1);
    let is_overwritten = hazards.iter().any(|hazard| {
        let Hazard::Race { first, first_deed, second, second_deed, .. } = hazard else { return false };
        assert!(first.thread != [0; 3] && second.instruction.starts_with("cp.async.bulk"), "{hazard:#?}");
        (*first_deed, *second_deed) == (Deed::Read, Deed::Write)
    });
    assert!(is_overwritten, "{hazards:#?}");
    // Two copies to the same bytes without a wait between them.
    let twice = fetch().replace(
        "@%p1 cp.async.bulk",
        &format!(
            "@%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 256;
             @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [tile+256], [%rd1], 256, [bar]; @%p1 cp.async.bulk"
        ),
    );
    let (_, [_, other], deeds, _) = copying(hazard_with(&twice, "[tile+256]", "[tile]", 1));
    assert!(deeds == [Deed::Write; 2] && other.instruction.starts_with("cp.async.bulk"));
}

#[test]
fn a_source_in_global_memory_stays_as_it_is_until_the_copy_is_over() {
    let body = format!("{} bar.sync 0; st.global.u32 [%rd1+128], 7;", fetch());
    let moved = body
        .replace(WAIT, "st.global.u32 [%rd1+128], 7;")
        .replace("ld.shared.u32 %r5, [%r4]; bar.sync 0; st.global.u32 [%rd1+128], 7;", WAIT);
    assert_eq!(found(&body, 1), []);
    let mut found = found(&moved, 1);
    assert_eq!(found.len(), 1, "{found:#?}");
    let (space, _, deeds, bytes) = copying(found.remove(0));
    assert_eq!((space, deeds, bytes), (MemorySpace::Global, [Deed::Read, Deed::Write], 4));
}

/// All threads write the tile, and thread 0 sends it to global memory.
const SEND: &str = "st.shared.u32 [%r4], %r1; fence.proxy.async.shared::cta; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256; @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0; bar.sync 0; st.shared.u32 [%r4], 5; ld.global.u32 %r5, [%rd1];";

#[test]
fn a_group_is_waited_for_before_its_source_is_written_and_its_destination_is_read() {
    assert_eq!(found(SEND, 1), []);
    let without =
        |wait: &str, and: &str| found(&SEND.replace("@%p1 cp.async.bulk.wait_group 0;", wait).replace(and, ""), 1);
    let is_source = |hazard: &Hazard| {
        let (space, _, deeds, _) = copying(hazard.clone());
        (space, deeds) == (MemorySpace::Shared, [Deed::Read, Deed::Write])
    };
    let is_destination = |hazard: &Hazard| {
        let (space, _, deeds, _) = copying(hazard.clone());
        (space, deeds) == (MemorySpace::Global, [Deed::Write, Deed::Read])
    };
    for wait in ["", "@%p1 cp.async.bulk.wait_group 1;", "cp.async.wait_all;"] {
        let found = without(wait, "ab");
        assert!(found.len() == 2 && is_source(&found[0]) && is_destination(&found[1]), "{wait}: {found:#?}");
    }
    // Once the source has been read, the destination is not yet written.
    let found_after_read = without("@%p1 cp.async.bulk.wait_group.read 0;", "ab");
    assert!(found_after_read.len() == 1 && is_destination(&found_after_read[0]), "{found_after_read:#?}");
    assert_eq!(without("@%p1 cp.async.bulk.wait_group.read 0;", "ld.global.u32 %r5, [%rd1];"), []);
    // What is no group yet is not waited for.
    assert_eq!(found(&SEND.replace("@%p1 cp.async.bulk.commit_group;", ""), 1).len(), 2);
    // The wait of another thread is none.
    let other = SEND.replace("@%p1 cp.async.bulk.wait_group", "@!%p1 cp.async.bulk.wait_group");
    assert_eq!(found(&other, 1).len(), 2);
}

#[test]
fn a_write_is_published_by_a_proxy_fence_before_a_copy_reads_it() {
    for fence in ["", "fence.acq_rel.gpu;", "fence.proxy.async.global;", "fence.proxy.alias;"] {
        let hazard = hazard_with(SEND, "fence.proxy.async.shared::cta;", fence, 1);
        let Hazard::Unpublished { space, writer, writer_deed, copier, start, bytes, .. } = hazard else {
            panic!("{hazard:#?}")
        };
        assert_eq!((space, writer_deed, start, bytes), (MemorySpace::Shared, Deed::Write, 0, 256));
        assert!(writer.instruction.starts_with("st.shared") && copier.instruction.starts_with("cp.async.bulk"));
    }
    // By the writers, or by the thread that starts the copy; for shared memory, or for all.
    let by_copier = SEND.replace("fence.proxy.async.shared::cta; bar.sync 0;", "bar.sync 0; fence.proxy.async;");
    assert_eq!(found(&by_copier, 1), []);
    // Bytes that a copy has brought need none.
    let through = format!("{} @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1+256], [tile], 256;", fetch());
    assert_eq!(found(&through, 1), []);
    // In global memory as well.
    let global = format!(
        "shl.b32 %r6, %r1, 2; cvt.u64.u32 %rd2, %r6; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r1;
         fence.proxy.async; bar.sync 0; {}",
        fetch()
    );
    let hazard = hazard_with(&global, "fence.proxy.async;", "fence.proxy.async.shared::cta;", 1);
    assert!(matches!(hazard, Hazard::Unpublished { space: MemorySpace::Global, .. }), "{hazard:#?}");
}

#[test]
fn bytes_for_another_block_are_awaited_there() {
    let body = format!(
        "st.shared.u32 [%r4+256], %r1; fence.proxy.async; bar.sync 0;
         @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1;
         mov.u32 %r7, tile; mapa.shared::cluster.u32 %r7, %r7, %r6; mov.u32 %r8, bar;
         mapa.shared::cluster.u32 %r8, %r8, %r6;
         @%p1 cp.async.bulk.shared::cluster.shared::cta.{COUNTED} [%r7], [tile+256], 256, [%r8];
         {WAIT} ld.shared.u32 %r5, [%r4];"
    );
    assert_eq!(found(&body, 2), []);
    let hazards = found(&body.replace(WAIT, ""), 2);
    let is_early = hazards.iter().any(|hazard| {
        let Hazard::Copying { space, copier, copier_deed, other, deed, .. } = hazard else { return false };
        assert!(copier.block != other.block && *space == MemorySpace::Cluster { block: other.block }, "{hazard:#?}");
        (*copier_deed, *deed) == (Deed::Write, Deed::Read)
    });
    assert!(is_early, "{hazards:#?}");
    // Stores of registers likewise.
    let stores = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1;
         mapa.shared::cluster.u32 %r7, %r4, %r6; mov.u32 %r8, bar; mapa.shared::cluster.u32 %r8, %r8, %r6;
         st.async.shared::cluster.{COUNTED}.b32 [%r7], %r1, [%r8]; {WAIT} ld.shared.u32 %r5, [%r4];"
    );
    assert_eq!(found(&stores, 2), []);
    let hazards = found(&stores.replace(WAIT, MEET), 2);
    let is_store = |hazard: &Hazard| matches!(hazard, Hazard::Copying { copier, .. } if copier.instruction.starts_with("st.async"));
    assert!(hazards.iter().any(is_store), "{hazards:#?}");
}

#[test]
fn a_block_stays_until_copies_to_its_memory_are_over() {
    let body = format!(
        "mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p3, %r6, 0; @!%p3 bra other;
         @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256; {WAIT} bra over;
         other: mov.u32 %r7, tile; mapa.shared::cluster.u32 %r7, %r7, 0; mov.u32 %r8, bar;
         mapa.shared::cluster.u32 %r8, %r8, 0;
         @%p1 cp.async.bulk.shared::cluster.global.{COUNTED} [%r7], [%rd1], 256, [%r8]; over:"
    );
    assert_eq!(found(&body, 2), []);
    let found = found(&body.replace(WAIT, ""), 2);
    let [Hazard::Absent { visitor, block, presence, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((visitor.block, *block, *presence), ([1, 0, 0], [0; 3], Presence::Ended));
}

#[test]
fn an_mbarrier_is_initialised_before_it_counts() {
    let body = fetch();
    let found = found(
        &body
            .replace("[tile], [%rd1], 256, [bar]", "[tile], [%rd1], 256, [tile+512]")
            .replace(WAIT, "")
            .replace("ld.shared.u32 %r5, [%r4];", ""),
        1,
    );
    assert!(matches!(&found[..], [Hazard::Unwritten { start: 512, bytes: 8, .. }]), "{found:#?}");
}

#[test]
fn reductions_of_several_blocks_are_atomic() {
    let body = "st.shared.u32 [%r4], 1; fence.proxy.async; bar.sync 0;
        @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 256;
        @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";
    let hazard = hazard_with(
        body,
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32",
        "cp.async.bulk.global.shared::cta.bulk_group",
        2,
    );
    // The second copy writes what is there already, but the first one is still under way.
    let (_, [first, second], deeds, _) = copying(hazard);
    assert!(first.block != second.block && deeds == [Deed::Write; 2]);
}
