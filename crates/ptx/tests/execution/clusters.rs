//! Clusters of several blocks.

use warploom_ptx::{Grid, Launch, LaunchError, Program, Step, Trap, TrapKind, VecMemory};

const HEADER: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// Words that a grid leaves at `out`, in `%rd1`; `%r1` is the block's number in the grid, from the left.
fn run(body: &str, grid: [u32; 3], cluster: [u32; 3], threads: u32, words: usize) -> Result<Vec<u32>, Box<Trap>> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n.reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<8>;
         .shared .align 16 .b8 room[64];
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x;\n{body}\nret;\n}}"
    );
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(1 << 16);
    let out = memory.reserve(words * 4);
    let (block, arguments) = ([threads, 1, 1], out.to_le_bytes());
    let launch = Launch { grid, block, cluster: Some(cluster), arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(program.kernel("k").expect("it is there"), launch, &memory).expect("it fits");
    loop {
        // A few instructions at a time, so that blocks meet in every order.
        match grid.step(7) {
            Step::Running => {}
            Step::Done => {
                let bytes = memory.read(out, words * 4);
                return Ok(bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect());
            }
            Step::Trapped(trap) => return Err(Box::new(trap)),
        }
    }
}

const ARRIVE_AND_WAIT: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

#[test]
fn special_registers_tell_where_a_block_is_in_its_cluster() {
    let names = ["%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctarank", "%clusterid.x", "%clusterid.y"];
    let all = ["%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctarank", "%nclusterid.x", "%nclusterid.y"];
    let stores: String = names
        .iter()
        .chain(&all)
        .enumerate()
        .map(|(index, name)| format!("mov.u32 %r5, {name}; st.global.u32 [%rd3+{}], %r5;\n", index * 4))
        .collect();
    let body = format!(
        "mov.u32 %r2, %ctaid.y; mad.lo.u32 %r3, %r2, 4, %r1; mul.wide.u32 %rd2, %r3, 64; add.u64 %rd3, %rd1, %rd2;
         {stores} mov.pred %p1, %is_explicit_cluster; selp.u32 %r5, 1, 0, %p1; st.global.u32 [%rd3+40], %r5;"
    );
    let found = run(&body, [4, 2, 1], [2, 2, 1], 1, 128).expect("it runs");
    for (number, words) in found.chunks(16).enumerate() {
        let (x, y) = (number as u32 % 4, number as u32 / 4);
        let expected = [x % 2, y, y * 2 + x % 2, x / 2, 0, 2, 2, 4, 2, 1, 1];
        assert_eq!(words[..11], expected, "block {x}, {y}");
    }
}

#[test]
fn blocks_of_a_cluster_read_write_and_count_in_each_others_memory() {
    let body = format!(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, room; shl.b32 %r4, %r2, 2; add.u32 %r4, %r3, %r4;
         mad.lo.u32 %r5, %r1, 100, %r2; st.shared.u32 [%r4], %r5; mov.u32 %r12, 0; st.shared.u32 [room+32], %r12;
         {ARRIVE_AND_WAIT}
         mov.u32 %r6, %cluster_ctarank; xor.b32 %r7, %r6, 1; mapa.shared::cluster.u32 %r8, %r4, %r7;
         ld.shared::cluster.u32 %r9, [%r8];
         getctarank.shared::cluster.u32 %r10, %r8; setp.ne.u32 %p1, %r10, %r7; @%p1 trap;
         getctarank.shared::cluster.u32 %r10, %r4; setp.ne.u32 %p1, %r10, %r6; @%p1 trap;
         mov.u32 %r11, 0; mapa.shared::cluster.u32 %r11, %r3, %r11; atom.shared::cluster.add.u32 %r12, [%r11+32], 1;
         {ARRIVE_AND_WAIT}
         cvta.shared.u64 %rd4, room; mapa.u64 %rd5, %rd4, %r7; isspacep.shared %p2, %rd5; @%p2 trap;
         isspacep.shared::cluster %p2, %rd5; @!%p2 trap; isspacep.shared::cta %p2, %rd4; @!%p2 trap;
         st.u32 [%rd5+48], %r1;
         {ARRIVE_AND_WAIT}
         ld.shared.u32 %r13, [room+48]; ld.shared.u32 %r14, [room+32];
         mad.lo.u32 %r15, %r1, 4, %r2; mul.wide.u32 %rd2, %r15, 16; add.u64 %rd3, %rd1, %rd2;
         st.global.v4.u32 [%rd3], {{%r9, %r13, %r14, %r6}};"
    );
    let found = run(&body, [4, 1, 1], [2, 1, 1], 4, 64).expect("it runs");
    for (number, words) in found.chunks(4).enumerate() {
        let (block, thread) = (number as u32 / 4, number as u32 % 4);
        let other = block ^ 1;
        let count = if block % 2 == 0 { 8 } else { 0 };
        assert_eq!(words, [other * 100 + thread, other, count, block % 2], "block {block}, thread {thread}");
    }
}

#[test]
fn a_cluster_waits_for_all_threads_that_have_not_ended_and_no_others() {
    // Half of the threads of one block leave; the others wait for the other block's.
    let body = format!(
        "mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, 16; setp.eq.u32 %p2, %r1, 1; and.pred %p3, %p1, %p2; @%p3 exit;
         barrier.cluster.wait;
         {ARRIVE_AND_WAIT} {ARRIVE_AND_WAIT}
         red.global.add.u32 [%rd1], 1;"
    );
    assert_eq!(run(&body, [2, 1, 1], [2, 1, 1], 32, 1), Ok(vec![48]));
}

#[test]
fn memory_of_blocks_that_are_not_there_traps() {
    let reach = |rank: &str, offset: &str| {
        format!(
            "mov.u32 %r3, room; {ARRIVE_AND_WAIT} mapa.shared::cluster.u32 %r4, %r3, {rank};
             ld.shared::cluster.u32 %r5, [%r4+{offset}]; {ARRIVE_AND_WAIT}"
        )
    };
    let trap = |body: &str| run(body, [2, 1, 1], [2, 1, 1], 1, 1).expect_err("it traps").kind;
    assert_eq!(trap(&reach("5", "0")), TrapKind::Cluster { rank: 5, count: 2 });
    assert_eq!(trap(&reach("1", "64")), TrapKind::Shared { address: 64, size: 64 });
    assert!(matches!(trap(&reach("1", "2")), TrapKind::Misaligned { .. }));
    let gone = "setp.eq.u32 %p1, %r1, 1; @%p1 exit; mov.u32 %r2, 100;
         $again: sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra $again;
         mov.u32 %r3, room; mapa.shared::cluster.u32 %r4, %r3, 1; ld.shared::cluster.u32 %r5, [%r4];";
    assert_eq!(trap(gone), TrapKind::Cluster { rank: 1, count: 2 });
}

#[test]
fn a_trap_names_the_block_of_the_cluster() {
    let body = "mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 3; @%p1 trap;";
    assert_eq!(run(body, [4, 2, 1], [2, 2, 1], 1, 1).expect_err("it traps").block[1], 1);
}

#[test]
fn clusters_divide_the_grid_and_have_at_most_sixteen_blocks() {
    let program = Program::from_text(&format!("{HEADER}.visible .entry k() .reqnctapercluster 2 {{ ret; }}"));
    let program = program.expect("it is PTX");
    let kernel = program.kernel("k").expect("it is there");
    assert_eq!(kernel.required_cluster(), Some([2, 1, 1]));
    let memory = VecMemory::new(64);
    for (grid, cluster) in [([3, 1, 1], [2, 1, 1]), ([4, 1, 1], [0, 1, 1]), ([32, 1, 1], [32, 1, 1])] {
        let launch = Launch { grid, cluster: Some(cluster), ..Launch::default() };
        assert_eq!(Grid::new(kernel, launch, &memory).err(), Some(LaunchError::Cluster { cluster, grid }));
    }
}
