//! Calls that both sides of a test make.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::without_provenance_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::process::Child;
use warploom_testkit::sys::types::{CUmemAllocationHandleType, CUresult};
use warploom_testkit::{TestResult, call, code_of};

pub(crate) const DESCRIPTOR: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Starts a child that runs a part of this binary.
pub(crate) fn start(driver: &Driver, part: &str) -> TestResult<Child> {
    Child::start(driver, "child", part)
}

/// The file descriptor that a driver wrote, owned.
#[expect(unsafe_code, reason = "takes a file descriptor over from the driver")]
pub(crate) fn owned(descriptor: i32) -> OwnedFd {
    assert!(descriptor >= 0, "the driver wrote {descriptor}");
    // SAFETY: an exported file descriptor is the program's to close, and each is taken over once.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// A file descriptor in the place of a pointer.
pub(crate) fn as_handle(file: &impl AsRawFd) -> *mut c_void {
    without_provenance_mut(file.as_raw_fd() as usize)
}

/// Files that no driver made.
pub(crate) fn foreign_files() -> TestResult<Vec<OwnedFd>> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let program = File::open(std::env::current_exe()?)?;
    let memory = file_in_memory()?;
    Ok(vec![null.into(), program.into(), memory])
}

/// A file in memory with some bytes in it.
#[expect(unsafe_code, reason = "makes a file in memory")]
fn file_in_memory() -> TestResult<OwnedFd> {
    // SAFETY: the name is a C string, and the call has no other effect than a new file descriptor.
    let file = unsafe { libc::memfd_create(c"not ours".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let file = owned(file);
    File::from(file.as_fd().try_clone_to_owned()?).set_len(1 << 22)?;
    Ok(file)
}

pub(crate) fn fill(driver: &Driver, address: u64, value: u8, bytes: usize) -> TestResult {
    call!(driver.cuMemsetD8_v2(address, value, bytes))?;
    Ok(call!(driver.cuCtxSynchronize())?)
}

/// The bytes at an address.
pub(crate) fn read<const N: usize>(driver: &Driver, address: u64) -> TestResult<[u8; N]> {
    let mut bytes = [0; N];
    call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, N))?;
    Ok(bytes)
}

/// The code of a read.
pub(crate) fn read_code(driver: &Driver, address: u64, bytes: usize) -> CUresult {
    let mut buffer = vec![0_u8; bytes];
    code_of(call!(driver.cuMemcpyDtoH_v2(buffer.as_mut_ptr().cast(), address, bytes)))
}
