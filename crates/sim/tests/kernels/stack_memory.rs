//! Memory on the stack of a thread: `alloca`, `stacksave`, `stackrestore`.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call, code_of, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

/// `own`: each thread allocates as many words as its number says, calls functions that allocate, too, and
/// adds up its words. `again`: allocates more often than the stack has room for, and gives the memory back
/// each time.
const TEXT: &str = ".version 8.0
.target sm_75
.address_size 64

.func (.param .b32 result) noise(.param .b32 words)
{
    .reg .b32 n, i, x; .reg .b64 bytes, p; .reg .pred more;
    ld.param.b32 n, [words];
    mul.wide.u32 bytes, n, 4;
    alloca.u64 p, bytes, 32;
    mov.u32 i, 0;
again:
    st.local.u32 [p], 0xdeadbeef;
    add.u64 p, p, 4;
    add.u32 i, i, 1;
    setp.lt.u32 more, i, n;
    @more bra again;
    ld.local.u32 x, [p+-4];
    st.param.b32 [result], x;
    ret;
}

.visible .entry own(.param .u64 into)
{
    .reg .b32 t, n, i, x, sum; .reg .b64 bytes, p, q, g, low, place; .reg .pred more, odd;
    ld.param.u64 place, [into];
    mov.u32 t, %tid.x;
    add.u32 n, t, 1;
    mul.wide.u32 bytes, n, 4;
    alloca.u64 p, bytes, 16;
    and.b64 low, p, 15;
    mov.u64 q, p;
    mov.u32 i, 0;
write:
    st.local.u32 [q], i;
    add.u64 q, q, 4;
    add.u32 i, i, 1;
    setp.lt.u32 more, i, n;
    @more bra write;
    and.b32 x, t, 1;
    setp.eq.u32 odd, x, 1;
    @!odd bra behind;
    {
        .param .b32 words; .param .b32 result;
        st.param.b32 [words], n;
        call (result), noise, (words);
        ld.param.b32 x, [result];
    }
behind:
    cvta.local.u64 g, p;
    mov.u32 i, 0;
    cvt.u32.u64 sum, low;
read:
    ld.u32 x, [g];
    add.u32 sum, sum, x;
    add.u64 g, g, 4;
    add.u32 i, i, 1;
    setp.lt.u32 more, i, n;
    @more bra read;
    mul.wide.u32 bytes, t, 4;
    add.u64 place, place, bytes;
    st.global.u32 [place], sum;
    ret;
}

.visible .entry much(.param .u64 into, .param .u64 bytes, .param .u32 is_used)
{
    .reg .b32 used; .reg .b64 n, p, q, place; .reg .pred no;
    ld.param.u64 place, [into];
    ld.param.u64 n, [bytes];
    ld.param.u32 used, [is_used];
    setp.eq.u32 no, used, 0;
    stacksave.u64 q;
    alloca.u64 p, n;
    @!no st.local.u32 [p], used;
    add.u64 p, p, n;
    @!no st.local.u32 [p+-4], used;
    stackrestore.u64 q;
    st.global.u32 [place], 1;
    ret;
}

.visible .entry again(.param .u64 into)
{
    .reg .b32 t, i, x, sum; .reg .b64 bytes, p, s, e, place; .reg .pred more;
    ld.param.u64 place, [into];
    mov.u32 t, %tid.x;
    mov.u32 i, 0;
    mov.u32 sum, 0;
loop:
    stacksave.u64 s;
    alloca.u64 p, 256;
    st.local.u32 [p+252], i;
    ld.local.u32 x, [p+252];
    add.u32 sum, sum, x;
    stackrestore.u64 s;
    stacksave.u64 e;
    sub.u64 e, e, s;
    cvt.u32.u64 x, e;
    add.u32 sum, sum, x;
    add.u32 i, i, 1;
    setp.lt.u32 more, i, 100;
    @more bra loop;
    mul.wide.u32 bytes, t, 4;
    add.u64 place, place, bytes;
    st.global.u32 [place], sum;
    ret;
}
";

/// The results of a kernel's threads.
fn run(driver: &Driver, name: &str) -> TestResult<Vec<u32>> {
    let module = Module::load(driver, &CString::new(TEXT)?)?;
    let into = upload(driver, &[7; 64])?;
    launch(driver, module.function(name)?, (1, 64), null_mut(), &mut arguments!(into))?;
    let found = download(driver, into, 64)?;
    call!(driver.cuMemFree_v2(into))?;
    Ok(found)
}

/// Allocates memory on the stack of one thread, and writes to both its ends.
fn much(driver: &Driver, bytes: u64, is_used: u32) -> Result<(), Error> {
    let module = Module::load(driver, &CString::new(TEXT).expect("a text without zeros")).expect("it is loaded");
    let (function, into) = (module.function("much").expect("it is there"), upload(driver, &[7]).expect("a word"));
    let mut arguments = arguments!(into, bytes, is_used);
    let (none, arguments) = (null_mut(), arguments.as_mut_ptr());
    let launched = call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, none, arguments, null_mut()));
    let outcome = launched.and_then(|()| call!(driver.cuCtxSynchronize()));
    // After a fault nothing can be freed.
    call!(driver.cuMemFree_v2(into)).unwrap_or_default();
    outcome
}

driver_tests! {
    fn threads_allocate_memory_that_called_functions_leave_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let sums: Vec<u32> = (0..64).map(|thread| thread * (thread + 1) / 2).collect();
        assert_eq!(run(driver, "own")?, sums);
    }

    fn memory_of_the_stack_is_given_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        assert_eq!(run(driver, "again")?, [4950; 64]);
    }

    fn any_size_is_allocated_on_the_stack(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (bytes, is_used) in [(0, 0), (900, 1), (1 << 20, 0), (1 << 30, 0)] {
            assert_eq!(code_of(much(driver, bytes, is_used)), CUresult::CUDA_SUCCESS, "{bytes} bytes");
        }
    }

    sim fn an_access_beyond_the_stack_faults(driver) {
        let _primary = Primary::of(driver, 0)?;
        assert_eq!(code_of(much(driver, 1 << 20, 1)), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}
