//! The heap of kernels: use after free, out of bounds, double free.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, HeapMisuse, HeapProblem, Mode, ThreadAccess};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call, code_of, open};

use super::{fault, kinds, line, short, twins, words};
use crate::support::{Module, download, planted, upload};

/// The only finding about the heap, its text, and the other findings.
#[track_caller]
fn heap(found: &[FindingKind]) -> (&HeapMisuse, String, &[FindingKind]) {
    match found {
        [kind @ FindingKind::HeapMisuse { misuse, .. }, more @ ..] => (misuse, kind.to_string(), more),
        other => panic!("misuse of the heap, not {other:#?}"),
    }
}

#[test]
fn memory_of_the_heap_is_used_after_it_was_freed() -> TestResult {
    let kernel = "planted_heap_after_free";
    let found = twins(kernel, (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    let block = misuse.block.clone().expect("a block");
    assert_eq!(
        (misuse.problem, block.end - block.start, more),
        (HeapProblem::AfterFree(ThreadAccess::StrongRead), 64, &[][..])
    );
    assert_eq!((misuse.address - block.start, misuse.bytes), (12, 4), "{text}");
    assert_eq!(short(&misuse.thread.source), line(kernel, "y[0] = room[3]"), "{text}");
    let freed_by = misuse.freed_by.as_ref().expect("it was freed in the launch");
    assert_eq!(short(&freed_by.source), line(kernel, "if (!fixed) free("), "{text}");
    assert!(text.starts_with("misused heap: cuLaunchKernel (call "), "{text}");
    assert!(text.contains("bytes 12..16 of the 64 bytes that malloc gave at 0x"), "{text}");
    assert!(text.contains("which have been freed"), "{text}");
    Ok(())
}

#[test]
fn memory_of_the_heap_is_left() -> TestResult {
    let kernel = "planted_heap_outside";
    let found = twins(kernel, (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert_eq!((misuse.problem, misuse.bytes), (HeapProblem::Outside(ThreadAccess::StrongWrite), 1), "{text}");
    assert_eq!(
        (misuse.block.as_ref().map(|block| (block.end - block.start, block.end)), more),
        (Some((60, misuse.address)), &[][..])
    );
    assert_eq!(short(&misuse.thread.source), line(kernel, "room[last] = 1"), "{text}");
    assert!(text.contains("1 bytes 0 bytes behind the end of the 60 bytes that malloc gave"), "{text}");
    Ok(())
}

#[test]
fn memory_of_the_heap_is_freed_twice_or_is_none() -> TestResult {
    let found = twins("planted_heap_twice", (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert!(misuse.problem == HeapProblem::FreedTwice && misuse.freed_by.is_some(), "{text}");
    // An H200 stops there, too.
    assert!(fault(more).problem.ends_with("is freed twice"), "{more:#?}");
    let found = twins("planted_heap_inside", (1, 1, 0), |driver| Ok(vec![words(driver, 1)?]))?;
    let (misuse, text, more) = heap(&found);
    assert_eq!((misuse.problem, misuse.freed_by.is_some(), more), (HeapProblem::NotABlock, false, &[][..]), "{text}");
    assert!(text.contains("which malloc has not given"), "{text}");
    Ok(())
}

/// The results of an H200 for the same kernels.
#[test]
fn a_kernel_goes_on_with_a_misused_heap_as_on_hardware() -> TestResult {
    let give = CString::new(
        ".version 8.3\n.target sm_75\n.address_size 64
        .extern .func free(.param .b64 a);
        .visible .global .align 8 .b8 variable[64];
        .visible .entry give(.param .u64 y, .param .u64 address)
        {
            .reg .b64 %rd<4>; .reg .pred %p<2>;
            ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [address];
            setp.ne.u64 %p1, %rd2, 0; @%p1 bra $go; mov.u64 %rd3, variable; cvta.global.u64 %rd2, %rd3; add.u64 %rd2, %rd2, 16;
            $go: { .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }
            cvta.to.global.u64 %rd1, %rd1; st.global.u32 [%rd1], 1; ret;
        }",
    )?;
    let (goes_on, failed, illegal) =
        (CUresult::CUDA_SUCCESS, CUresult::CUDA_ERROR_LAUNCH_FAILED, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let cases = [
        ("planted_heap_after_free", 0_u64, goes_on, 7),
        ("planted_heap_outside", 0, goes_on, 1),
        ("planted_heap_inside", 0, goes_on, 1),
        ("planted_heap_twice", 0, failed, 0),
        ("give", 0, goes_on, 1),
        ("give", 0x1234, illegal, 0),
    ];
    for (kernel, value, code, expected) in cases {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &if kernel == "give" { give.clone() } else { planted() })?;
        let y = upload(driver, &[0])?;
        let places = &mut crate::arguments!(y, value);
        let function = module.function(kernel)?;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), places.as_mut_ptr(), null_mut()))?;
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), code, "{kernel} {value:#x}");
        if code == goes_on {
            assert_eq!(download(driver, y, 1)?, [expected], "{kernel} {value:#x}");
        }
        assert!(kinds(&machine).iter().any(|kind| matches!(kind, FindingKind::HeapMisuse { .. })), "{kernel}");
    }
    Ok(())
}
