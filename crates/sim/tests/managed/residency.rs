//! Residency of pages, as a simulated machine knows it.

use std::ptr::null_mut;

use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::trace::{Activity, Memory as Place, Trace};
use warploom_testkit::sim::{Machine, Mode, Order, Residence};
use warploom_testkit::{Primary, Stream, TestResult, call, in_every_mode};

use crate::support::*;

const DEVICE: Residence = Residence::Device(0);

fn at(machine: &Machine, memory: &Memory) -> Vec<Residence> {
    machine.residency(memory.address).unwrap_or_default()
}

#[test]
fn pages_go_where_they_are_prefetched_to_when_the_stream_gets_there() -> TestResult {
    in_every_mode(&Topology::preset("dgx-h100")?, 3, |machine, driver| {
        let _primary = Primary::of(driver, 0)?;
        let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, MIB)?);
        assert_eq!(at(machine, &memory), []);
        for (location, expected) in [
            (device(0), DEVICE),
            (HOST, Residence::Host),
            (device(5), Residence::Device(5)),
            (node(1), Residence::HostNode(1)),
            (CURRENT_NODE, Residence::HostNode(0)),
        ] {
            memory.prefetch(location, stream.raw)?;
            stream.synchronize()?;
            assert_eq!(at(machine, &memory), [expected]);
        }
        assert_eq!(machine.residency(memory.address + MIB as u64 + PAGE as u64), None);
        Ok(())
    })
}

#[test]
fn a_prefetch_is_in_stream_order_and_its_request_is_not() -> TestResult {
    let machine = Machine::builder().mode(Mode::Deterministic(Order::Lazy)).start()?;
    let driver = warploom_testkit::driver::Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(&driver, 0)?;
    let (stream, memory) = (Stream::new(&driver)?, Memory::new(&driver, MIB)?);
    memory.prefetch(device(0), stream.raw)?;
    assert_eq!((at(&machine, &memory), memory.get(PREFETCHED)?), (vec![], 0));
    stream.synchronize()?;
    assert_eq!(at(&machine, &memory), [DEVICE]);
    Ok(())
}

#[test]
fn pages_follow_those_who_touch_them() -> TestResult {
    in_every_mode(&Topology::preset("h200")?, 2, |machine, driver| {
        let _primary = Primary::of(driver, 0)?;
        let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, 2 * PAGE)?);
        drop(machine.host_access(memory.address, 8, true)?);
        assert_eq!(at(machine, &memory), [Residence::Host]);
        call!(driver.cuMemsetD8Async(memory.address, 1, PAGE, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(at(machine, &memory), [DEVICE]);
        assert_eq!(machine.residency(memory.address + PAGE as u64), Some(vec![]));
        drop(machine.host_access(memory.address, 8, false)?);
        assert_eq!(at(machine, &memory), [Residence::Host]);
        Ok(())
    })
}

#[test]
fn advice_keeps_pages_where_they_are_or_gives_everyone_a_copy() -> TestResult {
    in_every_mode(&Topology::preset("h200")?, 2, |machine, driver| {
        let _primary = Primary::of(driver, 0)?;
        let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, PAGE)?);
        let fill = || -> TestResult {
            call!(driver.cuMemsetD8Async(memory.address, 1, PAGE, stream.raw))?;
            stream.synchronize()
        };
        memory.advise(SET_PREFERRED, HOST)?;
        fill()?;
        assert_eq!(at(machine, &memory), [Residence::Host], "the device reaches the host's memory");
        memory.advise(UNSET_PREFERRED, HOST)?;
        memory.advise(SET_ACCESSED_BY, device(0))?;
        fill()?;
        assert_eq!(at(machine, &memory), [Residence::Host]);
        memory.advise(UNSET_ACCESSED_BY, device(0))?;
        memory.advise(SET_READ_MOSTLY, HOST)?;
        memory.prefetch(device(0), stream.raw)?;
        stream.synchronize()?;
        assert_eq!(at(machine, &memory), [DEVICE, Residence::Host]);
        memory.advise(UNSET_READ_MOSTLY, HOST)?;
        assert_eq!(at(machine, &memory).len(), 1);
        Ok(())
    })
}

#[test]
fn discarded_pages_are_nowhere() -> TestResult {
    in_every_mode(&Topology::preset("h200")?, 2, |machine, driver| {
        let _primary = Primary::of(driver, 0)?;
        let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, MIB)?);
        memory.prefetch(device(0), stream.raw)?;
        let (mut address, mut size) = (memory.address, MIB);
        call!(driver.cuMemDiscardBatchAsync(&mut address, &mut size, 1, 0, stream.raw))?;
        stream.synchronize()?;
        assert_eq!((at(machine, &memory), memory.get(PREFETCHED)?), (vec![], 0));
        Ok(())
    })
}

#[test]
fn a_prefetch_takes_the_time_and_the_link_of_what_it_moves() -> TestResult {
    let machine = Machine::builder().mode(Mode::Deterministic(Order::Eager)).trace(Trace::timeline()).start()?;
    let driver = warploom_testkit::driver::Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(&driver, 0)?;
    let memory = Memory::new(&driver, 64 * MIB)?;
    drop(machine.host_access(memory.address, memory.bytes as u64, true)?);
    for _ in 0..2 {
        memory.prefetch(device(0), null_mut())?;
    }
    let bytes = memory.bytes as u64;
    let report = machine.trace().ok_or("it records")?;
    assert_eq!(report.bytes_copied(Place::Host, Place::Device(0)), bytes, "the second had nothing to move");
    let timeline = machine.timeline().ok_or("it records")?;
    let spans: Vec<_> =
        timeline.spans.iter().filter(|span| matches!(span.activity, Activity::Prefetch { .. })).collect();
    let [first, second] = spans[..] else { panic!("{spans:?}") };
    assert_eq!((first.activity.bytes(), second.activity.bytes()), (bytes, 0));
    let bandwidth = Topology::preset("h200")?.devices[0].host_link.bandwidth;
    assert!(first.end_ns - first.start_ns >= bytes * 1_000_000_000 / bandwidth);
    assert!(second.end_ns - second.start_ns < 10_000);
    Ok(())
}
