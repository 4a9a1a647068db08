//! Memory of another process that writes any bytes: into export data, and into the shared file.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::call;
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;

const DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
const SIZE: usize = 2 << 20;

/// An exported pool with one allocation.
struct Exported {
    pool: CUmemoryPool,
    address: u64,
    file: File,
    data: CUmemPoolPtrExportData,
}

impl Exported {
    fn new(driver: &Driver) -> Self {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: DESCRIPTOR,
            location: DEVICE,
            win32SecurityAttributes: null_mut(),
            maxSize: 64 << 20,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let (mut pool, mut address, mut file) = (null_mut(), 0, -1_i32);
        call!(driver.cuMemPoolCreate(&mut pool, &properties)).expect("a pool is created");
        call!(driver.cuMemAllocFromPoolAsync(&mut address, 4096, pool, null_mut())).expect("it has memory");
        let out = (&raw mut file).cast();
        call!(driver.cuMemPoolExportToShareableHandle(out, pool, DESCRIPTOR, 0)).expect("it is exported");
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        call!(driver.cuMemPoolExportPointer(&mut data, address)).expect("its memory, too");
        Self { pool, address, file: owned(file), data }
    }

    fn end(self, driver: &Driver) {
        call!(driver.cuMemFree_v2(self.address)).expect("it was allocated");
        call!(driver.cuMemPoolDestroy(self.pool)).expect("it was created");
    }
}

fn owned(file: i32) -> File {
    // SAFETY: an exported file descriptor is the program's to close, and each is taken over once.
    unsafe { File::from_raw_fd(file) }
}

fn handle(file: &File) -> *mut c_void {
    without_provenance_mut(file.as_raw_fd() as usize)
}

/// Imports memory by its data and touches all of it, unless the data is refused.
fn use_data(driver: &Driver, pool: CUmemoryPool, mut data: CUmemPoolPtrExportData) {
    let (mut address, mut base, mut size) = (0, 0, 0);
    if call!(driver.cuMemPoolImportPointer(&mut address, pool, &mut data)).is_ok() {
        call!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, address)).expect("it is memory");
        call!(driver.cuMemsetD8_v2(address, 1, size.min(1 << 16))).expect("it can be written");
        call!(driver.cuMemsetD8_v2(address + size as u64 - 1, 1, 1)).expect("also its last byte");
        call!(driver.cuMemFree_v2(address)).expect("it was imported");
    }
}

/// Changes export data: each byte is added to the one at its place.
pub fn import_data(bytes: &[u8]) {
    let driver = crate::driver();
    let exported = Exported::new(driver);
    let mut pool = null_mut();
    call!(driver.cuMemPoolImportFromShareableHandle(&mut pool, handle(&exported.file), DESCRIPTOR, 0))
        .expect("the pool is imported");
    let mut data = exported.data;
    for (place, byte) in data.reserved.iter_mut().zip(bytes) {
        *place = place.wrapping_add(*byte);
    }
    use_data(driver, pool, data);
    use_data(driver, pool, exported.data);
    call!(driver.cuMemPoolDestroy(pool)).expect("it was imported");
    exported.end(driver);
}

/// Changes the header and the words of a shared file: each byte is added to the one at its place, first in the
/// header and then in the words. Imports before and after the change.
pub fn import_file(bytes: &[u8]) {
    let driver = crate::driver();
    let exported = Exported::new(driver);
    let mut before = null_mut();
    call!(driver.cuMemPoolImportFromShareableHandle(&mut before, handle(&exported.file), DESCRIPTOR, 0))
        .expect("the pool is imported");
    let (header, words) = bytes.split_at(bytes.len().min(160));
    add(&exported.file, 0, header);
    add(&exported.file, 4096, words);
    use_data(driver, before, exported.data);
    let mut after = null_mut();
    if call!(driver.cuMemPoolImportFromShareableHandle(&mut after, handle(&exported.file), DESCRIPTOR, 0)).is_ok() {
        use_data(driver, after, exported.data);
        call!(driver.cuMemPoolDestroy(after)).expect("it was imported");
    }
    call!(driver.cuMemPoolDestroy(before)).expect("it was imported");
    exported.end(driver);
    import_physical(driver, header);
}

/// Changes the header of physical memory, imports it and maps it.
fn import_physical(driver: &Driver, header: &[u8]) {
    let mut properties = warploom_testkit::physical_memory(DEVICE);
    properties.requestedHandleTypes = DESCRIPTOR;
    let (mut own, mut file, mut imported, mut address) = (0, -1_i32, 0, 0);
    call!(driver.cuMemCreate(&mut own, SIZE, &properties, 0)).expect("memory is created");
    let out = (&raw mut file).cast();
    call!(driver.cuMemExportToShareableHandle(out, own, DESCRIPTOR, 0)).expect("it is exported");
    let file = owned(file);
    add(&file, 0, header);
    if call!(driver.cuMemImportFromShareableHandle(&mut imported, handle(&file), DESCRIPTOR)).is_ok() {
        call!(driver.cuMemAddressReserve(&mut address, SIZE, 0, 0, 0)).expect("there is address space");
        call!(driver.cuMemMap(address, SIZE, 0, imported, 0)).expect("it is mapped");
        call!(driver.cuMemUnmap(address, SIZE)).expect("it was mapped");
        call!(driver.cuMemAddressFree(address, SIZE)).expect("it was reserved");
        call!(driver.cuMemRelease(imported)).expect("it was imported");
    }
    call!(driver.cuMemRelease(own)).expect("it was created");
}

fn add(file: &File, offset: u64, bytes: &[u8]) {
    let mut now = vec![0; bytes.len()];
    file.read_exact_at(&mut now, offset).expect("the file is that long");
    for (place, byte) in now.iter_mut().zip(bytes) {
        *place = place.wrapping_add(*byte);
    }
    file.write_all_at(&now, offset).expect("it can be written");
}

/// Opens bytes as handles of an event and of memory: as they are, and with the mark and the checksum of a handle.
pub fn open_handles(bytes: &[u8]) {
    let mut handle = [0; 64];
    let len = bytes.len().min(handle.len());
    handle[..len].copy_from_slice(&bytes[..len]);
    open_handle(handle);
    handle[..4].copy_from_slice(b"wipc");
    let sum = handle[..56]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    handle[56..].copy_from_slice(&sum.to_le_bytes());
    open_handle(handle);
}

/// Opens a handle, and closes what came of it.
fn open_handle(bytes: [u8; 64]) {
    let (driver, reserved, mut event, mut address) = (crate::driver(), bytes.map(|byte| byte as _), null_mut(), 0);
    if call!(driver.cuIpcOpenEventHandle(&mut event, CUipcEventHandle { reserved })).is_ok() {
        call!(driver.cuEventDestroy_v2(event)).expect("it was opened");
    }
    if call!(driver.cuIpcOpenMemHandle_v2(&mut address, CUipcMemHandle { reserved }, 1)).is_ok() {
        call!(driver.cuIpcCloseMemHandle(address)).expect("it was opened");
    }
}
