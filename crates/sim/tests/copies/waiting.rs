//! Host waits of copies, on a machine that runs work as late as it may.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::{MACHINE, Primary, Stream, TestResult, call, open};

use crate::support::{DURING_CALL, HOST, Memory, attributes, counting, rows};

fn lazy() -> TestResult<(Machine, Driver)> {
    open(Topology::preset(MACHINE)?, Mode::Deterministic(Order::Lazy))
}

#[test]
fn synchronous_copies_and_fills_within_a_device_do_not_wait() -> TestResult {
    let (machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let [from, to] = [Memory::new(driver, 64)?, Memory::new(driver, 64)?];
    call!(driver.cuMemsetD8_v2(from.address, 1, 64))?;
    assert_eq!(machine.unfinished_ops(), 1);
    call!(driver.cuMemcpyDtoD_v2(to.address, from.address, 64))?;
    call!(driver.cuMemcpy(to.address, from.address, 64))?;
    call!(driver.cuMemcpyPeer(to.address, null_mut(), from.address, null_mut(), 64))?;
    assert_eq!(machine.unfinished_ops(), 4);
    assert_eq!(to.read()?, [1; 64]);
    Ok(())
}

#[test]
fn synchronous_copies_with_the_host_wait() -> TestResult {
    let (machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let mut host = counting(256);
    let device = Memory::new(driver, 256)?;
    call!(driver.cuMemcpyHtoD_v2(device.address, host.as_ptr().cast(), 256))?;
    assert_eq!(machine.unfinished_ops(), 0);
    let mut copy = rows(device.address, 0);
    (copy.srcMemoryType, copy.srcHost) = (HOST, host.as_ptr().cast());
    call!(driver.cuMemcpy2D_v2(&copy))?;
    assert_eq!(machine.unfinished_ops(), 0);
    call!(driver.cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), device.address, 256))?;
    assert_eq!(machine.unfinished_ops(), 0);
    Ok(())
}

#[test]
fn pageable_sources_are_read_at_the_call() -> TestResult {
    let (machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let device = Memory::new(driver, 1 << 20)?;
    let mut host = counting(1 << 20);
    call!(driver.cuMemcpyHtoDAsync_v2(device.address, host.as_ptr().cast(), 1 << 20, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 1);
    host.fill(0);
    stream.synchronize()?;
    assert_eq!(device.read()?, counting(1 << 20));

    let mut copy = rows(device.address, 0);
    (copy.srcMemoryType, copy.srcHost) = (HOST, host.as_ptr().cast());
    call!(driver.cuMemcpy2DAsync_v2(&copy, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 1);
    host.fill(1);
    stream.synchronize()?;
    assert_eq!(device.read()?[..32], [0; 32]);
    Ok(())
}

#[test]
fn large_pageable_sources_and_pageable_destinations_wait() -> TestResult {
    let (machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let bytes = 32 << 20;
    let device = Memory::new(driver, bytes)?;
    let mut host = vec![3_u8; bytes];
    call!(driver.cuMemcpyHtoDAsync_v2(device.address, host.as_ptr().cast(), bytes, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 0);
    host.fill(0);
    call!(driver.cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), device.address, 64, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 0);
    assert_eq!(host[..65], [[3; 64].as_slice(), &[0]].concat());
    let (to, from) = (host[100..].as_mut_ptr().expose_provenance() as u64, host.as_ptr().addr() as u64);
    call!(driver.cuMemcpyAsync(to, from, 64, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 0);
    Ok(())
}

#[test]
fn asynchronous_copies_within_a_device_do_not_wait() -> TestResult {
    let (machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let [from, to] = [Memory::new(driver, 1024)?, Memory::new(driver, 1024)?];
    call!(driver.cuMemsetD8Async(from.address, 1, 1024, stream.raw))?;
    call!(driver.cuMemcpyDtoDAsync_v2(to.address, from.address, 1024, stream.raw))?;
    call!(driver.cuMemcpy2DAsync_v2(&rows(to.address, from.address), stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 3);
    stream.synchronize()?;
    assert_eq!(to.read()?, [1; 1024]);
    Ok(())
}

/// Against the manual, as an H200 has it: more than 64 KiB of the program's own memory is read when the
/// stream gets there.
#[test]
fn a_large_source_in_a_batch_is_read_late_despite_during_call_order() -> TestResult {
    let (_machine, driver) = lazy()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    for (len, is_late) in [(1 << 16, false), ((1 << 16) + 1, true), (1 << 20, true)] {
        let (device, mut host) = (Memory::new(driver, len)?, vec![6_u8; len]);
        let (mut to, mut from) = (device.address, host.as_ptr().expose_provenance() as u64);
        let (mut bytes, mut start, mut during) = (len, 0, attributes(DURING_CALL));
        call!(driver.cuMemcpyBatchAsync_v2(&mut to, &mut from, &mut bytes, 1, &mut during, &mut start, 1, stream.raw))?;
        host.fill(7);
        stream.synchronize()?;
        let read = if is_late { 7 } else { 6 };
        assert!(device.read()?.iter().all(|byte| *byte == read), "{len}");
    }
    Ok(())
}
