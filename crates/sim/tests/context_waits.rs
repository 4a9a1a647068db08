//! Calls that wait for a context's work, and context calls that wait.
#![expect(unsafe_code, reason = "writes the pinned value that streams wait for")]

use std::ffi::{CString, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUcontext, CUlimit, CUstream};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

/// A context, not current, in which a stream stands still until it is released. The memory it waits for is
/// the primary context's, and outlives it.
struct Blocked<'a> {
    driver: &'a Driver,
    context: CUcontext,
    value: *mut c_void,
}

impl<'a> Blocked<'a> {
    fn new(driver: &'a Driver) -> TestResult<Blocked<'a>> {
        Ok(Blocked::after(driver, || Ok(()))?.0)
    }

    /// Blocked once something has been done in it.
    fn after<T>(driver: &'a Driver, work: impl FnOnce() -> TestResult<T>) -> TestResult<(Blocked<'a>, T)> {
        let (mut context, mut stream, mut value) = (null_mut(), null_mut(), null_mut());
        call!(driver.cuMemHostAlloc(&mut value, 4096, 3))?;
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let blocked = Blocked { driver, context, value };
        blocked.word().store(0, Ordering::Release);
        let done = work()?;
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamWaitValue32_v2(stream, value.addr() as u64, 1, 0))?;
        call!(driver.cuCtxPopCurrent_v2(null_mut()))?;
        Ok((blocked, done))
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory that lives until `end`, and that is only ever used as this atomic.
        unsafe { AtomicU32::from_ptr(self.value.cast()) }
    }

    fn release(&self) {
        self.word().store(1, Ordering::Release);
    }

    /// `true` if a call made in the context, on a thread of its own, returns only after the release.
    fn holds_up(&self, work: impl FnOnce() -> Result<(), Error> + Send) -> TestResult<bool> {
        let (driver, context) = (self.driver, self.context.expose_provenance());
        let started = Barrier::new(2);
        std::thread::scope(|scope| -> TestResult<bool> {
            let thread = scope.spawn(|| {
                let current = call!(driver.cuCtxSetCurrent(with_exposed_provenance_mut(context)));
                started.wait();
                current.and_then(|()| work())
            });
            started.wait();
            std::thread::sleep(Duration::from_millis(100));
            let waited = !thread.is_finished();
            self.release();
            thread.join().map_err(|_| "the thread panicked")??;
            Ok(waited)
        })
    }

    fn end(self) -> TestResult {
        let driver = self.driver;
        self.release();
        Ok(call!(driver.cuMemFreeHost(self.value))?)
    }
}

/// A stream that nothing else is ordered with, in the current context.
fn stream(driver: &Driver) -> TestResult<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    Ok(stream)
}

/// A kernel with a variable of its own, in the context that was current.
struct Filler<'a> {
    driver: &'a Driver,
    function: usize,
    stream: usize,
    out: u64,
}

impl<'a> Filler<'a> {
    fn new(driver: &'a Driver, bytes: u32) -> TestResult<Filler<'a>> {
        let text = CString::new(format!(
            ".version 8.3\n.target sm_75\n.address_size 64
            .visible .entry fill(.param .u64 out)
            {{
                .local .align 4 .b8 room[{bytes}];
                .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
                ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; ld.global.u32 %r1, [%rd2]; mov.u32 %r2, 0; mov.u64 %rd3, room;
                $fill: mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd3, %rd4; st.local.u32 [%rd5], %r1;
                add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {words}; @%p1 bra $fill;
                and.b32 %r1, %r1, 15; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd3, %rd4; ld.local.u32 %r3, [%rd5]; st.global.u32 [%rd2], %r3;
                ret;
            }}",
            words = bytes / 4
        ))?;
        let (mut module, mut function, mut out) = (null_mut(), null_mut(), 0);
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"fill".as_ptr()))?;
        call!(driver.cuMemAlloc_v2(&mut out, 4))?;
        let stream = stream(driver)?;
        call!(driver.cuMemsetD32Async(out, 5, 1, stream))?;
        Ok(Filler { driver, function: function.expose_provenance(), stream: stream.expose_provenance(), out })
    }

    fn launch(&self) -> Result<(), Error> {
        let (driver, mut out) = (self.driver, self.out);
        let (function, stream) = (with_exposed_provenance_mut(self.function), with_exposed_provenance_mut(self.stream));
        let mut arguments = [(&raw mut out).cast::<c_void>()];
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut()))
    }
}

driver_tests! {
    threads fn destroying_a_context_waits_for_its_work(driver) {
        let primary = Primary::of(driver, 0)?;
        let blocked = Blocked::new(driver)?;
        let context = blocked.context.expose_provenance();
        let destroy = || call!(driver.cuCtxDestroy_v2(with_exposed_provenance_mut(context)));
        assert!(blocked.holds_up(destroy)?);
        answers!(driver.cuCtxSynchronize_v2(blocked.context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        blocked.end()?;
        drop(primary);
    }

    threads fn larger_stacks_wait_for_the_context_and_a_larger_heap_does_not(driver) {
        let primary = Primary::of(driver, 0)?;
        for (limit, value, waits) in [
            (CUlimit::CU_LIMIT_STACK_SIZE, 2064, true),
            (CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20, false),
        ] {
            let blocked = Blocked::new(driver)?;
            assert_eq!(blocked.holds_up(|| call!(driver.cuCtxSetLimit(limit, value)))?, waits, "{limit:?}");
            call!(driver.cuCtxDestroy_v2(blocked.context))?;
            blocked.end()?;
        }
        drop(primary);
    }

    threads fn a_launch_waits_for_the_context_only_if_it_needs_larger_stacks(driver) {
        let primary = Primary::of(driver, 0)?;
        for (bytes, waits) in [(512, false), (4096, true)] {
            let (blocked, filler) = Blocked::after(driver, || {
                let filler = Filler::new(driver, bytes)?;
                filler.launch()?;
                call!(driver.cuCtxSynchronize())?;
                call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 1024))?;
                Ok(filler)
            })?;
            assert_eq!(blocked.holds_up(|| filler.launch())?, waits, "{bytes} bytes");
            call!(driver.cuCtxDestroy_v2(blocked.context))?;
            blocked.end()?;
        }
        drop(primary);
    }

    threads fn an_event_on_a_context_comes_after_its_streams_and_holds_another_up(driver) {
        let primary = Primary::of(driver, 0)?;
        let blocked = Blocked::new(driver)?;
        let (mut event, mut memory) = (null_mut(), 0);
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        let early = stream(driver)?;
        call!(driver.cuMemsetD8Async(memory, 0, 4096, early))?;
        call!(driver.cuStreamSynchronize(early))?;

        call!(driver.cuCtxPushCurrent_v2(blocked.context))?;
        call!(driver.cuEventCreate(&mut event, 0))?;
        call!(driver.cuCtxRecordEvent(blocked.context, event))?;
        call!(driver.cuCtxPopCurrent_v2(null_mut()))?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);

        call!(driver.cuCtxWaitEvent(primary.context, event))?;
        let late = stream(driver)?;
        for stream in [early, late] {
            call!(driver.cuMemsetD8Async(memory, 1, 4096, stream))?;
        }
        std::thread::sleep(Duration::from_millis(50));
        for stream in [early, late] {
            answers!(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        }
        blocked.release();
        call!(driver.cuEventSynchronize(event))?;
        for stream in [early, late] {
            call!(driver.cuStreamSynchronize(stream))?;
            call!(driver.cuStreamDestroy_v2(stream))?;
        }
        call!(driver.cuEventDestroy_v2(event))?;
        call!(driver.cuMemFree_v2(memory))?;
        call!(driver.cuCtxDestroy_v2(blocked.context))?;
        blocked.end()?;
        drop(primary);
    }
}
