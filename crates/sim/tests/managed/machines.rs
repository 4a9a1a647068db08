//! Machines that are not one H200: several nodes, several devices, no sharing, older drivers.

use std::ptr::null_mut;

use warploom_testkit::driver::Error;
use warploom_testkit::sim::fault::{Class, Plan, Rule};
use warploom_testkit::sim::topology::{DeviceModel, Topology, number};
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, Stream, TestResult, answers, call, in_every_mode, open};

use crate::support::*;

const EAGER: Mode = Mode::Deterministic(Order::Eager);

/// S1.16: a node that is preferred, or prefetched to, reads back as it was named.
#[test]
fn numa_nodes_are_read_back_where_there_are_several() -> TestResult {
    in_every_mode(&Topology::preset("dgx-h100")?, 2, |_, driver| {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for (location, kind, id) in [(node(1), 3, 1), (CURRENT_NODE, 4, 0), (node(0), 3, 0)] {
            memory.advise(SET_PREFERRED, location)?;
            memory.prefetch(location, null_mut())?;
            assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?), (kind, id));
            assert_eq!((memory.get(PREFETCHED_TYPE)?, memory.get(PREFETCHED_ID)?), (kind, id));
            assert_eq!((memory.get(PREFERRED)?, memory.get(PREFETCHED)?), (-1, -1));
        }
        answers!(driver.cuMemAdvise_v2(memory.address, MIB, SET_PREFERRED, node(2)), CUDA_ERROR_INVALID_VALUE);
        Ok(call!(driver.cuCtxSynchronize())?)
    })
}

#[test]
fn every_device_and_the_host_can_be_accessors() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, EAGER)?;
    let _primary = Primary::of(&driver, 0)?;
    let memory = Memory::new(&driver, MIB)?;
    for ordinal in [-1, 5, 3, 7, 0] {
        memory.advise_old(SET_ACCESSED_BY, ordinal)?;
    }
    assert_eq!(memory.accessed_by(0, MIB, 9)?, [0, 3, 5, 7, -1, -2, -2, -2, -2]);
    memory.advise_old(UNSET_ACCESSED_BY, 3)?;
    assert_eq!(memory.accessed_by(0, MIB, 3)?, [0, 5, 7]);
    Ok(())
}

/// S1.35: read-mostly does nothing and says nothing, a preferred location is refused.
#[test]
fn without_concurrent_access_advice_does_little() -> TestResult {
    let mut topology = Topology::builder().device(DeviceModel::T4).build()?;
    topology.devices[0].attributes.set(number::CONCURRENT_MANAGED_ACCESS, 0)?;
    let (_machine, driver) = open(topology, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = Memory::new(driver, MIB)?;
    memory.advise(SET_READ_MOSTLY, HOST)?;
    assert_eq!(memory.get(READ_MOSTLY)?, 0);
    for location in [device(0), HOST] {
        answers!(driver.cuMemAdvise_v2(memory.address, MIB, SET_PREFERRED, location), CUDA_ERROR_INVALID_DEVICE);
    }
    for ordinal in [0, -1] {
        answers!(driver.cuMemAdvise(memory.address, MIB, SET_ACCESSED_BY, ordinal), CUDA_ERROR_INVALID_DEVICE);
        answers!(driver.cuMemPrefetchAsync(memory.address, MIB, ordinal, null_mut()), CUDA_ERROR_INVALID_DEVICE);
    }
    memory.advise(UNSET_PREFERRED, HOST)?;
    assert_eq!((memory.get(PREFERRED)?, memory.get(PREFETCHED)?), (-2, -2));
    Ok(())
}

#[test]
fn a_device_that_does_not_share_is_no_place_for_others_to_name() -> TestResult {
    let mut topology = Topology::builder().device(DeviceModel::T4).device(DeviceModel::T4).build()?;
    topology.devices[1].attributes.set(number::CONCURRENT_MANAGED_ACCESS, 0)?;
    let (_machine, driver) = open(topology, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = Memory::new(driver, MIB)?;
    for advice in [SET_PREFERRED, SET_ACCESSED_BY] {
        answers!(driver.cuMemAdvise(memory.address, MIB, advice, 1), CUDA_ERROR_INVALID_DEVICE);
    }
    answers!(driver.cuMemPrefetchAsync(memory.address, MIB, 1, null_mut()), CUDA_ERROR_INVALID_DEVICE);
    memory.advise(SET_PREFERRED, device(0))?;
    Ok(())
}

#[test]
fn older_drivers_know_ordinals_only() -> TestResult {
    let mut topology = Topology::preset("h200")?;
    topology.driver_version = 12010;
    let (_machine, driver) = open(topology, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = Memory::new(driver, MIB)?;
    let advised = call!(driver.cuMemAdvise_v2(memory.address, MIB, SET_READ_MOSTLY, HOST));
    assert!(matches!(advised, Err(Error::Unsupported { .. })), "{advised:?}");
    assert!(memory.prefetch(HOST, null_mut()).is_err());
    memory.advise_old(SET_PREFERRED, 0)?;
    call!(driver.cuMemPrefetchAsync(memory.address, MIB, -1, null_mut()))?;
    assert_eq!((memory.get(PREFERRED)?, memory.get(PREFETCHED)?), (0, -1));
    let mut value = 7_i32;
    for raw in [PREFERRED_TYPE, PREFERRED_ID, PREFETCHED_TYPE, PREFETCHED_ID] {
        answers!(
            driver.cuMemRangeGetAttribute((&raw mut value).cast(), 4, attribute(raw), memory.address, MIB),
            CUDA_ERROR_INVALID_VALUE
        );
    }
    Ok(())
}

#[test]
fn neighbours_in_a_page_share_its_advice() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, EAGER)?;
    let _primary = Primary::of(&driver, 0)?;
    let one = Memory::new(&driver, 64)?;
    one.advise(SET_READ_MOSTLY, HOST)?;
    let two = Memory::new(&driver, 64)?;
    assert_eq!(one.address / PAGE as u64, two.address / PAGE as u64);
    assert_eq!((one.get(READ_MOSTLY)?, two.get(READ_MOSTLY)?), (1, 1), "the new one does not take it away");
    drop((one, two));
    assert_eq!(Memory::new(&driver, 64)?.get(READ_MOSTLY)?, 0, "the page was given back");
    Ok(())
}

#[test]
fn batches_need_concurrent_access_of_every_device() -> TestResult {
    let mut topology = Topology::builder().device(DeviceModel::T4).device(DeviceModel::T4).build()?;
    topology.devices[1].attributes.set(number::CONCURRENT_MANAGED_ACCESS, 0)?;
    let (_machine, driver) = open(topology, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, MIB)?);
    let (mut address, mut size) = (memory.address, MIB);
    answers!(driver.cuMemDiscardBatchAsync(&mut address, &mut size, 1, 0, stream.raw), CUDA_ERROR_NOT_SUPPORTED);
    Ok(())
}

/// S1.9: there are no batches before 13.0.
#[test]
fn older_drivers_have_no_batches() -> TestResult {
    let mut topology = Topology::preset("h200")?;
    topology.driver_version = 12090;
    let (_machine, driver) = open(topology, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stream, memory) = (Stream::new(driver)?, Memory::new(driver, MIB)?);
    let (mut address, mut size) = (memory.address, MIB);
    let answer = call!(driver.cuMemDiscardBatchAsync(&mut address, &mut size, 1, 0, stream.raw));
    assert!(matches!(answer, Err(Error::Unsupported { .. })), "{answer:?}");
    memory.prefetch(device(0), stream.raw)?;
    stream.synchronize()
}

#[test]
fn a_prefetch_that_is_to_fail_is_not_remembered() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, EAGER)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = Memory::new(driver, MIB)?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Class::Managed).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY)))?;
    answers!(driver.cuMemAdvise(memory.address, MIB, SET_READ_MOSTLY, 0), CUDA_ERROR_OUT_OF_MEMORY);
    answers!(driver.cuMemPrefetchAsync(memory.address, MIB, 0, null_mut()), CUDA_ERROR_OUT_OF_MEMORY);
    drop(scope);
    assert_eq!((memory.get(READ_MOSTLY)?, memory.get(PREFETCHED)?), (0, -2));
    assert_eq!(machine.residency(memory.address), Some(vec![]));
    Ok(())
}
