//! Export data and files of pools: bad data, freed memory, grants, leaks.

use std::collections::BTreeSet;
use std::ptr::{null_mut, without_provenance_mut};

use proptest::prelude::*;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, Stream, TestResult, answers, call, code_of, driver_tests, open};

use crate::pool::{DEVICE, create, export, export_data, import_data, import_from, take};
use crate::support::{DESCRIPTOR, as_handle, foreign_files};

driver_tests! {
    fn a_file_that_is_no_pool_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut pool = null_mut();
        answers!(
            driver.cuMemPoolImportFromShareableHandle(&mut pool, null_mut(), DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE
        );
        for number in [999, usize::MAX] {
            let handle = without_provenance_mut(number);
            answers!(
                driver.cuMemPoolImportFromShareableHandle(&mut pool, handle, DESCRIPTOR, 0),
                CUDA_ERROR_UNKNOWN
            );
        }
        for file in foreign_files()? {
            answers!(
                driver.cuMemPoolImportFromShareableHandle(&mut pool, as_handle(&file), DESCRIPTOR, 0),
                CUDA_ERROR_UNKNOWN
            );
        }
        let own = create(driver, DEVICE)?;
        let file = export(driver, own)?;
        let mut physical = 0;
        answers!(
            driver.cuMemImportFromShareableHandle(&mut physical, as_handle(&file), DESCRIPTOR),
            CUDA_ERROR_NOT_SUPPORTED
        );
        let none = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
        answers!(
            driver.cuMemPoolImportFromShareableHandle(&mut pool, as_handle(&file), none, 0),
            CUDA_ERROR_INVALID_VALUE
        );
        assert!(pool.is_null());
        call!(driver.cuMemPoolDestroy(own))?;
    }

    fn memory_is_exported_at_its_start_and_after_its_pool(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        answers!(driver.cuMemPoolExportPointer(&mut data, address), CUDA_ERROR_INVALID_VALUE);
        let _file = export(driver, pool)?;
        answers!(driver.cuMemPoolExportPointer(&mut data, address + 16), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(data.reserved, [0; 64]);
        call!(driver.cuMemPoolExportPointer(&mut data, address))?;
        assert_ne!(data.reserved, [0; 64]);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        answers!(driver.cuMemPoolExportPointer(&mut data, address), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    // An H200 maps stale memory, or crashes.
    sim fn data_of_freed_memory_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        let imported = import_from(driver, &export(driver, pool)?)?;
        let old = export_data(driver, address)?;
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        let (mut found, mut data) = (77, CUmemPoolPtrExportData { reserved: old });
        answers!(driver.cuMemPoolImportPointer(&mut found, imported, &mut data), CUDA_ERROR_INVALID_VALUE);
        // The address is used again, and the old data does not name the new memory.
        let next = take(driver, pool, 4096, stream.raw)?;
        assert_eq!(next, address);
        assert_ne!(export_data(driver, next)?, old);
        answers!(driver.cuMemPoolImportPointer(&mut found, imported, &mut data), CUDA_ERROR_INVALID_VALUE);
        stream.synchronize()?;
        call!(driver.cuMemFree_v2(next))?;
        let other = create(driver, DEVICE)?;
        let _file = export(driver, other)?;
        let elsewhere = take(driver, other, 4096, stream.raw)?;
        data.reserved = export_data(driver, elsewhere)?;
        answers!(driver.cuMemPoolImportPointer(&mut found, imported, &mut data), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(found, 77);
        call!(driver.cuMemFreeAsync(elsewhere, stream.raw))?;
        stream.synchronize()?;
        for pool in [imported, pool, other] {
            call!(driver.cuMemPoolDestroy(pool))?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn altered_data_is_refused(changes in proptest::collection::vec((0..64_usize, 1..=255_u8), 1..40)) {
        refuse_altered(&changes).map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

fn refuse_altered(changes: &[(usize, u8)]) -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let pool = create(driver, DEVICE)?;
    let address = take(driver, pool, 4096, stream.raw)?;
    let imported = import_from(driver, &export(driver, pool)?)?;
    let good = export_data(driver, address)?;
    let mut bad = good;
    for (at, change) in changes {
        bad[*at] ^= change;
        let (mut found, mut data) = (77, CUmemPoolPtrExportData { reserved: bad });
        let code = code_of(call!(driver.cuMemPoolImportPointer(&mut found, imported, &mut data)));
        if bad == good {
            assert_eq!(code, CUresult::CUDA_SUCCESS);
            call!(driver.cuMemFree_v2(found))?;
        } else {
            assert_eq!((code, found), (CUresult::CUDA_ERROR_INVALID_VALUE, 77));
        }
    }
    Ok(())
}

fn access(driver: &warploom_testkit::driver::Driver, pool: CUmemoryPool, device: i32) -> TestResult<u32> {
    let mut location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device);
    let mut flags = CUmemAccess_flags(77);
    call!(driver.cuMemPoolGetAccess(&mut flags, pool, &mut location))?;
    Ok(flags.0)
}

/// S0.19: grants are not carried over by export and import.
#[test]
fn an_imported_pool_has_an_access_set_of_its_own() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let pool = create(driver, DEVICE)?;
    let grant = |pool: CUmemoryPool, device: i32| -> TestResult {
        let location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device);
        let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        Ok(call!(driver.cuMemPoolSetAccess(pool, &CUmemAccessDesc { location, flags }, 1))?)
    };
    grant(pool, 1)?;
    let imported = import_from(driver, &export(driver, pool)?)?;
    assert_eq!((access(driver, imported, 0)?, access(driver, imported, 1)?), (3, 0));
    grant(imported, 2)?;
    assert_eq!((access(driver, imported, 2)?, access(driver, pool, 2)?), (3, 0));
    assert_eq!(access(driver, pool, 1)?, 3);
    Ok(())
}

fn leaks(machine: &Machine) -> String {
    machine.leaks().iter().map(|leak| format!("{leak}\n")).collect()
}

#[test]
fn imported_memory_is_in_the_leak_report() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let pool = create(driver, DEVICE)?;
    let address = take(driver, pool, 4096, stream.raw)?;
    let imported = import_from(driver, &export(driver, pool)?)?;
    assert!(leaks(&machine).contains("imported by cuMemPoolImportFromShareableHandle"), "{}", leaks(&machine));
    let alias = import_data(driver, imported, export_data(driver, address)?)?;
    let text = leaks(&machine);
    assert!(text.contains(&format!("4096 bytes at {alias:#x} on device 0, imported by")), "{text}");
    call!(driver.cuMemFreeAsync(alias, stream.raw))?;
    call!(driver.cuMemFreeAsync(address, stream.raw))?;
    stream.synchronize()?;
    call!(driver.cuMemPoolDestroy(imported))?;
    call!(driver.cuMemPoolDestroy(pool))?;
    assert!(!leaks(&machine).contains("imported"), "{}", leaks(&machine));
    Ok(())
}

/// The names in /dev/shm.
fn shared_names() -> BTreeSet<std::ffi::OsString> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("warploom")).collect()
}

#[test]
fn sharing_needs_no_name_in_a_file_system() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let pool = create(driver, DEVICE)?;
    let address = take(driver, pool, 4096, stream.raw)?;
    let imported = import_from(driver, &export(driver, pool)?)?;
    import_data(driver, imported, export_data(driver, address)?)?;
    assert_eq!(shared_names(), BTreeSet::new());
    Ok(())
}
