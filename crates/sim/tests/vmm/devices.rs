//! Mappings on several devices, and uses that crash the real driver.

use std::ptr::{null, null_mut, with_exposed_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::{Topology, number};
use warploom_testkit::sim::{LogKind, Machine, Mode};
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, open, physical_memory};

use super::support::*;

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn device(ordinal: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ordinal)
}

fn preset(name: &str) -> TestResult<(Machine, Driver)> {
    open(Topology::preset(name)?, Mode::Threads)
}

#[test]
fn a_peer_needs_access_of_its_own() -> TestResult {
    let (_machine, driver) = preset("dgx-h100")?;
    let driver = &driver;
    let mapped = Mapped::new(driver, M)?;
    let first = Primary::of(driver, 0)?;
    assert_eq!(upload(driver, mapped.address, &[4; 64]), SUCCESS);
    drop(first);
    let second = Primary::of(driver, 1)?;
    assert_eq!(granted(driver, mapped.address, device(1))?, 0);
    answers!(driver.cuMemsetD8_v2(mapped.address, 5, 64), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(download(driver, mapped.address, 64), Ok(vec![4; 64]), "the owner copies");
    assert_eq!(grant(driver, mapped.address, M, device(0), NONE), SUCCESS);
    assert_eq!(download(driver, mapped.address, 64), Err(INVALID));
    assert_eq!(grant(driver, mapped.address, M, device(1), READ), SUCCESS);
    assert_eq!(download(driver, mapped.address, 64), Ok(vec![4; 64]));
    assert_eq!(upload(driver, mapped.address, &[5; 64]), INVALID);
    answers!(driver.cuMemsetD8_v2(mapped.address, 5, 64), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(granted(driver, mapped.address, device(0))?, u64::from(NONE), "each device has its own");
    drop(second);
    mapped.end(driver)
}

#[test]
fn one_call_gives_access_to_many_devices() -> TestResult {
    let (_machine, driver) = preset("dgx-h100")?;
    let driver = &driver;
    let mapped = Mapped::new(driver, M)?;
    let all: Vec<CUmemAccessDesc> = (0..8).map(|ordinal| access(device(ordinal), READ_WRITE)).collect();
    call!(driver.cuMemSetAccess(mapped.address, M, all.as_ptr(), all.len()))?;
    for ordinal in 0..8 {
        assert_eq!(granted(driver, mapped.address, device(ordinal))?, u64::from(READ_WRITE));
    }
    mapped.end(driver)
}

#[test]
fn a_device_that_cannot_reach_the_memory_gets_no_access() -> TestResult {
    let topology = Topology::preset("dgx-h100")?.into_builder().no_peers().build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let driver = &driver;
    let mapped = Mapped::new(driver, M)?;
    assert_eq!(grant(driver, mapped.address, M, device(1), READ), CUresult::CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(granted(driver, mapped.address, device(1))?, 0);
    mapped.end(driver)?;
    // Every device reaches the host's memory.
    let (address, handle) = (reserve(driver, M)?, create(driver, NODE, M)?);
    call!(driver.cuMemMap(address, M, 0, handle, 0))?;
    assert_eq!(grant(driver, address, M, device(1), READ_WRITE), SUCCESS);
    Mapped { address, size: M, handle }.end(driver)
}

#[test]
fn each_device_has_its_own_memory() -> TestResult {
    let (_machine, driver) = preset("dgx-h100")?;
    let driver = &driver;
    let most = 50 << 30;
    let handles = [create(driver, device(0), most)?, create(driver, device(7), most)?];
    let mut third = 0;
    answers!(driver.cuMemCreate(&mut third, most, &physical_memory(device(7)), 0), CUDA_ERROR_OUT_OF_MEMORY);
    for handle in handles {
        call!(driver.cuMemRelease(handle))?;
    }
    Ok(())
}

#[test]
fn memory_is_empty_when_it_is_handed_out_again() -> TestResult {
    let (_machine, driver) = preset("h200")?;
    let driver = &driver;
    let primary = Primary::of(driver, 0)?;
    for _ in 0..3 {
        let mapped = Mapped::new(driver, M)?;
        assert_eq!(download(driver, mapped.address, 64), Ok(vec![0; 64]));
        assert_eq!(upload(driver, mapped.address, &[1; 64]), SUCCESS);
        mapped.end(driver)?;
    }
    drop(primary);
    Ok(())
}

#[test]
fn memory_that_is_given_back_can_be_had_forever() -> TestResult {
    let (_machine, driver) = preset("h200")?;
    let driver = &driver;
    for _ in 0..100 {
        let handle = create(driver, NODE, 1 << 40)?;
        call!(driver.cuMemRelease(handle))?;
    }
    Ok(())
}

#[test]
fn a_handle_that_is_none_is_refused_and_explained() -> TestResult {
    let (machine, driver) = preset("h200")?;
    let (_other, stranger) = preset("h200")?;
    let driver = &driver;
    let foreign = create(&stranger, DEVICE, M)?;
    let released = create(driver, DEVICE, M)?;
    call!(driver.cuMemRelease(released))?;
    let address = reserve(driver, M)?;
    let mut found = physical_memory(DEVICE);
    for handle in [0, 1, 0xdead_beef, u64::MAX, foreign, released] {
        answers!(driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(address, M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetAllocationPropertiesFromHandle(&mut found, handle), CUDA_ERROR_INVALID_VALUE);
    }
    let log = machine.log();
    assert!(log.iter().all(|entry| entry.kind == LogKind::Refused));
    assert!(log.iter().any(|entry| entry.reason.contains("another machine")));
    assert!(log.iter().any(|entry| entry.reason.contains("has been destroyed")));
    Ok(())
}

#[test]
fn null_pointers_are_refused_and_change_nothing() -> TestResult {
    let (_machine, driver) = preset("h200")?;
    let driver = &driver;
    let mapped = Mapped::new(driver, M)?;
    let address = with_exposed_provenance_mut(mapped.address as usize);
    let mut flags = 7;
    answers!(driver.cuMemCreate(null_mut(), M, &physical_memory(DEVICE), 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemGetAllocationPropertiesFromHandle(null_mut(), mapped.handle), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemRetainAllocationHandle(null_mut(), address), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemSetAccess(mapped.address, M, null(), 1), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemGetAccess(null_mut(), &DEVICE, mapped.address), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemGetAccess(&mut flags, null(), mapped.address), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(flags, 7);
    assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ_WRITE));
    mapped.end(driver)?;
    // Had one of them kept a reference, the memory would not have come back.
    let whole = create(driver, DEVICE, 139 << 30)?;
    Ok(call!(driver.cuMemRelease(whole))?)
}

#[test]
fn sizes_that_leave_the_address_space_are_refused() -> TestResult {
    let (_machine, driver) = preset("h200")?;
    let driver = &driver;
    let mapped = Mapped::new(driver, M)?;
    for size in [usize::MAX, usize::MAX - M + 1] {
        assert_eq!(grant(driver, mapped.address, size, DEVICE, READ), INVALID);
        answers!(driver.cuMemUnmap(mapped.address, size), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(mapped.address, size), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(mapped.address, size, 0, mapped.handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    }
    answers!(driver.cuMemMap(u64::MAX - M as u64 + 1, M, 0, mapped.handle, 0), CUDA_ERROR_INVALID_VALUE);
    mapped.end(driver)
}

#[test]
fn plain_memory_cannot_be_unmapped() -> TestResult {
    let (_machine, driver) = preset("h200")?;
    let driver = &driver;
    let primary = Primary::of(driver, 0)?;
    let mut plain = 0;
    call!(driver.cuMemAlloc_v2(&mut plain, M))?;
    answers!(driver.cuMemUnmap(plain, M), CUDA_ERROR_INVALID_VALUE);
    call!(driver.cuMemFree_v2(plain))?;
    drop(primary);
    Ok(())
}

#[test]
fn nodes_are_those_of_the_machine() -> TestResult {
    let topology = Topology::preset("h200")?.into_builder().numa_nodes(2).build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let driver = &driver;
    let handle = create(driver, location(3, 1), M)?;
    let mut found = physical_memory(DEVICE);
    call!(driver.cuMemGetAllocationPropertiesFromHandle(&mut found, handle))?;
    assert_eq!(found.location.id(), 1);
    call!(driver.cuMemRelease(handle))?;
    let mut handle = 0;
    answers!(driver.cuMemCreate(&mut handle, M, &physical_memory(location(3, 2)), 0), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

#[test]
fn an_older_driver_knows_fewer_locations() -> TestResult {
    let at = |major, minor| -> TestResult<(Machine, Driver)> {
        open(Topology::preset("h200")?.into_builder().driver_version(major, minor).build()?, Mode::Threads)
    };
    let mut handle = 0;
    let (_machine, driver) = at(12, 2)?;
    answers!(driver.cuMemCreate(&mut handle, M, &physical_memory(HOST), 0), CUDA_ERROR_INVALID_VALUE);
    call!(driver.cuMemCreate(&mut handle, M, &physical_memory(NODE), 0))?;
    let (_machine, driver) = at(12, 0)?;
    answers!(driver.cuMemCreate(&mut handle, M, &physical_memory(NODE), 0), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

#[test]
fn a_device_may_lack_what_others_have() -> TestResult {
    let builder = Topology::preset("h200")?.into_builder();
    let builder = builder.attribute(0, number::GENERIC_COMPRESSION_SUPPORTED, 0);
    let (_machine, driver) = open(builder.build()?, Mode::Threads)?;
    let (mut asked, mut handle) = (physical_memory(DEVICE), 0);
    asked.allocFlags.compressionType = 1;
    call!(driver.cuMemCreate(&mut handle, M, &asked, 0))?;
    call!(driver.cuMemGetAllocationPropertiesFromHandle(&mut asked, handle))?;
    assert_eq!(asked.allocFlags.compressionType, 0, "compression is a wish");

    let builder = Topology::preset("h200")?.into_builder();
    let builder = builder.attribute(0, number::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    let (_machine, driver) = open(builder.build()?, Mode::Threads)?;
    answers!(driver.cuMemCreate(&mut handle, M, &physical_memory(DEVICE), 0), CUDA_ERROR_NOT_SUPPORTED);
    Ok(())
}
