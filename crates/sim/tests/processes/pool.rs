//! Memory pools between processes: export and import of pools and of their memory.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::process::Channel;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Gate, Primary, Stream, TestResult, answers, call, driver_tests, pool_properties};

use crate::support::{DESCRIPTOR, as_handle, fill, owned, read, read_code, start};

pub(crate) const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
const NODE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);

/// Creates a pool that can be exported.
pub(crate) fn create(driver: &Driver, location: CUmemLocation) -> TestResult<CUmemoryPool> {
    let properties = CUmemPoolProps { handleTypes: DESCRIPTOR, ..pool_properties(location) };
    let mut pool = null_mut();
    call!(driver.cuMemPoolCreate(&mut pool, &properties))?;
    Ok(pool)
}

pub(crate) fn take(driver: &Driver, pool: CUmemoryPool, bytes: usize, stream: CUstream) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream))?;
    Ok(address)
}

pub(crate) fn export(driver: &Driver, pool: CUmemoryPool) -> TestResult<OwnedFd> {
    let mut file = -1;
    call!(driver.cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, DESCRIPTOR, 0))?;
    Ok(owned(file))
}

pub(crate) fn import_from(driver: &Driver, file: &OwnedFd) -> TestResult<CUmemoryPool> {
    let mut pool = null_mut();
    call!(driver.cuMemPoolImportFromShareableHandle(&mut pool, as_handle(file), DESCRIPTOR, 0))?;
    Ok(pool)
}

pub(crate) fn export_data(driver: &Driver, address: u64) -> TestResult<[u8; 64]> {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    call!(driver.cuMemPoolExportPointer(&mut data, address))?;
    Ok(data.reserved)
}

pub(crate) fn import_data(driver: &Driver, pool: CUmemoryPool, data: [u8; 64]) -> TestResult<u64> {
    let (mut address, mut data) = (0, CUmemPoolPtrExportData { reserved: data });
    call!(driver.cuMemPoolImportPointer(&mut address, pool, &mut data))?;
    Ok(address)
}

fn attribute(driver: &Driver, address: u64, attribute: CUpointer_attribute) -> TestResult<u64> {
    let mut value = 0_u64;
    call!(driver.cuPointerGetAttribute((&raw mut value).cast(), attribute, address))?;
    Ok(value)
}

fn access(driver: &Driver, pool: CUmemoryPool, mut location: CUmemLocation) -> TestResult<u32> {
    let mut flags = CUmemAccess_flags(77);
    call!(driver.cuMemPoolGetAccess(&mut flags, pool, &mut location))?;
    Ok(flags.0)
}

/// Sends a pool and the export data of some of its memory.
fn send(driver: &Driver, channel: &Channel, pool: CUmemoryPool, address: u64) -> TestResult {
    channel.send(&[], &[export(driver, pool)?.as_fd()])?;
    channel.send(&export_data(driver, address)?, &[])
}

/// The pool and the export data that `send` sent.
fn receive(driver: &Driver, channel: &Channel) -> TestResult<(CUmemoryPool, [u8; 64])> {
    let file = channel.receive_file()?;
    let pool = import_from(driver, &file)?;
    Ok((pool, channel.receive_array()?))
}

/// Reads sevens, writes nines, reads what its parent writes, and frees its mapping in stream order.
pub(crate) fn import(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let (pool, data) = receive(driver, parent)?;
    let address = import_data(driver, pool, data)?;
    assert_eq!(read(driver, address + 4088)?, [7; 8]);
    fill(driver, address, 9, 100)?;
    parent.signal()?;
    parent.wait()?;
    assert_eq!(read(driver, address + 96)?, [9, 9, 9, 9, 5, 5, 5, 5]);
    call!(driver.cuMemFreeAsync(address, stream.raw))?;
    stream.synchronize()?;
    answers!(driver.cuMemFreeAsync(address, stream.raw), CUDA_ERROR_INVALID_VALUE);
    // The data names the memory still, and cuMemFree ends an import, too.
    let again = import_data(driver, pool, data)?;
    assert_eq!(read(driver, again)?, [9; 4]);
    call!(driver.cuMemFree_v2(again))?;
    Ok(call!(driver.cuMemPoolDestroy(pool))?)
}

/// Exports memory full of sevens and waits to be killed.
pub(crate) fn export_and_wait(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let pool = create(driver, DEVICE)?;
    let address = take(driver, pool, 4096, stream.raw)?;
    stream.synchronize()?;
    fill(driver, address, 7, 4096)?;
    send(driver, parent, pool, address)?;
    parent.wait()
}

/// Looks at the rules of imported pools and their memory.
pub(crate) fn rules(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let (pool, data) = receive(driver, parent)?;
    let (mut value, mut file, mut address) = (0_u64, -1, 0);
    for number in 1..=8 {
        let (number, out) = (CUmemPool_attribute(number), (&raw mut value).cast());
        answers!(driver.cuMemPoolGetAttribute(pool, number, out), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolSetAttribute(pool, number, out), CUDA_ERROR_INVALID_VALUE);
    }
    answers!(driver.cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream.raw), CUDA_ERROR_INVALID_VALUE);
    let out = (&raw mut file).cast();
    answers!(driver.cuMemPoolExportToShareableHandle(out, pool, DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(access(driver, pool, DEVICE)?, 3);
    assert_eq!(access(driver, pool, NODE)?, 0);

    let address = import_data(driver, pool, data)?;
    let mut again = CUmemPoolPtrExportData { reserved: [0; 64] };
    answers!(driver.cuMemPoolExportPointer(&mut again, address), CUDA_ERROR_INVALID_VALUE);
    use CUpointer_attribute as A;
    let expected = [
        (A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address),
        (A::CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4096),
        (A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pool.addr() as u64),
        (A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 0),
        (A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 0),
        (A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2),
        (A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 3),
        (A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 32 << 20),
        (A::CU_POINTER_ATTRIBUTE_CONTEXT, 0),
    ];
    for (name, expected) in expected {
        assert_eq!(attribute(driver, address, name)?, expected, "attribute {}", name.0);
    }
    assert_eq!(read_code(driver, address, 4097), CUresult::CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemFreeAsync(address + 256, stream.raw), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    call!(driver.cuMemFreeAsync(address, stream.raw))?;
    stream.synchronize()?;
    assert_eq!(read_code(driver, address, 4), CUresult::CUDA_ERROR_INVALID_VALUE);
    Ok(call!(driver.cuMemPoolDestroy(pool))?)
}

#[expect(unsafe_code, reason = "reads memory that the driver gave to the host")]
fn host_byte(address: u64) -> u8 {
    // SAFETY: the first byte of host memory that the caller has from the driver and has not freed.
    unsafe { std::ptr::with_exposed_provenance::<u8>(address as usize).read_volatile() }
}

#[expect(unsafe_code, reason = "writes memory that the driver gave to the host")]
fn set_host_byte(address: u64, value: u8) {
    // SAFETY: as in `host_byte`.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address as usize).write_volatile(value) }
}

/// Reads and writes memory of a NUMA node from the host.
pub(crate) fn import_host_memory(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let (pool, data) = receive(driver, parent)?;
    assert_eq!((access(driver, pool, DEVICE)?, access(driver, pool, NODE)?), (0, 3));
    let address = import_data(driver, pool, data)?;
    assert_eq!(host_byte(address), 7);
    set_host_byte(address, 9);
    assert_eq!(attribute(driver, address, CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE)?, 1);
    let (mut second, mut data) = (0, CUmemPoolPtrExportData { reserved: data });
    answers!(driver.cuMemPoolImportPointer(&mut second, pool, &mut data), CUDA_ERROR_ALREADY_MAPPED);
    call!(driver.cuMemFree_v2(address))?;
    Ok(call!(driver.cuMemPoolDestroy(pool))?)
}

driver_tests! {
    fn imported_memory_is_the_exporters_and_its_free_does_the_exporter_no_harm(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        // Not the first of its chunk.
        let before = take(driver, pool, 1 << 20, stream.raw)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        stream.synchronize()?;
        fill(driver, address, 7, 4096)?;
        let child = start(driver, "pool_import")?;
        send(driver, child.channel(), pool, address)?;
        child.channel().wait()?;
        assert_eq!(read(driver, address + 96)?, [9, 9, 9, 9, 7, 7, 7, 7]);
        fill(driver, address + 100, 5, 100)?;
        child.channel().signal()?;
        child.join()?;
        assert_eq!(read(driver, address + 96)?, [9, 9, 9, 9, 5, 5, 5, 5]);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        call!(driver.cuMemFreeAsync(before, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn an_imported_pool_has_no_attributes_and_does_not_allocate(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        stream.synchronize()?;
        let child = start(driver, "pool_rules")?;
        send(driver, child.channel(), pool, address)?;
        child.join()?;
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn pool_memory_outlives_an_exporter_that_is_killed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let child = start(driver, "pool_export")?;
        let (pool, data) = receive(driver, child.channel())?;
        let address = import_data(driver, pool, data)?;
        child.kill()?;
        assert_eq!(read(driver, address)?, [7; 8]);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        // Also the import of memory whose exporter is gone.
        let second = import_data(driver, pool, data)?;
        fill(driver, second, 1, 16)?;
        assert_eq!(read(driver, second)?, [1; 16]);
        call!(driver.cuMemFree_v2(second))?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn a_pool_that_is_imported_twice_is_destroyed_twice_and_its_memory_freed_once(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let [first, second] = [take(driver, pool, 4096, stream.raw)?, take(driver, pool, 40 << 20, stream.raw)?];
        stream.synchronize()?;
        fill(driver, second, 8, 40 << 20)?;
        let imported = import_from(driver, &export(driver, pool)?)?;
        assert_eq!(import_from(driver, &export(driver, pool)?)?, imported);
        let data = [export_data(driver, first)?, export_data(driver, second)?];
        let alias = import_data(driver, imported, data[0])?;
        assert_eq!(import_data(driver, imported, data[0])?, alias);
        // Addresses are as far apart as in the exporter.
        let other = import_data(driver, imported, data[1])?;
        assert_eq!(other - alias, second - first);
        call!(driver.cuMemFreeAsync(alias, stream.raw))?;
        stream.synchronize()?;
        answers!(driver.cuMemFreeAsync(alias, stream.raw), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(read_code(driver, alias, 4), CUresult::CUDA_ERROR_INVALID_VALUE);
        // In a chunk that the freed one was in, too.
        assert_eq!(read(driver, other)?, [8; 8]);
        assert_eq!(read(driver, other + (40 << 20) - 8)?, [8; 8]);
        let gate = Gate::new(driver)?;
        gate.hold(stream.raw)?;
        call!(driver.cuMemFreeAsync(other, stream.raw))?;
        call!(driver.cuMemPoolDestroy(imported))?;
        gate.open();
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(imported))?;
        call!(driver.cuMemFreeAsync(first, stream.raw))?;
        call!(driver.cuMemFreeAsync(second, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn an_imported_pool_is_no_current_pool(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = create(driver, DEVICE)?;
        let imported = import_from(driver, &export(driver, pool)?)?;
        answers!(driver.cuDeviceSetMemPool(0, imported), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemPoolDestroy(imported))?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn a_pool_outlives_an_importer_that_is_killed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        stream.synchronize()?;
        fill(driver, address, 7, 4096)?;
        let child = start(driver, "pool_import")?;
        send(driver, child.channel(), pool, address)?;
        child.channel().wait()?;
        child.kill()?;
        assert_eq!(read(driver, address)?, [9; 8]);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        let next = take(driver, pool, 4096, stream.raw)?;
        call!(driver.cuMemFreeAsync(next, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn memory_of_a_numa_node_is_shared_with_the_host_of_another_process(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, NODE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        stream.synchronize()?;
        set_host_byte(address, 7);
        let child = start(driver, "pool_host")?;
        send(driver, child.channel(), pool, address)?;
        child.join()?;
        assert_eq!(host_byte(address), 9);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn a_pool_is_imported_in_its_own_process_at_other_addresses(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        // More than a chunk.
        let size = 40 << 20;
        let address = take(driver, pool, size, stream.raw)?;
        stream.synchronize()?;
        fill(driver, address, 7, size)?;
        let imported = import_from(driver, &export(driver, pool)?)?;
        assert_ne!(imported, pool);
        let data = export_data(driver, address)?;
        assert_eq!(export_data(driver, address)?, data);
        let alias = import_data(driver, imported, data)?;
        assert_ne!(alias, address);
        assert_eq!(read(driver, alias + size as u64 - 8)?, [7; 8]);
        let (mut into_own, mut bytes) = (0, CUmemPoolPtrExportData { reserved: data });
        answers!(driver.cuMemPoolImportPointer(&mut into_own, pool, &mut bytes), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemFreeAsync(alias, stream.raw))?;
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(imported))?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn an_import_is_freed_in_stream_order(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = create(driver, DEVICE)?;
        let address = take(driver, pool, 4096, stream.raw)?;
        let target = take(driver, pool, 4096, stream.raw)?;
        stream.synchronize()?;
        fill(driver, address, 7, 4096)?;
        let imported = import_from(driver, &export(driver, pool)?)?;
        let alias = import_data(driver, imported, export_data(driver, address)?)?;
        let gate = Gate::new(driver)?;
        gate.hold(stream.raw)?;
        call!(driver.cuMemcpyDtoDAsync_v2(target, alias, 4096, stream.raw))?;
        call!(driver.cuMemFreeAsync(alias, stream.raw))?;
        gate.open();
        stream.synchronize()?;
        assert_eq!(read(driver, target + 4088)?, [7; 8]);
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        call!(driver.cuMemFreeAsync(target, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(imported))?;
        call!(driver.cuMemPoolDestroy(pool))?;
    }
}
