//! Copies and fills between devices.

use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::CUDA_MEMCPY3D_PEER;
use warploom_testkit::{ASYNCHRONOUS, Primary, Stream, TestResult, answers, call, open};

use crate::support::{Memory, between, counting, slices};

/// The memory of one device can be copied to another that may not touch it: it goes through the host.
#[test]
fn copies_between_devices_need_no_peer_access() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("pcie-t4")?, *mode)?;
        let driver = &driver;
        let near = Primary::of(driver, 0)?;
        let far = Primary::of(driver, 1)?;
        let to = Memory::of(driver, &[0; 1024])?;
        near.make_current()?;
        let from = Memory::of(driver, &counting(1024))?;
        let stream = Stream::new(driver)?;
        call!(driver.cuMemcpyDtoDAsync_v2(to.address, from.address, 100, stream.raw))?;
        call!(driver.cuMemcpyAsync(to.address + 100, from.address + 100, 100, stream.raw))?;
        let raw = stream.raw;
        call!(driver.cuMemcpyPeerAsync(to.address + 200, far.context, from.address + 200, near.context, 100, raw))?;
        stream.synchronize()?;
        call!(driver.cuMemcpyPeer(to.address + 300, far.context, from.address + 300, near.context, 100))?;
        let received = to.read()?;
        assert_eq!(received[..400], counting(1024)[..400]);
        assert_eq!(received[400..], [0; 624]);

        let block = CUDA_MEMCPY3D_PEER {
            srcContext: near.context,
            dstContext: far.context,
            ..between(slices(to.address, from.address))
        };
        call!(driver.cuMemcpy3DPeerAsync(&block, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(to.read()?[704..736], counting(1024)[704..736]);
        drop((from, stream));
        far.make_current()?;
        drop(to);
    }
    Ok(())
}

#[test]
fn a_synchronous_peer_copy_is_ordered_with_the_default_streams_of_both_contexts() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, *mode)?;
        let driver = &driver;
        let [source, middle, destination] = [Primary::of(driver, 0)?, Primary::of(driver, 1)?, Primary::of(driver, 2)?];
        source.make_current()?;
        let from = Memory::new(driver, 64)?;
        destination.make_current()?;
        let to = Memory::of(driver, &[0; 64])?;

        source.make_current()?;
        call!(driver.cuMemsetD8_v2(from.address, 5, 64))?;
        middle.make_current()?;
        call!(driver.cuMemcpyPeer(to.address, destination.context, from.address, source.context, 64))?;
        source.make_current()?;
        call!(driver.cuMemsetD8_v2(from.address, 6, 64))?;
        destination.make_current()?;
        assert_eq!(to.read()?, [5; 64]);

        let mut block = between(slices(to.address, from.address));
        (block.srcContext, block.dstContext) = (source.context, destination.context);
        (block.WidthInBytes, block.Height, block.Depth) = (64, 1, 1);
        middle.make_current()?;
        call!(driver.cuMemcpy3DPeer(&block))?;
        destination.make_current()?;
        assert_eq!(to.read()?, [6; 64]);
        drop(to);
        source.make_current()?;
        drop(from);
    }
    Ok(())
}

#[test]
fn contexts_of_a_peer_copy_must_exist() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, *mode)?;
        let driver = &driver;
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, 64)?;
        let (at, raw, own) = (memory.address, stream.raw, primary.context);
        for bad in [without_provenance_mut(0xdead_0000), stream.raw.cast()] {
            answers!(driver.cuMemcpyPeer(at, bad, at, own, 16), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuMemcpyPeer(at, own, at, bad, 16), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuMemcpyPeerAsync(at, bad, at, null_mut(), 16, raw), CUDA_ERROR_INVALID_CONTEXT);
            let block = CUDA_MEMCPY3D_PEER { srcContext: bad, ..between(slices(at, at)) };
            answers!(driver.cuMemcpy3DPeer(&block), CUDA_ERROR_INVALID_CONTEXT);
        }
    }
    Ok(())
}

#[test]
fn the_memory_of_another_device_is_not_filled_without_access() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, *mode)?;
        let driver = &driver;
        let near = Primary::of(driver, 0)?;
        let far = Primary::of(driver, 1)?;
        let memory = Memory::of(driver, &[3; 64])?;
        near.make_current()?;
        let stream = Stream::new(driver)?;
        answers!(driver.cuMemsetD8_v2(memory.address, 0, 64), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemsetD8Async(memory.address, 0, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(memory.read()?, [3; 64]);
        drop(stream);
        far.make_current()?;
    }
    Ok(())
}

/// The simulator refuses pointers that the real driver dereferences, which ends the process.
#[test]
fn wild_pointers_are_refused_even_where_any_memory_will_do() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("h200")?, *mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, 64)?;
        let freed = Memory::new(driver, 64 << 20)?.address;
        let (_other, elsewhere) = open(Topology::preset("h200")?, *mode)?;
        let theirs = Primary::of(&elsewhere, 0)?;
        let foreign = Memory::new(&elsewhere, 64)?;
        for wild in [0xdead_0000, freed, memory.address + (1 << 30), foreign.address] {
            answers!(driver.cuMemcpy(wild, memory.address, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpy(memory.address, wild, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyAsync(wild, memory.address, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
            let host = without_provenance_mut::<std::ffi::c_void>(wild as usize);
            answers!(driver.cuMemcpyHtoD_v2(memory.address, host, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoH_v2(host, memory.address, 64), CUDA_ERROR_INVALID_VALUE);
        }
        drop((foreign, theirs));
    }
    Ok(())
}
