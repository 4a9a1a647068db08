//! Mistakes that are planted in `crates/ptx/kernels/planted/planted.cu`: each is found and named, and its fixed twin is quiet. On
//! simulated machines, because hardware does not say.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{
    Absence, Checks, CopySide, FindingKind, HeapMisuse, HeapProblem, Instead, KernelChecks, KernelFault, KernelRace,
    Machine, MissingOrder, Mode, Order, RacedMemory, ThreadAccess,
};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call, code_of, open};

use crate::support::{Module, download, planted, planted90, upload};

/// Every kernel says these lines of its source.
const SOURCES: [(&str, &str); 2] = [
    ("planted.cu", include_str!("../../../../ptx/kernels/planted/planted.cu")),
    ("planted90.cu", include_str!("../../../../ptx/kernels/planted/planted90.cu")),
];

/// Blocks, threads, bytes of shared memory.
type Shape = (u32, u32, u32);

/// Runs a kernel, with its mistake or without; `arguments` come before `fixed`, each in a word of eight bytes.
fn run(
    mode: Mode,
    kernel: &str,
    shape: Shape,
    fixed: bool,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let (machine, _) = open(Topology::preset("h200")?, mode)?;
    run_on(&machine, kernel, shape, fixed, arguments)
}

fn run_on(
    machine: &Machine,
    kernel: &str,
    (blocks, threads, shared): Shape,
    fixed: bool,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let driver = &Driver::open(machine)?;
    driver.initialize()?;
    let primary = Primary::of(driver, 0)?;
    let is_new = SOURCES[1].1.contains(kernel);
    let module = Module::load(driver, &if is_new { planted90() } else { planted() })?;
    let function = module.function(kernel)?;
    let mut values = arguments(driver)?;
    values.push(fixed.into());
    let mut places: Vec<_> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
    let (places, none) = (places.as_mut_ptr(), null_mut());
    drop(call!(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, none, places, null_mut())));
    drop(call!(driver.cuCtxSynchronize()));
    let found = kinds(machine);
    drop((module, primary));
    Ok(found)
}

fn kinds(machine: &Machine) -> Vec<FindingKind> {
    machine.findings().into_iter().map(|finding| finding.kind).collect()
}

/// What is found in the kernel with its mistake, in every order; without it, nothing is.
#[track_caller]
fn twins(
    kernel: &str,
    shape: Shape,
    arguments: impl Fn(&Driver) -> TestResult<Vec<u64>>,
) -> TestResult<Vec<FindingKind>> {
    let mut found = Vec::new();
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads, Mode::Sync] {
        found = run(mode, kernel, shape, false, &arguments)?;
        let quiet = run(mode, kernel, shape, true, &arguments)?;
        assert!(quiet.is_empty(), "{kernel}, fixed: {quiet:#?}");
        assert!(!found.is_empty(), "{kernel}: nothing is found in mode {mode:?}");
    }
    Ok(found)
}

/// The only finding, a race, and its text.
#[track_caller]
fn race(found: &[FindingKind]) -> (&KernelRace, String) {
    match found {
        [kind @ FindingKind::KernelRace { race, .. }] => (race, kind.to_string()),
        other => panic!("one race, not {other:#?}"),
    }
}

#[track_caller]
fn fault(found: &[FindingKind]) -> &KernelFault {
    match found {
        [FindingKind::KernelFault { fault, .. }] => fault,
        other => panic!("one fault, not {other:#?}"),
    }
}

/// The number of the line of a kernel that has some text.
#[track_caller]
fn line(kernel: &str, text: &str) -> Option<(String, u32)> {
    let is_start = |line: &str| line.contains(&format!(" {kernel}("));
    let found = SOURCES.iter().find_map(|(file, source)| Some((file, source, source.lines().position(is_start)?)));
    let (file, source, start) = found.expect("the kernel");
    let behind = source.lines().skip(start).position(|line| line.contains(text)).expect("the line");
    Some(((*file).to_owned(), (start + behind + 1) as u32))
}

/// A line without the folder of its file.
fn short(source: &Option<(String, u32)>) -> Option<(String, u32)> {
    source.as_ref().map(|(file, line)| (file.rsplit('/').next().unwrap_or(file).to_owned(), *line))
}

fn words(driver: &Driver, count: u32) -> TestResult<u64> {
    upload(driver, &(0..count).collect::<Vec<_>>())
}

#[test]
fn a_neighbour_is_read_before_it_has_written() -> TestResult {
    let kernel = "planted_read_after_write";
    let found = twins(kernel, (2, 128, 0), |driver| Ok(vec![words(driver, 256)?, words(driver, 256)?]))?;
    // Lanes of a warp, and warps: two pairs of threads, one pair of instructions.
    let (race, text) = race(&found);
    assert_eq!((race.memory.clone(), race.times > 100), (RacedMemory::Shared, true), "{text}");
    assert!(race.first.instruction.starts_with("st.shared") && race.second.instruction.starts_with("ld.shared"));
    assert_eq!(short(&race.first.source), line(kernel, "tile[threadIdx.x] = x[i]"), "{text}");
    assert_eq!(short(&race.second.source), line(kernel, "y[i] ="), "{text}");
    assert_eq!((race.first.block, race.bytes.end - race.bytes.start), (race.second.block, 4));
    assert!(text.starts_with("race in a kernel: cuLaunchKernel (call "), "{text}");
    assert!(text.contains("`planted_read_after_write`: block [0, 0, 0], thread ["), "{text}");
    assert!(text.contains("of the block's shared memory, and nothing orders that behind block"), "{text}");
    Ok(())
}

#[test]
fn a_value_is_gone_before_it_was_read() -> TestResult {
    let kernel = "planted_write_after_read";
    let found = twins(kernel, (1, 128, 0), |driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]))?;
    let sources: Vec<_> = found
        .iter()
        .map(|kind| match kind {
            FindingKind::KernelRace { race, .. } => (short(&race.first.source), short(&race.second.source)),
            other => panic!("{other}"),
        })
        .collect();
    let (read, write) = (line(kernel, "int next ="), line(kernel, "tile[threadIdx.x] = next"));
    assert!(
        sources.iter().all(|pair| *pair == (read.clone(), write.clone()) || *pair == (write.clone(), read.clone()))
    );
    Ok(())
}

#[test]
fn all_threads_write_one_word() -> TestResult {
    let found = twins("planted_write_after_write", (2, 64, 0), |driver| Ok(vec![words(driver, 2)?]))?;
    let (race, text) = race(&found);
    assert_eq!((race.memory.clone(), race.missing), (RacedMemory::Shared, MissingOrder::OwnPlace), "{text}");
    assert!(text.contains("give each thread a place of its own"), "{text}");
    Ok(())
}

#[test]
fn lanes_of_a_warp_do_not_keep_step() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_warp", (1, 64, 0), arguments)?;
    let (race, text) = race(&found);
    assert_eq!(race.missing, MissingOrder::WarpBarrier, "{text}");
    assert!(text.contains("put __syncwarp() between the two"), "{text}");
    Ok(())
}

#[test]
fn blocks_add_to_one_word_without_atomics() -> TestResult {
    let kernel = "planted_blocks";
    let found = twins(kernel, (2, 1, 0), |driver| Ok(vec![words(driver, 2)?, words(driver, 1)?]))?;
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    for kind in &found {
        let FindingKind::KernelRace { race, .. } = kind else { panic!("{kind}") };
        assert_eq!((race.missing, &race.bytes), (MissingOrder::GridOrder, &(0..4)), "{kind}");
        let RacedMemory::Allocation(allocation) = &race.memory else { panic!("{kind}") };
        assert_eq!((allocation.bytes, allocation.device), (4, Some(0)), "{kind}");
        assert_eq!((race.first.block, race.second.block), ([0, 0, 0], [1, 0, 0]), "{kind}");
        assert_eq!(short(&race.second.source), line(kernel, "*sum +="), "{kind}");
    }
    assert!(texts[0].contains("blocks have no order"), "{}", texts[0]);
    Ok(())
}

#[test]
fn data_is_handed_on_without_a_fence() -> TestResult {
    let arguments = |driver: &Driver| {
        Ok(vec![words(driver, 1)?, upload(driver, &[0])?, upload(driver, &[0])?, upload(driver, &[0])?])
    };
    let found = twins("planted_fence", (3, 32, 0), arguments)?;
    let (race, text) = race(&found);
    assert_eq!((race.missing, race.first.block, race.second.block), (MissingOrder::GridOrder, [0; 3], [2, 0, 0]));
    assert!(text.contains("__threadfence()"), "{text}");
    Ok(())
}

#[test]
fn a_counter_is_read_as_if_it_were_not_atomic() -> TestResult {
    let found = twins("planted_mixed", (2, 64, 0), |driver| Ok(vec![upload(driver, &[0])?, upload(driver, &[0])?]))?;
    for kind in &found {
        let FindingKind::KernelRace { race, .. } = kind else { panic!("{kind}") };
        assert_eq!(race.missing, MissingOrder::BothAtomic, "{kind}");
        assert!(kind.to_string().contains("atomically changes"), "{kind}");
    }
    Ok(())
}

#[test]
fn threads_end_before_a_barrier() -> TestResult {
    let kernel = "planted_barrier";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 40]))?;
    let [kind @ FindingKind::BarrierDivergence { barrier, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((barrier.barrier, barrier.waiting, barrier.did), (0, 40, Instead::Ended { threads: 24 }), "{kind}");
    assert_eq!(barrier.waits.thread, [0; 3], "{kind}");
    assert!(barrier.other.thread[0] >= 40, "{kind}");
    assert!(kind.to_string().starts_with("divergent barrier: cuLaunchKernel (call "), "{kind}");
    assert!(kind.to_string().contains("has ended (24 threads have)"), "{kind}");
    Ok(())
}

#[test]
fn threads_wait_at_different_barriers() -> TestResult {
    let found = twins("planted_barriers", (1, 64, 0), |driver| Ok(vec![words(driver, 64)?]))?;
    let barriers: Vec<_> = found
        .iter()
        .filter_map(|kind| match kind {
            FindingKind::BarrierDivergence { barrier, .. } => Some((barrier.barrier, barrier.waiting, barrier.did)),
            _ => None,
        })
        .collect();
    assert_eq!(barriers, [(1, 32, Instead::WaitsAt { barrier: 2, threads: 32 })]);
    assert!(matches!(&found[..], [_, FindingKind::KernelFault { .. }] | [FindingKind::KernelFault { .. }, _]));
    Ok(())
}

#[test]
fn threads_do_not_agree_on_a_count() -> TestResult {
    let found = twins("planted_counts", (1, 96, 0), |driver| Ok(vec![words(driver, 96)?]))?;
    let [kind @ FindingKind::BarrierDivergence { barrier, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(barrier.did, Instead::OtherCount { expects: 64, first: 96 }, "{kind}");
    Ok(())
}

#[test]
fn global_memory_is_read_and_written_outside() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 65)?, words(driver, 64)?, 64]);
    for (kernel, access) in [("planted_write_outside", "st.global"), ("planted_read_outside", "ld.global")] {
        let found = match access {
            "st.global" => twins(kernel, (1, 96, 0), arguments)?,
            _ => twins(kernel, (1, 96, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 64]))?,
        };
        let fault = fault(&found);
        let near = fault.near.as_ref().expect("an allocation is near");
        assert_eq!((fault.address, near.bytes), (Some(near.address + 256), 256), "{fault}");
        assert!(fault.instruction.starts_with(access) && fault.source.is_some(), "{fault}");
        assert!(fault.to_string().contains("0 bytes behind the end of the 256 bytes at"), "{fault}");
    }
    Ok(())
}

#[test]
fn shared_and_local_memory_are_left() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_shared_outside", (1, 64, 252), arguments)?;
    assert_eq!(fault(&found).problem, "shared memory at 0xfc lies outside of the block's 252 bytes");
    assert_eq!(fault(&found).thread, [63, 0, 0]);
    let found = twins("planted_local_outside", (1, 32, 0), |driver| Ok(vec![words(driver, 32)?, 1 << 20]))?;
    assert!(fault(&found).problem.starts_with("local memory at"), "{}", fault(&found));
    Ok(())
}

#[test]
fn a_long_is_read_where_only_words_are_aligned() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_misaligned", (1, 32, 0), arguments)?;
    assert_eq!((fault(&found).thread, fault(&found).source.is_some()), ([1, 0, 0], true), "{}", fault(&found));
    assert!(fault(&found).problem.ends_with("is no multiple of 8"), "{}", fault(&found));
    Ok(())
}

#[test]
fn memory_is_read_that_nobody_has_written() -> TestResult {
    let found = twins("planted_unwritten", (1, 64, 0), |driver| {
        let mut x = 0;
        call!(driver.cuMemAlloc_v2(&mut x, 256))?;
        call!(driver.cuMemsetD32_v2(x, 7, 40))?;
        Ok(vec![x, words(driver, 64)?, 40])
    })?;
    let [FindingKind::UninitialisedRead { bytes, total, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((bytes, total), (&(160..256), &96));
    Ok(())
}

#[test]
fn shared_memory_is_read_that_nobody_has_written() -> TestResult {
    let kernel = "planted_unwritten_shared";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UninitialisedShared { read, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&read.bytes, read.times, read.reader.thread), (&(256..260), 64, [0; 3]), "{kind}");
    assert_eq!(short(&read.reader.source), line(kernel, "y[threadIdx.x] ="), "{kind}");
    assert!(kind.to_string().contains("which no thread of the block has written"), "{kind}");
    Ok(())
}

#[test]
fn an_address_outlives_its_block() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![upload(driver, &[0; 2])?, words(driver, 2)?]);
    let found = twins("planted_block_over", (2, 1, 0), arguments)?;
    let [FindingKind::UninitialisedShared { read, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(read.reader.block, [1, 0, 0]);
    Ok(())
}

#[test]
fn a_copy_is_read_before_it_has_come() -> TestResult {
    let kernel = "planted_copy_wait";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(
        (copy.side, copy.access, &copy.memory),
        (CopySide::Destination, ThreadAccess::Read, &RacedMemory::Shared)
    );
    assert_eq!((&copy.bytes, copy.times), (&(4..8), 64), "{kind}");
    assert_eq!((copy.copier.thread, copy.other.thread), ([1, 0, 0], [0, 0, 0]), "{kind}");
    assert!(copy.copier.instruction.starts_with("cp.async.ca"), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "y[threadIdx.x] ="), "{kind}");
    let text = kind.to_string();
    assert!(text.starts_with("unfinished copy: cuLaunchKernel (call "), "{text}");
    assert!(
        text.contains("to which a copy is under way that block [0, 0, 0], thread [1, 0, 0] has asked for"),
        "{text}"
    );
    assert!(text.contains("cp.async.wait_all"), "{text}");
    Ok(())
}

#[test]
fn a_neighbours_copy_is_read_without_a_barrier() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_copy_barrier", (1, 64, 0), arguments)?;
    let (race, text) = race(&found);
    assert!(race.first.instruction.starts_with("cp.async") && race.memory == RacedMemory::Shared, "{text}");
    Ok(())
}

#[test]
fn a_source_is_overwritten_before_it_was_copied() -> TestResult {
    let kernel = "planted_copy_source";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UnfinishedCopy { copy, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((copy.side, copy.access, &copy.bytes), (CopySide::Source, ThreadAccess::Write, &(0..4)), "{kind}");
    assert!(matches!(&copy.memory, RacedMemory::Allocation(allocation) if allocation.bytes == 256), "{kind}");
    assert_eq!(short(&copy.other.source), line(kernel, "x[threadIdx.x] = 0"), "{kind}");
    assert!(kind.to_string().contains("from which a copy is under way that it has asked for itself"), "{kind}");
    Ok(())
}

#[test]
fn blocks_of_a_cluster_meet_without_its_barrier() -> TestResult {
    let kernel = "planted_cluster_race";
    let found = twins(kernel, (4, 64, 0), |driver| Ok(vec![words(driver, 256)?, words(driver, 256)?]))?;
    let (race, text) = race(&found);
    let RacedMemory::Cluster { block } = race.memory else { panic!("{text}") };
    assert!(race.first.block != race.second.block && [race.first.block, race.second.block].contains(&block), "{text}");
    assert_eq!(race.missing, MissingOrder::ClusterBarrier, "{text}");
    assert!(text.contains("of the shared memory of block [") && text.contains("cluster.sync()"), "{text}");
    let sources = [short(&race.first.source), short(&race.second.source)];
    assert!(sources.contains(&line(kernel, "tile[threadIdx.x] = x[i]")), "{text}");
    Ok(())
}

#[test]
fn a_block_may_not_be_there_when_another_accesses_its_memory() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]);
    let planted_at = [
        ("planted_cluster_start", Absence::NotStarted, "before the first access"),
        ("planted_cluster_end", Absence::Ended, "behind the last access"),
    ];
    for (kernel, when, missing) in planted_at {
        let found = twins(kernel, (2, 64, 0), arguments)?;
        let [kind @ FindingKind::AbsentBlock { visit, .. }, faults @ ..] = &found[..] else { panic!("{found:#?}") };
        assert!(visit.when == when && visit.block != visit.visitor.block, "{kind}");
        // Whoever comes when the block has ended cannot go on.
        match faults {
            [] => assert!(visit.times >= 64, "{kind}"),
            faults => assert!(fault(faults).problem.contains("has ended") && when == Absence::Ended, "{kind}"),
        }
        assert_eq!(short(&visit.visitor.source), line(kernel, "of_other_block("), "{kind}");
        let text = kind.to_string();
        assert!(text.starts_with("absent block: cuLaunchKernel (call ") && text.contains(missing), "{text}");
    }
    Ok(())
}

/// The only finding about the heap, its text, and whatever else was found.
#[track_caller]
fn heap(found: &[FindingKind]) -> (&HeapMisuse, String, &[FindingKind]) {
    match found {
        [kind @ FindingKind::HeapMisuse { misuse, .. }, more @ ..] => (misuse, kind.to_string(), more),
        other => panic!("misuse of the heap, not {other:#?}"),
    }
}

#[test]
fn memory_of_the_heap_is_used_after_it_was_freed() -> TestResult {
    let kernel = "planted_heap_after_free";
    let found = twins(kernel, (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    let block = misuse.block.clone().expect("a block");
    assert_eq!(
        (misuse.problem, block.end - block.start, more),
        (HeapProblem::AfterFree(ThreadAccess::StrongRead), 64, &[][..])
    );
    assert_eq!((misuse.address - block.start, misuse.bytes), (12, 4), "{text}");
    assert_eq!(short(&misuse.thread.source), line(kernel, "y[0] = room[3]"), "{text}");
    let freed_by = misuse.freed_by.as_ref().expect("it was freed in the launch");
    assert_eq!(short(&freed_by.source), line(kernel, "if (!fixed) free("), "{text}");
    assert!(text.starts_with("misused heap: cuLaunchKernel (call "), "{text}");
    assert!(text.contains("bytes 12..16 of the 64 bytes that malloc gave at 0x"), "{text}");
    assert!(text.contains("which have been freed"), "{text}");
    Ok(())
}

#[test]
fn memory_of_the_heap_is_left() -> TestResult {
    let kernel = "planted_heap_outside";
    let found = twins(kernel, (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert_eq!((misuse.problem, misuse.bytes), (HeapProblem::Outside(ThreadAccess::StrongWrite), 1), "{text}");
    assert_eq!(
        (misuse.block.as_ref().map(|block| (block.end - block.start, block.end)), more),
        (Some((60, misuse.address)), &[][..])
    );
    assert_eq!(short(&misuse.thread.source), line(kernel, "room[last] = 1"), "{text}");
    assert!(text.contains("1 bytes 0 bytes behind the end of the 60 bytes that malloc gave"), "{text}");
    Ok(())
}

#[test]
fn memory_of_the_heap_is_freed_twice_or_is_none() -> TestResult {
    let found = twins("planted_heap_twice", (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert!(misuse.problem == HeapProblem::FreedTwice && misuse.freed_by.is_some(), "{text}");
    // An H200 stops there, too.
    assert!(fault(more).problem.ends_with("is freed twice"), "{more:#?}");
    let found = twins("planted_heap_inside", (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert_eq!((misuse.problem, misuse.freed_by.is_some(), more), (HeapProblem::NotABlock, false, &[][..]), "{text}");
    assert!(text.contains("which malloc has not given"), "{text}");
    Ok(())
}

/// What an H200 answered to the same kernels.
#[test]
fn a_kernel_goes_on_with_a_misused_heap_as_on_hardware() -> TestResult {
    let give = CString::new(
        ".version 8.3\n.target sm_75\n.address_size 64
        .extern .func free(.param .b64 a);
        .visible .global .align 8 .b8 variable[64];
        .visible .entry give(.param .u64 y, .param .u64 address)
        {
            .reg .b64 %rd<4>; .reg .pred %p<2>;
            ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [address];
            setp.ne.u64 %p1, %rd2, 0; @%p1 bra $go; mov.u64 %rd3, variable; cvta.global.u64 %rd2, %rd3; add.u64 %rd2, %rd2, 16;
            $go: { .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }
            cvta.to.global.u64 %rd1, %rd1; st.global.u32 [%rd1], 1; ret;
        }",
    )?;
    let (goes_on, failed, illegal) =
        (CUresult::CUDA_SUCCESS, CUresult::CUDA_ERROR_LAUNCH_FAILED, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let cases = [
        ("planted_heap_after_free", 0, goes_on, 7),
        ("planted_heap_outside", 0, goes_on, 1),
        ("planted_heap_inside", 0, goes_on, 1),
        ("planted_heap_twice", 0, failed, 0),
        ("give", 0, goes_on, 1),
        ("give", 0x1234, illegal, 0),
    ];
    for (kernel, value, code, expected) in cases {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &if kernel == "give" { give.clone() } else { planted() })?;
        let y = upload(driver, &[0])?;
        let places = &mut crate::arguments!(y, value);
        let function = module.function(kernel)?;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), places.as_mut_ptr(), null_mut()))?;
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), code, "{kernel} {value:#x}");
        if code == goes_on {
            assert_eq!(download(driver, y, 1)?, [expected], "{kernel} {value:#x}");
        }
        assert!(kinds(&machine).iter().any(|kind| matches!(kind, FindingKind::HeapMisuse { .. })), "{kernel}");
    }
    Ok(())
}

/// A kernel that waits for the host before it touches memory, on a stream of its own.
fn late(fixed: bool, meanwhile: impl Fn(&Driver, u64, [u64; 2]) -> TestResult) -> TestResult<Vec<FindingKind>> {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &planted())?;
    let function = module.function("planted_late")?;
    let (mut busy, mut other, mut latch, mut x) = (null_mut(), null_mut(), null_mut(), 0);
    call!(driver.cuStreamCreate(&mut busy, 1))?;
    call!(driver.cuStreamCreate(&mut other, 1))?;
    call!(driver.cuMemHostAlloc(&mut latch, 4, 0))?;
    call!(driver.cuMemAllocAsync(&mut x, 128, busy))?;
    call!(driver.cuMemsetD32Async(x, 3, 32, busy))?;
    let y = words(driver, 32)?;
    call!(driver.cuCtxSynchronize())?;
    let latch: *mut u32 = latch.cast();
    #[expect(unsafe_code, reason = "writes page-locked memory")]
    // SAFETY: page-locked memory of four bytes, which nobody else uses yet.
    let word = unsafe { std::sync::atomic::AtomicU32::from_ptr(latch) };
    word.store(0, std::sync::atomic::Ordering::SeqCst);
    let at = latch.addr() as u64;
    let places = &mut crate::arguments!(at, x, y);
    call!(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, busy, places.as_mut_ptr(), null_mut()))?;
    if !fixed {
        meanwhile(driver, other.addr() as u64, [x, y])?;
    }
    word.store(1, std::sync::atomic::Ordering::SeqCst);
    call!(driver.cuStreamSynchronize(busy))?;
    if fixed {
        meanwhile(driver, other.addr() as u64, [x, y])?;
    }
    call!(driver.cuStreamSynchronize(other))?;
    Ok(kinds(&machine))
}

fn stream(number: u64) -> warploom_testkit::sys::types::CUstream {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

#[test]
fn memory_is_freed_while_a_kernel_runs() -> TestResult {
    let free = |driver: &Driver, other, [x, _]: [u64; 2]| Ok(call!(driver.cuMemFreeAsync(x, stream(other)))?);
    let found = late(false, free)?;
    let [kind @ FindingKind::UseAfterFree { bytes, missing, user, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((bytes, missing.is_some()), (&(0..128), true), "{kind}");
    assert_eq!(user.function.map(|function| function.name()), Some("cuLaunchKernel"), "{kind}");
    assert!(kind.to_string().contains("and nothing orders that before cuMemFreeAsync"), "{kind}");
    assert_eq!(late(true, free)?, []);
    Ok(())
}

#[test]
fn another_stream_writes_what_a_kernel_reads() -> TestResult {
    let fill = |driver: &Driver, other, [x, _]: [u64; 2]| Ok(call!(driver.cuMemsetD32Async(x, 9, 32, stream(other)))?);
    let found = late(false, fill)?;
    let [kind @ FindingKind::Race { bytes, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(bytes, &(0..128), "{kind}");
    assert_eq!(late(true, fill)?, []);
    Ok(())
}

#[test]
fn memory_was_freed_before_the_launch() -> TestResult {
    let found = run(Mode::Sync, "planted_unwritten", (1, 32, 0), false, |driver| {
        let (x, y) = (upload(driver, &[1; 1 << 20])?, words(driver, 32)?);
        call!(driver.cuMemFree_v2(x))?;
        Ok(vec![x, y, 32])
    })?;
    assert!(fault(&found).freed.is_some() && fault(&found).to_string().contains("which cuMemFree_v2"));
    Ok(())
}

#[test]
fn findings_of_kernels_are_data() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 40]);
    let found = run(Mode::Sync, "planted_barrier", (1, 64, 0), false, arguments)?;
    let barrier = serde_json::to_value(&found[0])?;
    assert_eq!(
        (&barrier["kind"], &barrier["barrier"]["did"]["instead"]),
        (&"barrier_divergence".into(), &"ended".into())
    );
    let arguments = |driver: &Driver| Ok(vec![words(driver, 2)?, words(driver, 1)?]);
    let found = run(Mode::Sync, "planted_blocks", (2, 1, 0), false, arguments)?;
    let race = serde_json::to_value(&found[0])?;
    assert_eq!((&race["kind"], &race["race"]["missing"]), (&"kernel_race".into(), &"grid_order".into()));
    assert_eq!(race["race"]["memory"]["allocation"]["bytes"], 4);
    assert_eq!((&race["race"]["second"]["block"][0], &race["race"]["first_access"]), (&1.into(), &"write".into()));
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = run(Mode::Sync, "planted_unwritten_shared", (1, 64, 0), false, arguments)?;
    let read = serde_json::to_value(&found[0])?;
    assert_eq!((&read["kind"], &read["read"]["bytes"]["start"]), (&"uninitialised_shared".into(), &256.into()));
    let arguments = |driver: &Driver| Ok(vec![words(driver, 128)?, words(driver, 128)?]);
    let found = run(Mode::Sync, "planted_copy_wait", (1, 64, 0), false, arguments)?;
    let copy = serde_json::to_value(&found[0])?;
    assert_eq!((&copy["kind"], &copy["copy"]["side"]), (&"unfinished_copy".into(), &"destination".into()));
    let found = run(Mode::Sync, "planted_cluster_end", (2, 64, 0), false, arguments)?;
    let visit = serde_json::to_value(&found[0])?;
    assert_eq!((&visit["kind"], &visit["visit"]["when"]), (&"absent_block".into(), &"ended".into()));
    let found = run(Mode::Sync, "planted_cluster_race", (2, 64, 0), false, arguments)?;
    let race = serde_json::to_value(&found[0])?;
    assert_eq!(
        (&race["race"]["missing"], &race["race"]["memory"]["cluster"]["block"][1]),
        (&"cluster_barrier".into(), &0.into())
    );
    Ok(())
}

#[test]
fn each_check_can_be_turned_off() -> TestResult {
    let all = KernelChecks::ALL;
    let planted_at: [(&str, Shape, &[u32], KernelChecks); 4] = [
        ("planted_warp", (1, 64, 0), &[64, 64], all.shared_races(false)),
        ("planted_blocks", (2, 1, 0), &[2, 1], all.global_races(false)),
        ("planted_unwritten_shared", (1, 64, 0), &[64, 64], all.uninitialised_shared(false)),
        ("planted_counts", (1, 96, 0), &[96], all.barriers(false)),
    ];
    for (kernel, shape, sizes, without) in planted_at {
        for (checks, is_found) in [(all, true), (without, false), (KernelChecks::NONE, false)] {
            let machine = Machine::builder().checks(Checks::report().kernels(checks)).mode(Mode::Sync).start()?;
            let arguments = |driver: &Driver| sizes.iter().map(|count| words(driver, *count)).collect();
            let found = run_on(&machine, kernel, shape, false, arguments)?;
            assert_eq!(!found.is_empty(), is_found, "{kernel} with {checks:?}: {found:#?}");
        }
    }
    Ok(())
}
