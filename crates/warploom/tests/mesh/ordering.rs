//! Order of copies after earlier work, and its driver calls (S3.17 to S3.19).

use warploom::{Buffer, DeviceMemory, DevicePool, Function, Mesh, Stream, Topology};
use warploom_sim::topology::Topology as Wiring;
use warploom_testkit::{TestResult, budget, in_every_mode};

use super::{Site, contexts, warm};

const COPY: (Function, u64) = (Function::cuMemcpyPeerAsync, 1);

/// One copy and so many other streams that are waited for: no synchronise, no stream, no event but pooled
/// ones.
fn after(streams: u64) -> [(Function, u64); 3] {
    [COPY, (Function::cuEventRecord, streams), (Function::cuStreamWaitEvent, streams)]
}

struct Bench {
    site: Site,
    mesh: Mesh,
    /// Two of each of two devices.
    streams: [[Stream; 2]; 2],
    source: Buffer<u8>,
    target: Buffer<u8>,
}

impl Bench {
    /// Memory on two devices that no stream has used yet.
    fn new() -> TestResult<Bench> {
        let site = Site::preset("pcie-pair")?;
        let mesh = site.mesh()?;
        let [one, other] = [0, 1].map(|at: usize| (site.contexts[at].stream(), site.contexts[at].stream()));
        let streams = [[one.0?, one.1?], [other.0?, other.1?]];
        warm(streams.as_flattened())?;
        let source = DeviceMemory::new(&site.contexts[0]).allocate(1 << 16)?;
        let target = DeviceMemory::new(&site.contexts[1]).allocate(1 << 16)?;
        Ok(Bench { site, mesh, streams, source, target })
    }

    /// Copies on a stream of the target's device, with exactly these calls.
    fn copy(&mut self, on: usize, calls: &[(Function, u64)]) -> TestResult {
        let Bench { site, mesh, streams, source, target } = self;
        budget(&site.driver, calls, || mesh.copy(&*source, target, &streams[1][on]).map(drop))?;
        Ok(())
    }
}

/// S3.17, S3.19: written on another stream: one record and one wait, once; on the same stream, or since then:
/// none.
#[test]
fn a_copy_waits_for_the_last_write_of_the_source_once() -> TestResult {
    let mut bench = Bench::new()?;
    for _ in 0..3 {
        bench.source.fill(1, &bench.streams[0][0])?;
        bench.copy(0, &after(1))?;
        bench.copy(0, &[COPY])?;
        bench.copy(0, &[COPY])?;
        bench.streams[0][0].wait_for(&bench.streams[1][0])?;
    }
    Ok(())
}

/// S3.17: what its own stream wrote, a copy follows anyway.
#[test]
fn a_copy_on_the_stream_that_wrote_waits_for_nothing() -> TestResult {
    let mut bench = Bench::new()?;
    bench.source.fill(1, &bench.streams[0][0])?;
    let Bench { site, mesh, streams, source, target } = &mut bench;
    budget(&site.driver, &[COPY], || mesh.copy(&*source, target, &streams[0][0]).map(drop))?;
    Ok(())
}

/// S3.18: what wrote the destination elsewhere is waited for.
#[test]
fn a_copy_waits_for_writes_of_the_destination() -> TestResult {
    let mut bench = Bench::new()?;
    bench.source.fill(1, &bench.streams[0][0])?;
    bench.target.fill(2, &bench.streams[1][1])?;
    bench.copy(0, &after(2))?;
    assert!(bench.target.download(&bench.streams[1][0])?.iter().all(|byte| *byte == 1));
    Ok(())
}

/// S3.18: what reads the destination elsewhere is waited for.
#[test]
fn a_copy_waits_for_reads_of_the_destination() -> TestResult {
    let mut bench = Bench::new()?;
    bench.source.fill(1, &bench.streams[0][0])?;
    bench.copy(0, &after(1))?;
    let mut reader = DeviceMemory::new(&bench.site.contexts[1]).allocate::<u8>(1 << 16)?;
    let reads = [(Function::cuMemcpyDtoDAsync_v2, 1), (Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)];
    let Bench { site, mesh, streams, target, .. } = &bench;
    budget(&site.driver, &reads, || mesh.copy(target, &mut reader, &streams[1][1]).map(drop))?;
    bench.copy(0, &after(1))?;
    assert!(reader.download(&bench.streams[1][1])?.iter().all(|byte| *byte == 1));
    Ok(())
}

/// S3.17: one other stream that used both ends is waited for once.
#[test]
fn a_stream_that_used_both_ends_is_waited_for_once() -> TestResult {
    let mut bench = Bench::new()?;
    bench.source.fill(1, &bench.streams[0][0])?;
    bench.mesh.copy(&bench.source, &mut bench.target, &bench.streams[0][0])?;
    bench.copy(0, &after(1))?;
    Ok(())
}

/// S3.18: reads do not wait for each other.
#[test]
fn copies_from_one_source_do_not_wait_for_each_other() -> TestResult {
    let site = Site::preset("dgx-h100")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    warm(&streams)?;
    let mut source = DeviceMemory::new(&site.contexts[0]).allocate::<u8>(4096)?;
    source.fill(3, &streams[0])?;
    let mut targets = Vec::new();
    for stream in &streams[1..] {
        let mut target = DeviceMemory::new(stream.context()).allocate::<u8>(4096)?;
        budget(&site.driver, &after(1), || mesh.copy(&source, &mut target, stream).map(drop))?;
        targets.push(target);
    }
    // An overwrite of the source has to wait for all of them.
    let calls = [(Function::cuMemcpyDtoDAsync_v2, 1), (Function::cuEventRecord, 7), (Function::cuStreamWaitEvent, 7)];
    let mut other = DeviceMemory::new(&site.contexts[0]).allocate::<u8>(4096)?;
    other.fill(4, &streams[0])?;
    budget(&site.driver, &calls, || mesh.copy(&other, &mut source, &streams[0]).map(drop))?;
    for (target, stream) in targets.iter().zip(&streams[1..]) {
        assert!(target.download(stream)?.iter().all(|byte| *byte == 3));
    }
    Ok(())
}

/// S3.18, M.3: both ends may be dropped at once; their memory goes after the copy.
#[test]
fn both_ends_may_be_dropped_right_after_the_call() -> TestResult {
    in_every_mode(&Wiring::preset("hgx-a100-4")?, 4, |_, driver| {
        let contexts = contexts(driver)?;
        let streams = contexts.iter().map(warploom::Context::stream).collect::<Result<Vec<_>, _>>()?;
        let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>, _>>()?;
        let topology = Topology::probe(&driver.devices()?)?;
        let (mesh, _) = Mesh::open(&topology, &contexts, &pools.iter().collect::<Vec<_>>())?;
        let mut last = pools[3].zeroed::<u8>(1 << 16, &streams[3])?;
        for round in 0..12 {
            let (from, to) = (round % 3, (round + 1) % 4);
            let mut source = pools[from].allocate::<u8>(1 << 16, &streams[from])?;
            source.fill(round as u8, &streams[from])?;
            let mut target = pools[to].allocate::<u8>(1 << 16, &streams[to])?;
            mesh.copy(&source, &mut target, &streams[to])?;
            mesh.copy(&target, &mut last, &streams[3])?;
        }
        Ok(last.download(&streams[3])?.iter().all(|byte| *byte == 11))
    })
    .map(|is_last| assert!(is_last))
}

/// S3.19: never a host synchronisation, never a new stream, and events only until the pool has enough.
#[test]
fn copies_never_wait_for_the_host_and_make_no_streams() -> TestResult {
    let site = Site::preset("dgx-h100")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let mut buffers = Vec::new();
    for (pool, stream) in pools.iter().zip(&streams) {
        buffers.push(pool.zeroed::<u8>(1024, stream)?);
    }
    let mut round = || -> TestResult {
        for (at, stream) in streams.iter().enumerate() {
            let [from, to] = buffers.get_disjoint_mut([at, (at + 3) % 8])?;
            mesh.copy(&*from, &mut *to, stream)?;
            mesh.copy(&*to, &mut *from, stream)?;
        }
        Ok(())
    };
    round()?;
    let counter = site.driver.count_calls();
    round()?;
    round()?;
    let calls = counter.by_function();
    drop(counter);
    let expected = [Function::cuMemcpyPeerAsync, Function::cuEventRecord, Function::cuStreamWaitEvent];
    assert!(calls.iter().all(|(function, _)| expected.contains(function)), "{calls:?}");
    let count = |wanted| calls.iter().find(|(function, _)| *function == wanted).map_or(0, |(_, count)| *count);
    assert_eq!(count(Function::cuMemcpyPeerAsync), 32);
    assert_eq!(count(Function::cuEventRecord), count(Function::cuStreamWaitEvent));
    Ok(())
}

/// S3.27: a stream that went with its device has nothing to be waited for.
#[test]
fn streams_of_a_device_that_was_reset_are_not_waited_for() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let mut source = DeviceMemory::new(&site.contexts[0]).allocate::<u8>(64)?;
    source.fill(5, &streams[0])?;
    let mut other = DeviceMemory::new(&site.contexts[2]).allocate::<u8>(64)?;
    mesh.copy(&source, &mut other, &streams[2])?.synchronize()?;
    drop(other);
    #[expect(unsafe_code, reason = "resets a device")]
    // SAFETY: what was made on the device is not used any more, but for its stream, which is remembered.
    unsafe { site.driver.device(2)?.reset_context() }?;
    let mut fresh = DeviceMemory::new(&site.contexts[0]).allocate::<u8>(64)?;
    fresh.fill(6, &streams[0])?;
    mesh.copy(&fresh, &mut source, &streams[0])?; // device 2 had read it
    assert_eq!(source.download(&streams[0])?, [6; 64]);
    source.close()?;
    Ok(())
}
