//! Kernels that tell the time, streams and events to run them between.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUstream,
};
use warploom_testkit::{Primary, TestResult, call};

/// Pointers to several values, as a launch takes them.
#[macro_export]
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { [$((&raw const $value).cast_mut().cast::<std::ffi::c_void>()),*] };
}

/// A context with the kernels, two streams and some memory.
pub(crate) struct Rig {
    pub(crate) driver: Driver,
    module: warploom_testkit::sys::types::CUmodule,
    pub(crate) streams: [CUstream; 2],
    /// 4 KiB of device memory.
    pub(crate) memory: CUdeviceptr,
    events: Vec<CUevent>,
    _primary: Primary,
}

impl Rig {
    pub(crate) fn new(driver: &Driver) -> TestResult<Rig> {
        let primary = Primary::of(driver, 0)?;
        let text = CString::new(include_str!("kernels.ptx"))?;
        let (mut module, mut streams, mut memory) = (null_mut(), [null_mut(); 2], 0);
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        for stream in &mut streams {
            call!(driver.cuStreamCreate(stream, 1))?;
        }
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        call!(driver.cuMemsetD8_v2(memory, 0, 4096))?;
        call!(driver.cuCtxSynchronize())?;
        Ok(Rig { driver: driver.clone(), module, streams, memory, events: Vec::new(), _primary: primary })
    }

    pub(crate) fn function(&self, name: &str) -> TestResult<CUfunction> {
        let (driver, name, mut function) = (&self.driver, CString::new(name)?, null_mut());
        call!(driver.cuModuleGetFunction(&mut function, self.module, name.as_ptr()))?;
        Ok(function)
    }

    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> TestResult<u64> {
        let (driver, mut value) = (&self.driver, 0);
        call!(driver.cuDeviceGetAttribute(&mut value, attribute, 0))?;
        Ok(u64::try_from(value)?)
    }

    /// Cycles of the device's clock in so many microseconds.
    pub(crate) fn cycles(&self, microseconds: u64) -> TestResult<u64> {
        Ok(self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? * microseconds / 1000)
    }

    /// Shared memory of which one block fills a multiprocessor, allowed for a function.
    pub(crate) fn fill_processor(&self, function: CUfunction) -> TestResult<u32> {
        let driver = &self.driver;
        let most = self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(driver.cuFuncSetAttribute(function, attribute, i32::try_from(most)?))?;
        Ok(u32::try_from(most)?)
    }

    pub(crate) fn launch(
        &self,
        function: CUfunction,
        (blocks, threads, shared): (u32, u32, u32),
        stream: CUstream,
        arguments: &mut [*mut c_void],
    ) -> TestResult {
        let driver = &self.driver;
        let arguments = arguments.as_mut_ptr();
        call!(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, null_mut()))?;
        Ok(())
    }

    /// Records a new event.
    pub(crate) fn record(&mut self, stream: CUstream) -> TestResult<CUevent> {
        let (driver, mut event) = (&self.driver, null_mut());
        call!(driver.cuEventCreate(&mut event, 0))?;
        self.events.push(event);
        call!(driver.cuEventRecord(event, stream))?;
        Ok(event)
    }

    pub(crate) fn wait(&self, stream: CUstream, event: CUevent) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuStreamWaitEvent(stream, event, 0))?;
        Ok(())
    }

    pub(crate) fn synchronize(&self) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuCtxSynchronize())?;
        Ok(())
    }

    /// Milliseconds between two records.
    pub(crate) fn elapsed(&self, from: CUevent, to: CUevent) -> TestResult<f32> {
        let (driver, mut time) = (&self.driver, 0.0);
        call!(driver.cuEventElapsedTime(&mut time, from, to))?;
        Ok(time)
    }

    /// Milliseconds that work on both streams takes, from one record to another.
    pub(crate) fn time(&mut self, work: impl FnOnce(&mut Rig) -> TestResult) -> TestResult<f32> {
        let [first, second] = self.streams;
        self.synchronize()?;
        let start = self.record(first)?;
        self.wait(second, start)?;
        work(self)?;
        let other = self.record(second)?;
        self.wait(first, other)?;
        let end = self.record(first)?;
        self.synchronize()?;
        self.elapsed(start, end)
    }

    /// Words of device memory.
    pub(crate) fn read(&self, address: CUdeviceptr, count: usize) -> TestResult<Vec<u64>> {
        let (driver, mut words) = (&self.driver, vec![0_u64; count]);
        call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, count * 8))?;
        Ok(words)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let driver = &self.driver;
        for event in self.events.drain(..) {
            call!(driver.cuEventDestroy_v2(event)).unwrap_or_default();
        }
        for stream in self.streams {
            call!(driver.cuStreamDestroy_v2(stream)).unwrap_or_default();
        }
        call!(driver.cuMemFree_v2(self.memory)).unwrap_or_default();
        call!(driver.cuModuleUnload(self.module)).unwrap_or_default();
    }
}
