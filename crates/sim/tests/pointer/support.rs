//! Asking for attributes, and comparing every byte of the answer.

use std::ffi::c_void;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUpointer_attribute, CUresult};
use warploom_testkit::{call, code_of};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GARBAGE: u64 = 0xdead_b000;
/// The value of a variable before the driver writes it: two words, larger than any attribute.
pub(crate) const UNWRITTEN: u64 = 0xabab_abab_abab_abab;

pub(crate) const CONTEXT: u32 = 1;
pub(crate) const MEMORY_TYPE: u32 = 2;
pub(crate) const DEVICE_POINTER: u32 = 3;
pub(crate) const HOST_POINTER: u32 = 4;
pub(crate) const P2P_TOKENS: u32 = 5;
pub(crate) const SYNC_MEMOPS: u32 = 6;
pub(crate) const BUFFER_ID: u32 = 7;
pub(crate) const IS_MANAGED: u32 = 8;
pub(crate) const DEVICE_ORDINAL: u32 = 9;
pub(crate) const LEGACY_IPC: u32 = 10;
pub(crate) const RANGE_START: u32 = 11;
pub(crate) const RANGE_SIZE: u32 = 12;
pub(crate) const MAPPED: u32 = 13;
pub(crate) const HANDLE_TYPES: u32 = 14;
pub(crate) const RDMA: u32 = 15;
pub(crate) const ACCESS: u32 = 16;
pub(crate) const POOL: u32 = 17;
pub(crate) const MAPPING_SIZE: u32 = 18;
pub(crate) const MAPPING_BASE: u32 = 19;
pub(crate) const BLOCK_ID: u32 = 20;
pub(crate) const DECOMPRESS: u32 = 21;

/// An answer: the code, and what the variable holds afterwards.
pub(crate) fn ask(driver: &Driver, attribute: u32, address: u64) -> (CUresult, [u64; 2]) {
    let mut data = [UNWRITTEN; 2];
    let code =
        code_of(call!(driver.cuPointerGetAttribute(data.as_mut_ptr().cast(), CUpointer_attribute(attribute), address)));
    (code, data)
}

/// A successful answer of 8 bytes.
#[track_caller]
pub(crate) fn word(driver: &Driver, attribute: u32, address: u64) -> u64 {
    let (code, data) = ask(driver, attribute, address);
    assert_eq!((code, data[1]), (CUresult::CUDA_SUCCESS, UNWRITTEN), "attribute {attribute} of {address:#x}");
    data[0]
}

/// A successful answer of 4 bytes.
#[track_caller]
pub(crate) fn int(driver: &Driver, attribute: u32, address: u64) -> i32 {
    let (code, data) = ask(driver, attribute, address);
    assert_eq!(code, CUresult::CUDA_SUCCESS, "attribute {attribute} of {address:#x}");
    assert_eq!((data[0] >> 32, data[1]), (UNWRITTEN >> 32, UNWRITTEN), "attribute {attribute} has 4 bytes");
    data[0] as u32 as i32
}

#[track_caller]
pub(crate) fn refuses_untouched(driver: &Driver, attribute: u32, address: u64) {
    let expected = (CUresult::CUDA_ERROR_INVALID_VALUE, [UNWRITTEN; 2]);
    assert_eq!(ask(driver, attribute, address), expected, "attribute {attribute} of {address:#x}");
}

/// Refused, but the variable is zeroed all the same.
#[track_caller]
pub(crate) fn refuses_zeroed(driver: &Driver, attribute: u32, address: u64) {
    let expected = (CUresult::CUDA_ERROR_INVALID_VALUE, [0, UNWRITTEN]);
    assert_eq!(ask(driver, attribute, address), expected, "attribute {attribute} of {address:#x}");
}

/// The values of a list of attributes, 16 bytes each.
pub(crate) fn ask_all(driver: &Driver, attributes: &[u32], address: u64) -> (CUresult, Vec<[u64; 2]>) {
    let mut names: Vec<CUpointer_attribute> = attributes.iter().map(|number| CUpointer_attribute(*number)).collect();
    let mut values = vec![[UNWRITTEN; 2]; attributes.len()];
    let mut out: Vec<*mut c_void> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
    let code = code_of(call!(driver.cuPointerGetAttributes(
        attributes.len() as u32,
        names.as_mut_ptr(),
        out.as_mut_ptr(),
        address
    )));
    (code, values)
}
