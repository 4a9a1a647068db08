//! Happens-before in small texts: each has no hazard, and has one when a word of it is changed.

use warploom_ptx::{
    Actor, Deed, Grid, Hazard, Launch, MemorySpace, Presence, Program, Step, VecMemory, Watched, Watches,
};

/// The hazards found in a kernel with one argument, the address of zeros.
fn found(body: &str, blocks: u32, threads: u32) -> Vec<Hazard> {
    let (found, step) = found_in(body, blocks, threads, 1, 100_000);
    assert_eq!(step, Step::Done);
    found
}

/// The same in clusters of so many blocks, so many instructions at a time; and how the kernel went.
fn found_in(body: &str, blocks: u32, threads: u32, cluster: u32, fuel: u64) -> (Vec<Hazard>, Step) {
    let text = format!(
        ".version 8.7 .target sm_90 .address_size 64
         .visible .entry kernel(.param .u64 data) {{
             .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 8 .b8 tile[1024];
             ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
             {body}
             ret;
         }}"
    );
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(4096);
    let arguments = memory.reserve(256).to_le_bytes();
    let kernel = program.kernel("kernel").expect("it was just written");
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    let cluster = (cluster > 1).then_some([cluster, 1, 1]);
    let launch = Launch { grid, block, cluster, arguments: &arguments, ..Launch::default() };
    let watched = Watched::new(kernel, &launch, Watches::ALL, &memory);
    let mut grid = Grid::new(kernel, launch, &watched).expect("it can be launched");
    loop {
        match grid.step(fuel) {
            Step::Running => {}
            Step::Trapped(trap) => {
                watched.trapped(&trap);
                return (watched.take(), Step::Trapped(trap));
            }
            Step::Done => return (watched.take(), Step::Done),
        }
    }
}

#[track_caller]
fn quiet_until(body: &str, shape: (u32, u32), right: &str, wrong: &str) {
    assert!(body.contains(right), "{right}");
    assert_eq!(found(body, shape.0, shape.1), [], "as it is");
    let found = found(&body.replace(right, wrong), shape.0, shape.1);
    assert!(matches!(&found[..], [Hazard::Race { .. }]), "with `{wrong}`: {found:#?}");
}

/// The first warp writes and goes on; the second waits for it.
#[test]
fn an_arrival_orders_the_producer_before_the_consumer() {
    let body = "setp.ge.u32 %p1, %r1, 32; @%p1 bra consumer;
        st.shared.u32 [tile], 7; bar.arrive 1, 64; ret;
        consumer: bar.sync 1, 64; ld.shared.u32 %r3, [tile];";
    // Every lane of the producer writes the same, which is no race.
    quiet_until(
        body,
        (1, 64),
        "st.shared.u32 [tile], 7; bar.arrive 1, 64;",
        "bar.arrive 1, 64; st.shared.u32 [tile], 7;",
    );
}

/// Block 0 hands a word to block 1.
#[test]
fn a_release_for_the_block_does_not_reach_another() {
    let body = "setp.ne.u32 %p1, %r2, 0; @%p1 bra taker;
        st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd1+8], 1; ret;
        taker: ld.acquire.gpu.global.u32 %r3, [%rd1+8]; setp.eq.u32 %p2, %r3, 0; @%p2 bra taker;
        ld.global.u32 %r4, [%rd1];";
    quiet_until(body, (2, 1), "st.release.gpu", "st.release.cta");
    quiet_until(body, (2, 1), "st.release.gpu", "st.relaxed.gpu");
    quiet_until(body, (2, 1), "ld.acquire.gpu", "ld.relaxed.gpu");
}

/// Lanes 0 to 15 pass a word on among themselves.
#[test]
fn lanes_are_ordered_by_the_mask_they_meet_with() {
    let body = "setp.ge.u32 %p1, %r1, 16; @%p1 bra out;
        setp.ne.u32 %p2, %r1, 3; @%p2 bra wait;
        st.shared.u32 [tile], 5;
        wait: bar.warp.sync 0xffff;
        ld.shared.u32 %r3, [tile];
        out:";
    assert_eq!(found(body, 1, 32), []);
    let found = found(&body.replace("bar.warp.sync 0xffff", "mov.u32 %r5, 0"), 1, 32);
    assert!(found.iter().any(|hazard| matches!(hazard, Hazard::Race { .. })), "{found:#?}");
}

/// Blocks that count by adding atomically need no order, and one that writes does.
#[test]
fn atomic_changes_race_with_plain_writes_alone() {
    quiet_until("red.global.add.u32 [%rd1], 1;", (4, 1), "red.global.add.u32 [%rd1], 1", "st.global.u32 [%rd1], %r2");
}

/// Every thread fetches a word for its neighbour.
const FETCH: &str = "shl.b32 %r3, %r1, 2; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;
    cp.async.ca.shared.global [%r4], [%rd2], 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
    xor.b32 %r5, %r4, 4; ld.shared.u32 %r6, [%r5];";

#[track_caller]
fn copying(found: &[Hazard]) -> (MemorySpace, &Actor, &Actor, Deed, u64, u64) {
    match found {
        [Hazard::Copying { space, copier, other, deed, bytes, times, .. }] => {
            (*space, copier, other, *deed, *bytes, *times)
        }
        other => panic!("one copy, not {other:#?}"),
    }
}

#[test]
fn a_copy_is_under_way_until_its_thread_has_waited() {
    assert_eq!(found(FETCH, 2, 64), []);
    for wait in ["", "cp.async.wait_group 1;"] {
        let found = found(&FETCH.replace("cp.async.wait_group 0;", wait), 2, 64);
        let (space, copier, other, deed, bytes, times) = copying(&found);
        assert_eq!((space, deed, bytes, times), (MemorySpace::Shared, Deed::Read, 4, 128), "{found:#?}");
        assert_eq!((copier.thread, other.thread), ([1, 0, 0], [0, 0, 0]), "{found:#?}");
        assert!(copier.instruction.starts_with("cp.async.ca") && other.instruction.starts_with("ld.shared"));
    }
    // A group that nobody has made is not waited for, unless all is.
    let found_without = found(&FETCH.replace("cp.async.commit_group;", ""), 2, 64);
    assert_eq!(copying(&found_without).3, Deed::Read);
    let all = FETCH.replace("cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;");
    assert_eq!(found(&all, 2, 64), []);
}

/// As libraries do it: threads that are left over copy what the last of the others copies.
#[test]
fn threads_may_copy_the_same_from_the_same_place() {
    let left_over =
        |last: u32| FETCH.replace("shl.b32 %r3, %r1, 2;", &format!("min.u32 %r7, %r1, {last}; shl.b32 %r3, %r7, 2;"));
    // The neighbours of those that nobody has copied are not looked at.
    let quiet = |last: u32| left_over(last).replace("xor.b32 %r5, %r4, 4;", "mov.u32 %r5, tile;");
    for last in [0, 20, 31, 40, 62] {
        assert_eq!(found(&quiet(last), 2, 64), [], "from thread {last} on");
    }
    let others = quiet(20)
        .replace("[%rd2], 4;", "[%rd3], 4;")
        .replace("mov.u32 %r4", "mad.wide.u32 %rd3, %r1, 4, %rd1; mov.u32 %r4");
    assert!(!found(&others, 2, 64).is_empty(), "from different places");
}

#[test]
fn others_need_a_barrier_behind_the_wait() {
    quiet_until(FETCH, (1, 64), "cp.async.wait_group 0; bar.sync 0;", "bar.sync 0; cp.async.wait_group 0;");
}

#[test]
fn source_and_destination_of_a_copy_in_flight_are_off_limits() {
    for (store, space) in
        [("st.shared.u32 [%r4], %r1;", MemorySpace::Shared), ("st.global.u32 [%rd2], %r1;", MemorySpace::Global)]
    {
        let early = FETCH.replace("cp.async.commit_group;", &format!("cp.async.commit_group; {store}"));
        let found_early = found(&early, 1, 64);
        let (found_in, copier, other, deed, bytes, times) = copying(&found_early);
        assert_eq!((found_in, deed, bytes, times), (space, Deed::Write, 4, 64));
        assert_eq!(copier.thread, other.thread);
        let late = FETCH.replace("cp.async.wait_group 0;", &format!("cp.async.wait_group 0; {store}"));
        assert_eq!(found(&late, 1, 64), []);
    }
}

/// The first of two groups is waited for, and the second is not read yet.
#[test]
fn groups_come_one_after_the_other() {
    let body = "shl.b32 %r3, %r1, 2; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd1, %rd2;
        mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;
        cp.async.ca.shared.global [%r4], [%rd2], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r4+256], [%rd2], 4; cp.async.commit_group;
        cp.async.wait_group 1; ld.shared.u32 %r6, [%r4]; cp.async.wait_group 0; ld.shared.u32 %r6, [%r4+256];";
    assert_eq!(found(body, 1, 32), []);
    let wrong = found(&body.replace("ld.shared.u32 %r6, [%r4];", "ld.shared.u32 %r6, [%r4+256];"), 1, 32);
    assert_eq!(copying(&wrong).1.thread, [0; 3]);
}

#[test]
fn a_barrier_in_memory_orders_copies_that_arrive_there() {
    let body = "mov.u32 %r7, tile; setp.ne.u32 %p1, %r1, 0; @%p1 bra go;
        mbarrier.init.shared.b64 [%r7], 64;
        go: bar.sync 0;
        shl.b32 %r3, %r1, 2; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd1, %rd2; add.u32 %r4, %r7, %r3;
        cp.async.ca.shared.global [%r4+64], [%rd2], 4;
        cp.async.mbarrier.arrive.noinc.shared.b64 [%r7];
        wait: mbarrier.test_wait.parity.shared.b64 %p2, [%r7], 0; @!%p2 bra wait;
        xor.b32 %r5, %r3, 4; add.u32 %r5, %r5, %r7; ld.shared.u32 %r6, [%r5+64];";
    quiet_until(body, (1, 64), "@!%p2 bra wait;", "");
    let counted = body
        .replace("cp.async.mbarrier.arrive.noinc", "cp.async.mbarrier.arrive")
        .replace("wait: mb", "mbarrier.arrive.shared.b64 %rd3, [%r7]; wait: mb");
    quiet_until(&counted, (1, 64), "@!%p2 bra wait;", "");
}

const MEET: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

/// Each thread writes a word, and reads the one that belongs to the next block of its cluster.
fn exchange() -> String {
    format!(
        "mov.u32 %r3, tile; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2;
         {MEET}
         mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r3, %r5;
         ld.shared::cluster.u32 %r7, [%r6];
         {MEET} // the last"
    )
}

#[test]
fn blocks_of_a_cluster_are_ordered_by_its_barrier() {
    for fuel in [7, 100_000] {
        assert_eq!(found_in(&exchange(), 4, 64, 2, fuel), (vec![], Step::Done));
        // Those who have not met may not be there, either.
        let (hazards, _) = found_in(&exchange().replacen(MEET, "", 1), 4, 64, 2, fuel);
        let is_race = |hazard: &Hazard| {
            let Hazard::Race { space, first, second, bytes, .. } = hazard else { return false };
            let MemorySpace::Cluster { block } = space else { panic!("{hazard:#?}") };
            *bytes == 4 && first.block != second.block && (first.block == *block || second.block == *block)
        };
        assert!(hazards.iter().any(is_race), "{hazards:#?}");
        let is_early = |hazard: &Hazard| matches!(hazard, Hazard::Absent { presence: Presence::NotStarted, .. });
        assert!(hazards.iter().any(is_early), "{hazards:#?}");
    }
}

#[test]
fn a_block_stays_until_others_are_done_with_its_memory() {
    let early = exchange().replace(&format!("{MEET} // the last"), "");
    for fuel in [1, 7, 100_000] {
        let (hazards, _) = found_in(&early, 2, 32, 2, fuel);
        let [Hazard::Absent { visitor, block, presence, times }] = &hazards[..] else { panic!("{hazards:#?}") };
        assert!(*presence == Presence::Ended && visitor.block != *block && *times > 0, "{hazards:#?}");
        assert!(visitor.instruction.starts_with("ld.shared::cluster"), "{hazards:#?}");
    }
}

#[test]
fn a_cluster_barrier_does_not_order_another_cluster() {
    let body = format!(
        "{MEET} shr.u32 %r3, %r2, 1; st.global.u32 [%rd1], %r3;
         {MEET}"
    );
    // Those of one cluster write the same, one after the other; so do those of the next, something else.
    let (hazards, _) = found_in(&body, 4, 1, 2, 100_000);
    assert!(matches!(&hazards[..], [Hazard::Race { space: MemorySpace::Global, .. }]), "{hazards:#?}");
    assert_eq!(found_in(&body, 2, 1, 2, 100_000), (vec![], Step::Done));
}

#[test]
fn memory_that_another_block_has_written_is_written() {
    let body = format!(
        "mov.u32 %r3, tile; mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r3, %r5;
         {MEET} st.shared::cluster.u32 [%r6], %r2; {MEET} ld.shared.u32 %r7, [tile];"
    );
    assert_eq!(found_in(&body, 2, 1, 2, 100_000), (vec![], Step::Done));
    let (hazards, _) = found_in(&body.replace("st.shared::cluster.u32 [%r6], %r2;", ""), 2, 1, 2, 100_000);
    assert!(matches!(&hazards[..], [Hazard::Unwritten { .. }]), "{hazards:#?}");
}
