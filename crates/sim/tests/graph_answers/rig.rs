//! A driver with its primary context and the kernels of the programs.
#![expect(unsafe_code, reason = "C structs are filled with zeros, and a callback and an array are C's")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUdeviceptr, CUfunction, CUgraph, CUgraphNodeParams, CUmodule};
use warploom_testkit::{Primary, TestResult, call};

const KERNELS: &std::ffi::CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry increment(.param .u64 at) {
  .reg .u64 %rd<3>; .reg .u32 %r<2>;
  ld.param.u64 %rd1, [at]; cvta.to.global.u64 %rd2, %rd1;
  atom.global.add.u32 %r1, [%rd2], 1; ret;
}
";

/// The number that a call answered; 0 is success.
macro_rules! code {
    ($($call:tt)+) => {
        warploom_testkit::code_of(warploom_testkit::call!($($call)+)).0
    };
}
pub(crate) use code;

/// A C struct of zeros.
pub(crate) fn zeroed<T>() -> T {
    // SAFETY: only used for C structs of numbers and pointers, for which zeros are values.
    unsafe { std::mem::zeroed() }
}

/// A host function that counts its calls.
pub(crate) unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the counter of a program, which destroys all its graphs before it drops the counter.
    let counter = unsafe { &*data.cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

/// The bodies of a conditional node that was just added.
pub(crate) fn bodies(params: &CUgraphNodeParams) -> Vec<CUgraph> {
    // SAFETY: the driver filled the member of a conditional node, whose array has as many graphs.
    unsafe {
        let conditional = params.__bindgen_anon_1.conditional;
        std::slice::from_raw_parts(conditional.phGraph_out, conditional.size as usize).to_vec()
    }
}

/// A driver, with its own primary context current on this thread.
pub(crate) struct Rig {
    pub(crate) driver: Driver,
    pub(crate) primary: Primary,
    module: CUmodule,
    pub(crate) increment: CUfunction,
    pub(crate) nothing: CUfunction,
    /// Memory that no answer shows.
    pub(crate) scratch: CUdeviceptr,
}

impl Rig {
    pub(crate) fn new(driver: &Driver) -> TestResult<Self> {
        let primary = Primary::of(driver, 0)?;
        let (mut module, mut increment, mut nothing) = (null_mut(), null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut increment, module, c"increment".as_ptr()))?;
        call!(driver.cuModuleGetFunction(&mut nothing, module, c"nothing".as_ptr()))?;
        let mut scratch = 0;
        call!(driver.cuMemAlloc_v2(&mut scratch, 64))?;
        Ok(Self { driver: driver.clone(), primary, module, increment, nothing, scratch })
    }

    /// Unloads the kernels, and frees the memory.
    pub(crate) fn close(self) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuMemFree_v2(self.scratch))?;
        Ok(call!(driver.cuModuleUnload(self.module))?)
    }
}
