//! Work of one device on the memory of another.

use std::ptr::null_mut;

use warploom_testkit::sys::types::CUcontext;
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, DEFAULT, Stream};
use super::program::planted;

const TWO: &str = "hgx-a100-4";

/// The second device, with a stream and 64 bytes that hold something.
struct Peer {
    context: CUcontext,
    stream: Stream,
    memory: u64,
}

impl Peer {
    fn new(bench: &Bench) -> TestResult<Peer> {
        let driver = &bench.driver;
        let (mut context, mut memory, mut stream) = (null_mut(), 0, null_mut());
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 1))?;
        call!(driver.cuCtxSetCurrent(context))?;
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
        bench.name(memory);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        bench.name_stream(stream)?;
        bench.upload(memory, 64)?;
        bench.enter()?;
        Ok(Peer { context, stream: Stream(stream.addr()), memory })
    }

    fn end(self, bench: &Bench) -> TestResult {
        let driver = &bench.driver;
        call!(driver.cuCtxSetCurrent(self.context))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuStreamDestroy_v2(self.stream.raw()))?;
        call!(driver.cuMemFree_v2(self.memory))?;
        call!(driver.cuDevicePrimaryCtxRelease_v2(1))?;
        Ok(bench.enter()?)
    }
}

#[test]
fn a_peer_copy_reads_what_the_peer_still_writes() -> TestResult {
    planted(|bench| {
        let peer = Peer::new(bench)?;
        let (stream, memory, driver) = (bench.non_blocking()?, bench.alloc(64)?, &bench.driver);
        bench.fill(peer.memory, 64, peer.stream)?;
        if bench.fixed {
            bench.sync(peer.stream)?;
        }
        let (own, other) = (bench.context(), peer.context);
        call!(driver.cuMemcpyPeerAsync(memory, own, peer.memory, other, 64, stream.raw()))?;
        bench.sync(stream)?;
        peer.end(bench)
    })
    .on(TWO)
    .finds("race: cuMemsetD8Async on A writes, cuMemcpyPeerAsync on B reads 0..64 of m0; B after A")
    .says("of device 1")
    .check()
}

#[test]
fn two_devices_write_the_same_memory() -> TestResult {
    planted(|bench| {
        let peer = Peer::new(bench)?;
        let (stream, memory, driver) = (bench.non_blocking()?, bench.filled(64)?, &bench.driver);
        let (own, other) = (bench.context(), peer.context);
        call!(driver.cuMemcpyPeerAsync(peer.memory, other, memory, own, 64, stream.raw()))?;
        if bench.fixed {
            bench.order(stream, peer.stream)?;
        }
        bench.fill(peer.memory + 60, 4, peer.stream)?;
        bench.sync(stream)?;
        peer.end(bench)
    })
    .on(TWO)
    .finds("race: cuMemcpyPeerAsync on B writes, cuMemsetD8Async on A writes 60..64 of m0; A after B")
    .check()
}

#[test]
fn memory_is_freed_while_another_device_reads_it() -> TestResult {
    planted(|bench| {
        let peer = Peer::new(bench)?;
        let (memory, driver) = (bench.filled(64)?, &bench.driver);
        let (own, other) = (bench.context(), peer.context);
        call!(driver.cuMemcpyPeerAsync(peer.memory, other, memory, own, 64, peer.stream.raw()))?;
        if bench.fixed {
            bench.sync(peer.stream)?;
        }
        // Freeing waits for the work of the memory's own context alone.
        bench.free(memory)?;
        peer.end(bench)
    })
    .on(TWO)
    .finds("use after free: cuMemcpyPeerAsync on A reads 0..64 of m1, cuMemFree_v2 frees; host after A")
    .check()
}

#[test]
fn a_copy_that_waits_is_ordered_with_the_default_streams_of_both_devices() -> TestResult {
    planted(|bench| {
        let peer = Peer::new(bench)?;
        let (memory, driver) = (bench.alloc(64)?, &bench.driver);
        let (own, other) = (bench.context(), peer.context);
        call!(driver.cuCtxSetCurrent(other))?;
        bench.fill(peer.memory, 64, DEFAULT)?;
        bench.enter()?;
        call!(driver.cuMemcpyPeer(memory, own, peer.memory, other, 64))?;
        call!(driver.cuCtxSetCurrent(other))?;
        bench.fill(peer.memory, 64, DEFAULT)?;
        bench.enter()?;
        peer.end(bench)
    })
    .on(TWO)
    .stays_quiet()
}
