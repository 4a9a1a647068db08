//! Stack and heap limits of a context, and the memory that kernels get.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUfunction, CUfunction_attribute, CUlimit, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests};

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

/// The success of each of `count` requests for so many bytes.
fn taken(driver: &Driver, module: &Module, kernel: &str, size: u64, count: u32) -> TestResult<Vec<bool>> {
    let out = upload(driver, &vec![0; count as usize * 2])?;
    launch(driver, module.function(kernel)?, (1, 1), null_mut(), &mut arguments!(out, size, count))?;
    let words = download(driver, out, count as usize * 2)?;
    call!(driver.cuMemFree_v2(out))?;
    Ok(words.chunks(2).map(|address| address != [0, 0]).collect())
}

/// A function that calls itself, a kernel that calls it, kernels with variables of their own, and a chain of
/// calls.
pub(crate) fn deep(driver: &Driver) -> TestResult<Module> {
    let function = |name: &str, words: u32, callee: &str| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 n)
            {{
                .local .align 4 .b8 room[{bytes}];
                .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
                ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u64 %rd1, room;
                $fill: mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; st.local.u32 [%rd3], %r1;
                add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {words}; @%p1 bra $fill;
                {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), {callee}, (a); ld.param.b32 %r3, [b]; }}
                rem.u32 %r4, %r3, {words}; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2;
                ld.local.u32 %r5, [%rd3]; add.u32 %r3, %r3, %r5;
                st.param.b32 [r], %r3; ret;
            }}",
            bytes = words * 4
        )
    };
    let kernel = |name: &str, callee: &str| {
        format!(
            ".visible .entry {name}(.param .u64 out, .param .u32 n)
            {{
                .reg .b32 %r<3>; .reg .b64 %rd<3>;
                ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [n];
                {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), {callee}, (a); ld.param.b32 %r2, [b]; }}
                st.global.u32 [%rd2], %r2; ret;
            }}"
        )
    };
    let down = "
        .func (.param .b32 r) down(.param .b32 n)
        {
            .reg .pred %p<2>; .reg .b32 %r<6>;
            ld.param.u32 %r1, [n]; mov.u32 %r4, %r1; setp.lt.u32 %p1, %r1, 2; @%p1 bra $end;
            sub.u32 %r2, %r1, 1;
            { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), down, (a); ld.param.b32 %r3, [b]; }
            mad.lo.u32 %r4, %r3, 3, %r1;
            $end: st.param.b32 [r], %r4; ret;
        }
        .func (.param .b32 r) same(.param .b32 n)
        { .reg .b32 %r<2>; ld.param.u32 %r1, [n]; st.param.b32 [r], %r1; ret; }";
    let text = [
        ".version 8.3\n.target sm_75\n.address_size 64".to_owned(),
        down.to_owned(),
        function("leaf", 512, "same"),
        function("middle", 256, "leaf"),
        function("odd", 1001, "same"),
        kernel("recursive", "down"),
        kernel("chain", "middle"),
        kernel("uneven", "odd"),
    ];
    Module::load(driver, &CString::new(text.join("\n"))?)
}

fn stack(driver: &Driver) -> TestResult<usize> {
    let mut size = 0;
    call!(driver.cuCtxGetLimit(&mut size, CUlimit::CU_LIMIT_STACK_SIZE))?;
    Ok(size)
}

fn free(driver: &Driver) -> TestResult<usize> {
    let (mut free, mut total) = (0, 0);
    call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
    Ok(free)
}

fn local_bytes(driver: &Driver, function: CUfunction) -> TestResult<i32> {
    let (mut value, local) = (0, CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    call!(driver.cuFuncGetAttribute(&mut value, local, function))?;
    Ok(value)
}

/// The result of `down`.
fn folded(depth: u32) -> u32 {
    (2..=depth).fold(1, |below: u32, n| below.wrapping_mul(3).wrapping_add(n))
}

driver_tests! {
    fn functions_that_call_themselves_have_the_stack_that_was_asked_for(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, out) = (deep(driver)?, upload(driver, &[0])?);
        let recursive = module.function("recursive")?;
        assert_eq!(local_bytes(driver, recursive)?, 0);
        for (size, depth) in [(1024, 64_u32), (4096, 256), (65_536, 4096)] {
            call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, size))?;
            launch(driver, recursive, (1, 1), null_mut(), &mut arguments!(out, depth))?;
            assert_eq!(download(driver, out, 1)?, [folded(depth)], "{depth} calls in {size} bytes");
        }
        assert_eq!(stack(driver)?, 65_536);
    }

    fn a_kernel_that_needs_larger_stacks_gets_them_when_it_is_launched(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, out, seven) = (deep(driver)?, upload(driver, &[0])?, 7_u32);
        let before = free(driver)?;
        for (name, local, larger) in [("chain", 3072, 3072), ("uneven", 4008, 4016)] {
            let function = module.function(name)?;
            assert_eq!(local_bytes(driver, function)?, local, "{name}");
            call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 1024))?;
            assert_eq!(free(driver)?, before, "smaller stacks give memory back");
            launch(driver, function, (1, 1), null_mut(), &mut arguments!(out, seven))?;
            assert_eq!(stack(driver)?, larger, "{name}");
            // For each of 2048 threads on each of 132 multiprocessors, in pieces of 2 MiB.
            let (taken, stacks) = (before - free(driver)?, (larger - 1024) * 2048 * 132);
            assert!(taken.abs_diff(stacks) < 2 << 20, "{name}: {taken} {stacks}");
        }
        assert_eq!(download(driver, out, 1)?, [14]);
        let chain = module.function("chain")?;
        launch(driver, chain, (1, 1), null_mut(), &mut arguments!(out, seven))?;
        assert_eq!(stack(driver)?, 4016, "what fits already changes nothing");
        assert_eq!(download(driver, out, 1)?, [21]);
    }

    fn stacks_that_the_device_has_no_memory_for_stop_the_launch(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, out, seven) = (deep(driver)?, upload(driver, &[0])?, 7_u32);
        let (chain, mut most) = (module.function("chain")?, 0);
        let all = free(driver)? - (256 << 20);
        call!(driver.cuMemAlloc_v2(&mut most, all))?;
        let code = code_of(launch(driver, chain, (1, 1), null_mut(), &mut arguments!(out, seven)));
        assert_eq!(code, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(stack(driver)?, 1024);
        call!(driver.cuMemFree_v2(most))?;
        launch(driver, chain, (1, 1), null_mut(), &mut arguments!(out, seven))?;
        assert_eq!(download(driver, out, 1)?, [21]);
    }

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
