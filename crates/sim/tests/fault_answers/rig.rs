//! A context, its objects, and a kernel in it that is about to fail.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, call};

/// The ways in which the kernel fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trap = 1,
    Illegal,
    Misaligned,
    Assert,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Trap, Kind::Illegal, Kind::Misaligned, Kind::Assert];

    pub(crate) fn code(self) -> CUresult {
        match self {
            Kind::Trap => CUresult::CUDA_ERROR_LAUNCH_FAILED,
            Kind::Illegal => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            Kind::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            Kind::Assert => CUresult::CUDA_ERROR_ASSERT,
        }
    }
}

pub(crate) struct Rig {
    pub(crate) driver: Driver,
    pub(crate) module: CUmodule,
    pub(crate) nothing: CUfunction,
    pub(crate) memory: CUdeviceptr,
    pub(crate) pinned: *mut c_void,
    /// The word that the kernel waits for.
    flag: *mut u32,
    pub(crate) pool: CUmemoryPool,
    /// The stream that the kernel runs on.
    pub(crate) faulting: CUstream,
    pub(crate) other: CUstream,
    pub(crate) reached: CUevent,
    /// Recorded behind the kernel.
    pub(crate) pending: CUevent,
    pub(crate) spare: CUevent,
    /// Events for the calls that destroy one.
    destroyed: Cell<usize>,
    doomed: [CUevent; 2],
    pub(crate) graph: CUgraph,
    pub(crate) executable: CUgraphExec,
    _primary: Primary,
}

impl Rig {
    pub(crate) fn new(driver: &Driver, kind: Kind) -> TestResult<Rig> {
        let primary = Primary::of(driver, 0)?;
        let text = CString::new(include_str!("kernels.ptx"))?;
        let (mut module, mut nothing, mut fail) = (null_mut(), null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut nothing, module, c"nothing".as_ptr()))?;
        call!(driver.cuModuleGetFunction(&mut fail, module, c"fail".as_ptr()))?;
        let (mut memory, mut pinned, mut pool) = (0, null_mut(), null_mut());
        call!(driver.cuMemAlloc_v2(&mut memory, 1024))?;
        call!(driver.cuMemsetD8_v2(memory, 0, 1024))?;
        call!(driver.cuMemHostAlloc(&mut pinned, 1024, 0))?;
        call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        let (mut faulting, mut other) = (null_mut(), null_mut());
        call!(driver.cuStreamCreate(&mut faulting, 1))?;
        call!(driver.cuStreamCreate(&mut other, 1))?;
        let mut events = [null_mut(); 5];
        for event in &mut events {
            call!(driver.cuEventCreate(event, 0))?;
        }
        let [reached, pending, spare, doomed @ ..] = events;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
        call!(driver.cuGraphLaunch(executable, other))?;
        call!(driver.cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, other, null_mut(), null_mut()))?;
        call!(driver.cuEventRecord(reached, other))?;
        call!(driver.cuCtxSynchronize())?;
        let flag = pinned.wrapping_byte_add(512).cast::<u32>();
        write(flag, 0);
        let (word, kind) = (flag as u64, kind as u32);
        let mut arguments = [(&raw const word).cast_mut().cast::<c_void>(), (&raw const kind).cast_mut().cast()];
        call!(driver.cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, faulting, arguments.as_mut_ptr(), null_mut()))?;
        call!(driver.cuEventRecord(pending, faulting))?;
        let (driver, destroyed, _primary) = (driver.clone(), Cell::new(0), primary);
        Ok(Rig {
            driver,
            module,
            nothing,
            memory,
            pinned,
            flag,
            pool,
            faulting,
            other,
            reached,
            pending,
            spare,
            destroyed,
            doomed,
            graph,
            executable,
            _primary,
        })
    }

    /// Lets the kernel fail.
    pub(crate) fn fault(&self) {
        write(self.flag, 1);
    }

    /// The next event to destroy.
    pub(crate) fn doomed(&self) -> CUevent {
        let at = self.destroyed.replace(1);
        self.doomed[at]
    }
}

#[expect(unsafe_code, reason = "the word is page-locked memory that a kernel reads")]
fn write(flag: *mut u32, value: u32) {
    // SAFETY: within the 1024 bytes that `Rig::new` allocated, and aligned. A kernel reads it meanwhile, by
    // atomic accesses.
    unsafe { AtomicU32::from_ptr(flag) }.store(value, Ordering::Relaxed);
}
