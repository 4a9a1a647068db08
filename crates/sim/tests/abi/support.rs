//! A module with two kernels, and memory that they write to.

use std::ffi::CStr;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUcontext, CUdeviceptr, CUfunction, CUmodule};
use warploom_testkit::{TestResult, call};

/// `shape` writes its launch configuration and its second argument, unless the address is null; `none` does
/// nothing.
pub(crate) const TEXT: &CStr = cr#"
.version 7.0
.target sm_52
.address_size 64
.visible .entry shape(.param .u64 out, .param .u32 value)
{
    .reg .b64 %rd<3>; .reg .b32 %r<9>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r8, [value];
    setp.eq.u64 %p1, %rd1, 0;
    @%p1 ret;
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ntid.x; mov.u32 %r2, %ntid.y; mov.u32 %r3, %ntid.z;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;
    mov.u32 %r7, %dynamic_smem_size;
    st.global.u32 [%rd2], %r1; st.global.u32 [%rd2+4], %r2; st.global.u32 [%rd2+8], %r3;
    st.global.u32 [%rd2+12], %r4; st.global.u32 [%rd2+16], %r5; st.global.u32 [%rd2+20], %r6;
    st.global.u32 [%rd2+24], %r7; st.global.u32 [%rd2+28], %r8;
    ret;
}
.visible .entry none() .maxntid 64, 1, 1 { ret; }
"#;

/// Words that `shape` writes: block, grid, bytes of shared memory, second argument.
pub(crate) const WORDS: usize = 8;

/// Sets the words to 0, and waits for that: streams that do not block are not ordered behind it.
pub(crate) fn zero(driver: &Driver, out: CUdeviceptr) -> TestResult {
    call!(driver.cuMemsetD8_v2(out, 0, WORDS * 4))?;
    Ok(call!(driver.cuCtxSynchronize())?)
}

/// A context, a module in it, and memory for a kernel's answer; all of it ends with `close`.
pub(crate) struct Rig<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) context: CUcontext,
    pub(crate) module: CUmodule,
    pub(crate) out: CUdeviceptr,
}

impl<'d> Rig<'d> {
    pub(crate) fn new(driver: &'d Driver) -> TestResult<Rig<'d>> {
        let (mut context, mut module, mut out) = (null_mut(), null_mut(), 0);
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        call!(driver.cuModuleLoadData(&mut module, TEXT.as_ptr().cast()))?;
        call!(driver.cuMemAlloc_v2(&mut out, WORDS * 4))?;
        zero(driver, out)?;
        Ok(Rig { driver, context, module, out })
    }

    pub(crate) fn function(&self, name: &CStr) -> TestResult<CUfunction> {
        let (driver, mut function) = (self.driver, null_mut());
        call!(driver.cuModuleGetFunction(&mut function, self.module, name.as_ptr()))?;
        Ok(function)
    }

    /// The words that kernels have written since the last look.
    pub(crate) fn take(&self) -> TestResult<[u32; WORDS]> {
        let (driver, mut words) = (self.driver, [0; WORDS]);
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), self.out, WORDS * 4))?;
        zero(driver, self.out)?;
        Ok(words)
    }

    pub(crate) fn close(self) -> TestResult {
        let driver = self.driver;
        call!(driver.cuMemFree_v2(self.out))?;
        call!(driver.cuModuleUnload(self.module))?;
        call!(driver.cuCtxDestroy_v2(self.context))?;
        Ok(())
    }
}
