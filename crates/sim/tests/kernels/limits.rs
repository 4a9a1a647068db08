//! What a context keeps ready for kernels, and what they get of it.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::CUlimit;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

/// A kernel that takes memory `count` times, and one that takes some and gives it back.
fn module(driver: &Driver) -> TestResult<Module> {
    let text = ".version 8.3\n.target sm_75\n.address_size 64
        .extern .func (.param .b64 r) malloc(.param .b64 a);
        .extern .func free(.param .b64 a);
        .visible .entry take(.param .u64 out, .param .u64 size, .param .u32 count)
        {
            .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<6>;
            ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; ld.param.u64 %rd3, [size]; ld.param.u32 %r1, [count];
            $next:
            { .param .b64 a; .param .b64 r; st.param.b64 [a], %rd3; call.uni (r), malloc, (a); ld.param.b64 %rd4, [r]; }
            st.global.u64 [%rd2], %rd4; add.u64 %rd2, %rd2, 8;
            sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $next;
            ret;
        }
        .visible .entry take_and_give(.param .u64 out, .param .u64 size, .param .u32 count)
        {
            .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<6>;
            ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; ld.param.u64 %rd3, [size]; ld.param.u32 %r1, [count];
            $next:
            { .param .b64 a; .param .b64 r; st.param.b64 [a], %rd3; call.uni (r), malloc, (a); ld.param.b64 %rd4, [r]; }
            st.global.u64 [%rd2], %rd4; add.u64 %rd2, %rd2, 8;
            { .param .b64 a; st.param.b64 [a], %rd4; call.uni free, (a); }
            sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $next;
            ret;
        }";
    Module::load(driver, &CString::new(text)?)
}

/// Which of `count` requests for so many bytes were met.
fn taken(driver: &Driver, module: &Module, kernel: &str, size: u64, count: u32) -> TestResult<Vec<bool>> {
    let out = upload(driver, &vec![0; count as usize * 2])?;
    launch(driver, module.function(kernel)?, (1, 1), null_mut(), &mut arguments!(out, size, count))?;
    let words = download(driver, out, count as usize * 2)?;
    call!(driver.cuMemFree_v2(out))?;
    Ok(words.chunks(2).map(|address| address != [0, 0]).collect())
}

driver_tests! {
    fn kernels_take_memory_of_the_heap_until_it_is_used_up(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = module(driver)?;
        assert_eq!(taken(driver, &module, "take", 0, 2)?, [true, true]);
        assert_eq!(taken(driver, &module, "take_and_give", 1 << 20, 20)?, [true; 20]);
        let met = taken(driver, &module, "take", 1 << 20, 10)?;
        assert_eq!(met, [true, true, true, true, true, true, false, false, false, false]);
        assert_eq!(taken(driver, &module, "take", 16 << 20, 1)?, [false]);
        assert_eq!(taken(driver, &module, "take", 1 << 63, 1)?, [false]);
        let limit = CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE;
        answers!(driver.cuCtxSetLimit(limit, 32 << 20), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20))?;
    }

    fn a_heap_is_as_large_as_was_asked_for_before_it_was_used(driver) {
        let _primary = Primary::of(driver, 0)?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20))?;
        let module = module(driver)?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20))?;
        let met = taken(driver, &module, "take", 1 << 20, 40)?;
        assert_eq!(met.iter().filter(|met| **met).count(), 13);
    }
}
