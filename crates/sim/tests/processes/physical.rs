//! Physical allocations between processes: cuMemExportToShareableHandle and cuMemImportFromShareableHandle.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, open, physical_memory};

use crate::support::{DESCRIPTOR, as_handle, fill, foreign_files, owned, read, start};

const M: usize = 2 << 20;
const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);

fn create(driver: &Driver, size: usize) -> TestResult<u64> {
    let mut properties = physical_memory(DEVICE);
    properties.requestedHandleTypes = DESCRIPTOR;
    let mut handle = 0;
    call!(driver.cuMemCreate(&mut handle, size, &properties, 0))?;
    Ok(handle)
}

fn export(driver: &Driver, handle: u64) -> TestResult<OwnedFd> {
    let mut file = -1;
    call!(driver.cuMemExportToShareableHandle((&raw mut file).cast(), handle, DESCRIPTOR, 0))?;
    Ok(owned(file))
}

fn import_from(driver: &Driver, file: &OwnedFd) -> TestResult<u64> {
    let mut handle = 0;
    call!(driver.cuMemImportFromShareableHandle(&mut handle, as_handle(file), DESCRIPTOR))?;
    Ok(handle)
}

/// Maps an allocation where device 0 can read and write it.
fn map(driver: &Driver, handle: u64, size: usize) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAddressReserve(&mut address, size, 0, 0, 0))?;
    call!(driver.cuMemMap(address, size, 0, handle, 0))?;
    let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    call!(driver.cuMemSetAccess(address, size, &CUmemAccessDesc { location: DEVICE, flags }, 1))?;
    Ok(address)
}

fn unmap(driver: &Driver, address: u64, size: usize) -> TestResult {
    call!(driver.cuMemUnmap(address, size))?;
    Ok(call!(driver.cuMemAddressFree(address, size))?)
}

/// Reads sevens, writes nines, and reads again after its parent has released the memory.
pub(crate) fn import(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let handle = import_from(driver, &parent.receive_file()?)?;
    let address = map(driver, handle, 2 * M)?;
    assert_eq!(read(driver, address + 2 * M as u64 - 4)?, [7; 4]);
    fill(driver, address, 9, M)?;
    parent.signal()?;
    parent.wait()?;
    assert_eq!(read(driver, address)?, [9; 8]);
    unmap(driver, address, 2 * M)?;
    Ok(call!(driver.cuMemRelease(handle))?)
}

/// Exports memory full of sevens and waits to be killed.
pub(crate) fn export_and_wait(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let handle = create(driver, 2 * M)?;
    let address = map(driver, handle, 2 * M)?;
    fill(driver, address, 7, 2 * M)?;
    parent.send(&[], &[export(driver, handle)?.as_fd()])?;
    parent.wait()
}

fn properties_of(driver: &Driver, handle: u64) -> TestResult<CUmemAllocationProp> {
    let mut properties = physical_memory(DEVICE);
    call!(driver.cuMemGetAllocationPropertiesFromHandle(&mut properties, handle))?;
    Ok(properties)
}

/// Looks at an imported allocation and at the attributes of its mapping.
pub(crate) fn properties(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let file = parent.receive_file()?;
    let handle = import_from(driver, &file)?;
    drop(file);
    let properties = properties_of(driver, handle)?;
    assert_eq!(properties.type_, CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED);
    assert_eq!(properties.requestedHandleTypes, CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE);
    assert_eq!((properties.location.type_, properties.location.id()), (DEVICE.type_, 0));
    let mut again = -1;
    let out = (&raw mut again).cast();
    answers!(driver.cuMemExportToShareableHandle(out, handle, DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
    let address = map(driver, handle, 2 * M)?;
    let mut allowed = 77_u64;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES;
    call!(driver.cuPointerGetAttribute((&raw mut allowed).cast(), attribute, address))?;
    assert_eq!(allowed, 0);
    let mut retained = 0;
    call!(driver.cuMemRetainAllocationHandle(&mut retained, without_provenance_mut(address as usize)))?;
    assert_eq!(retained, handle);
    let mut other = 0;
    call!(driver.cuMemAddressReserve(&mut other, 4 * M, 0, 0, 0))?;
    answers!(driver.cuMemMap(other, M, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    answers!(driver.cuMemMap(other, 4 * M, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    call!(driver.cuMemAddressFree(other, 4 * M))?;
    unmap(driver, address, 2 * M)?;
    call!(driver.cuMemRelease(handle))?;
    call!(driver.cuMemRelease(handle))?;
    answers!(driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

driver_tests! {
    fn an_imported_allocation_has_the_exporters_bytes_and_outlives_its_release(driver) {
        let _primary = Primary::of(driver, 0)?;
        let handle = create(driver, 2 * M)?;
        let address = map(driver, handle, 2 * M)?;
        fill(driver, address, 7, 2 * M)?;
        let child = start(driver, "physical_import")?;
        child.channel().send(&[], &[export(driver, handle)?.as_fd()])?;
        child.channel().wait()?;
        assert_eq!(read(driver, address)?, [9; 8]);
        assert_eq!(read(driver, address + M as u64)?, [7; 8]);
        unmap(driver, address, 2 * M)?;
        call!(driver.cuMemRelease(handle))?;
        child.channel().signal()?;
        child.join()?;
    }

    fn an_import_has_no_handle_types_and_is_mapped_as_a_whole(driver) {
        let _primary = Primary::of(driver, 0)?;
        let handle = create(driver, 2 * M)?;
        let child = start(driver, "physical_properties")?;
        child.channel().send(&[], &[export(driver, handle)?.as_fd()])?;
        child.join()?;
        call!(driver.cuMemRelease(handle))?;
    }

    fn imported_memory_outlives_an_exporter_that_is_killed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let child = start(driver, "physical_export")?;
        let handle = import_from(driver, &child.channel().receive_file()?)?;
        let address = map(driver, handle, 2 * M)?;
        child.kill()?;
        assert_eq!(read(driver, address + M as u64)?, [7; 8]);
        fill(driver, address, 1, 2 * M)?;
        assert_eq!(read(driver, address)?, [1; 8]);
        unmap(driver, address, 2 * M)?;
        call!(driver.cuMemRelease(handle))?;
    }

    fn an_exporter_outlives_an_importer_that_is_killed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let handle = create(driver, 2 * M)?;
        let address = map(driver, handle, 2 * M)?;
        fill(driver, address, 7, 2 * M)?;
        let child = start(driver, "physical_import")?;
        child.channel().send(&[], &[export(driver, handle)?.as_fd()])?;
        child.channel().wait()?;
        child.kill()?;
        assert_eq!(read(driver, address)?, [9; 8]);
        unmap(driver, address, 2 * M)?;
        call!(driver.cuMemRelease(handle))?;
    }

    fn an_import_in_the_same_process_is_another_handle_for_the_same_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let handle = create(driver, 2 * M)?;
        let address = map(driver, handle, 2 * M)?;
        let imported = import_from(driver, &export(driver, handle)?)?;
        assert_ne!(imported, handle);
        let alias = map(driver, imported, 2 * M)?;
        fill(driver, address, 3, 2 * M)?;
        assert_eq!(read(driver, alias + 100)?, [3; 8]);
        for (address, handle) in [(address, handle), (alias, imported)] {
            unmap(driver, address, 2 * M)?;
            call!(driver.cuMemRelease(handle))?;
        }
    }

    fn an_allocation_is_exported_as_the_types_it_was_created_for(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut file = -1;
        let out = (&raw mut file).cast();
        let (handle, mut plain) = (create(driver, M)?, 0);
        call!(driver.cuMemCreate(&mut plain, M, &physical_memory(DEVICE), 0))?;
        answers!(driver.cuMemExportToShareableHandle(out, plain, DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
        for kind in [0, 8] {
            let kind = CUmemAllocationHandleType(kind);
            answers!(driver.cuMemExportToShareableHandle(out, handle, kind, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuMemExportToShareableHandle(out, handle, DESCRIPTOR, 1), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(file, -1);
        let mut properties = physical_memory(DEVICE);
        for kind in [8, 9] {
            properties.requestedHandleTypes = CUmemAllocationHandleType(kind);
            let mut fabric = 0;
            answers!(driver.cuMemCreate(&mut fabric, M, &properties, 0), CUDA_ERROR_NOT_PERMITTED);
        }
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemRelease(plain))?;
    }

    fn a_file_that_is_no_allocation_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut handle = 77;
        answers!(driver.cuMemImportFromShareableHandle(&mut handle, null_mut(), DESCRIPTOR), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuMemImportFromShareableHandle(&mut handle, without_provenance_mut(999), DESCRIPTOR),
            CUDA_ERROR_UNKNOWN
        );
        for file in foreign_files()? {
            answers!(
                driver.cuMemImportFromShareableHandle(&mut handle, as_handle(&file), DESCRIPTOR),
                CUDA_ERROR_UNKNOWN
            );
        }
        assert_eq!(handle, 77);
    }

    fn other_handle_types_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (handle, mut imported) = (create(driver, M)?, 77);
        let file = export(driver, handle)?;
        let mut fabric = [0_u8; 64];
        let imports = [(0, as_handle(&file)), (3, as_handle(&file)), (2, as_handle(&file)), (8, fabric.as_mut_ptr().cast())];
        for (kind, pointer) in imports {
            let code = code_of(call!(driver.cuMemImportFromShareableHandle(
                &mut imported,
                pointer,
                CUmemAllocationHandleType(kind)
            )));
            let is_known = matches!(kind, 2 | 8);
            let expected =
                if is_known { CUresult::CUDA_ERROR_NOT_SUPPORTED } else { CUresult::CUDA_ERROR_INVALID_VALUE };
            assert_eq!(code, expected, "handle type {kind}");
        }
        answers!(
            driver.cuMemImportFromShareableHandle(&mut imported, without_provenance_mut(usize::MAX), DESCRIPTOR),
            CUDA_ERROR_UNKNOWN
        );
        assert_eq!(imported, 77);
        call!(driver.cuMemRelease(handle))?;
    }
}

#[test]
fn a_machine_of_another_description_refuses_the_import() -> TestResult {
    let child = Child::start_on("dgx-h100", "child", "physical_export")?;
    let file = child.channel().receive_file()?;
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let mut handle = 0;
    answers!(
        driver.cuMemImportFromShareableHandle(&mut handle, as_handle(&file), DESCRIPTOR),
        CUDA_ERROR_INVALID_DEVICE
    );
    let log = machine.log();
    let entry = log.last().ok_or("a refusal is logged")?;
    assert!(entry.reason.contains("another description"), "{entry}");
    Ok(())
}
