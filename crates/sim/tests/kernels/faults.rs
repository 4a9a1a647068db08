//! Kernels that go wrong, on simulated machines: on hardware a fault ends the process's use of the device.

use std::ffi::CString;
use std::ptr::null_mut;
use std::time::Duration;

use warploom_sim::topology::Topology;
use warploom_sim::{Checks, Finding, FindingKind, KernelFault, LogKind, Machine, Mode, Order};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUlimit, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, modes, open};

use crate::arguments;
use crate::support::{Module, download, launch, lineinfo, system, time, upload, vector};

fn rig(mode: Mode) -> TestResult<(Machine, Driver)> {
    open(Topology::preset("h200")?, mode)
}

fn faults(machine: &Machine) -> Vec<KernelFault> {
    let faults = machine.findings().into_iter().filter_map(|finding| match finding.kind {
        FindingKind::KernelFault { fault, .. } => Some(*fault),
        _ => None,
    });
    faults.collect()
}

#[test]
fn a_read_behind_an_allocation_is_found_to_the_byte_and_poisons_the_context() -> TestResult {
    for mode in modes(1) {
        // On other machines it is a finding alone: the memory around the allocation is mapped.
        let machine =
            Machine::builder().topology(Topology::preset("h200")?).mode(mode).checks(Checks::fail()).start()?;
        let driver = &Driver::open(&machine)?;
        driver.initialize()?;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let module = Module::load(driver, &system())?;
        let read = module.function("read_anywhere")?;
        let (x, y) = (upload(driver, &[1, 2, 3])?, upload(driver, &[0])?);
        let inside = 2_i64;
        launch(driver, read, (1, 1), null_mut(), &mut arguments!(x, inside, y))?;
        assert_eq!(download(driver, y, 1)?, [3]);
        let outside = 3_i64;
        drop(launch(driver, read, (1, 1), null_mut(), &mut arguments!(x, outside, y)));
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuMemFree_v2(x), CUDA_ERROR_ILLEGAL_ADDRESS);
        let [fault] = &faults(&machine)[..] else { panic!("one fault in {:?}", machine.findings()) };
        assert_eq!((&*fault.kernel, fault.block, fault.thread), ("read_anywhere", [0; 3], [0; 3]));
        assert_eq!(fault.address, Some(x + 12), "{fault}");
        let near = fault.near.as_ref().expect("it is next to an allocation");
        assert_eq!((near.address, near.bytes), (x, 12));
        assert!(fault.instruction.starts_with("ld.global"), "{fault}");
        assert!(fault.to_string().contains("0 bytes behind the end of the 12 bytes at"), "{fault}");
        let logged = machine.log().into_iter().find(|entry| entry.kind == LogKind::Fault).expect("it is logged");
        assert!(logged.reason.contains("read_anywhere"), "{logged}");
    }
    Ok(())
}

#[test]
fn memory_that_was_freed_is_named_with_who_freed_it() -> TestResult {
    let (machine, driver) = rig(Mode::Sync)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &system())?;
    let read = module.function("read_anywhere")?;
    let (x, y, none) = (upload(driver, &[1; 1 << 20])?, upload(driver, &[0])?, 0_i64);
    call!(driver.cuMemFree_v2(x))?;
    drop(launch(driver, read, (1, 1), null_mut(), &mut arguments!(x, none, y)));
    let [fault] = &faults(&machine)[..] else { panic!("one fault in {:?}", machine.findings()) };
    assert!(fault.freed.is_some(), "{fault}");
    assert!(fault.to_string().contains("which cuMemFree_v2"), "{fault}");
    Ok(())
}

#[test]
fn the_line_of_the_source_is_named_where_the_text_has_it() -> TestResult {
    let (machine, driver) = rig(Mode::Sync)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let text = lineinfo();
    let module = Module::load(driver, &text)?;
    let mut functions = [null_mut()];
    call!(driver.cuModuleEnumerateFunctions(functions.as_mut_ptr(), 1, module.handle))?;
    let nowhere = [0xdead_0000_u64; 8];
    let mut arguments: Vec<_> = nowhere.iter().map(|value| (&raw const *value).cast_mut().cast()).collect();
    drop(launch(driver, functions[0], (1, 1), null_mut(), &mut arguments));
    let [fault] = &faults(&machine)[..] else { panic!("one fault in {:?}", machine.findings()) };
    let (file, line) = fault.source.as_ref().expect("the text says it");
    assert!(file.ends_with("lineinfo.cu") && *line > 0, "{fault}");
    Ok(())
}

#[test]
fn each_way_to_stop_has_its_code() -> TestResult {
    let minus = u32::MAX;
    for (kernel, expected) in
        [("assert_not_negative", CUresult::CUDA_ERROR_ASSERT), ("trap_at", CUresult::CUDA_ERROR_LAUNCH_FAILED)]
    {
        let (_machine, driver) = rig(Mode::Deterministic(Order::Lazy))?;
        let driver = &driver;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let module = Module::load(driver, &system())?;
        let (x, y, n) = (upload(driver, &[5, minus, 7])?, upload(driver, &[0])?, 3_u32);
        let function = module.function(kernel)?;
        let mut arguments =
            if kernel == "trap_at" { arguments!(x, minus, y).to_vec() } else { arguments!(x, n).to_vec() };
        launch(driver, function, (1, 3), null_mut(), &mut arguments)?;
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), expected, "{kernel}");
    }
    Ok(())
}

/// The context's sticky error after each fault, as on an H200, measured with one process for each.
#[test]
fn every_kind_of_fault_has_the_code_of_hardware() -> TestResult {
    let deep = ".func (.param .b32 r) deep(.param .b32 a) { .reg .b32 %r<3>; .local .align 4 .b8 room[256];
        ld.param.b32 %r1, [a]; { .param .b32 b; .param .b32 s; st.param.b32 [b], %r1; call.uni (s), deep, (b);
        ld.param.b32 %r2, [s]; } st.param.b32 [r], %r2; ret; }";
    let cases = [
        ("", "trap;", CUresult::CUDA_ERROR_LAUNCH_FAILED),
        ("", "brkpt;", CUresult::CUDA_ERROR_LAUNCH_FAILED),
        ("", "mov.u64 %rd1, 0; st.global.u32 [%rd1], 1;", CUresult::CUDA_ERROR_ILLEGAL_ADDRESS),
        ("", "add.u64 %rd1, %rd2, 1; st.global.u32 [%rd1], 1;", CUresult::CUDA_ERROR_MISALIGNED_ADDRESS),
        ("", "add.u64 %rd1, %rd2, 2; red.global.add.u32 [%rd1], 1;", CUresult::CUDA_ERROR_MISALIGNED_ADDRESS),
        ("", "mov.u32 %r1, s; st.shared.u32 [%r1+1], 1;", CUresult::CUDA_ERROR_MISALIGNED_ADDRESS),
        ("", "mov.u32 %r1, s; st.shared.u32 [%r1+4096], 1;", CUresult::CUDA_ERROR_ILLEGAL_ADDRESS),
        ("", "mov.u64 %rd1, 0x123457; $p: .callprototype _ (); call %rd1, (), $p;", CUresult::CUDA_ERROR_INVALID_PC),
        (
            deep,
            "{ .param .b32 b; .param .b32 q; st.param.b32 [b], %r1; call.uni (q), deep, (b); }",
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        ),
    ];
    for (functions, body, expected) in cases {
        let (_machine, driver) = rig(Mode::Sync)?;
        let driver = &driver;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let text = format!(
            ".version 8.3\n.target sm_75\n.address_size 64\n{functions}\n.visible .entry f(.param .u64 p) {{
             .reg .b32 %r<3>; .reg .b64 %rd<3>; .shared .align 8 .b8 s[64]; ld.param.u64 %rd2, [p]; {body} ret; }}"
        );
        let module = Module::load(driver, &CString::new(text)?)?;
        let memory = upload(driver, &[0; 4])?;
        drop(launch(driver, module.function("f")?, (1, 1), null_mut(), &mut arguments!(memory)));
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), expected, "{body}");
        assert_eq!(code_of(call!(driver.cuMemFree_v2(memory))), expected, "{body}: it stays");
    }
    Ok(())
}

#[test]
fn an_endless_kernel_is_ended_by_the_watchdog() -> TestResult {
    for mode in [Mode::Threads, Mode::Sync, Mode::Deterministic(Order::Lazy)] {
        let machine = Machine::builder().mode(mode).watchdog(Duration::from_millis(50)).start()?;
        let driver = &Driver::open(&machine)?;
        driver.initialize()?;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let module = Module::load(driver, &time())?;
        let (latch, seen) = (upload(driver, &[0])?, upload(driver, &[0])?);
        drop(launch(driver, module.function("latch")?, (1, 1), null_mut(), &mut arguments!(latch, seen)));
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
    }
    Ok(())
}

#[test]
fn a_machine_ends_while_an_endless_kernel_runs() -> TestResult {
    let machine = Machine::builder().mode(Mode::Threads).start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let mut context = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
    call!(driver.cuCtxSetCurrent(context))?;
    let (mut module, text, mut function) = (null_mut(), time(), null_mut());
    call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, c"latch".as_ptr()))?;
    let (latch, seen) = (upload(driver, &[0])?, upload(driver, &[0])?);
    launch(driver, function, (1, 1), null_mut(), &mut arguments!(latch, seen))?;
    answers!(driver.cuCtxGetCurrent(&mut context), CUDA_SUCCESS);
    Ok(())
}

/// Two streams, a kernel on each, and what the machine finds about them.
fn two_kernels(mode: Mode, ordered: bool) -> TestResult<Vec<Finding>> {
    let (machine, driver) = rig(mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &vector())?;
    let add = module.function("add_u32")?;
    let (mut one, mut two, mut event) = (null_mut(), null_mut(), null_mut());
    call!(driver.cuStreamCreate(&mut one, 1))?;
    call!(driver.cuStreamCreate(&mut two, 1))?;
    call!(driver.cuEventCreate(&mut event, 2))?;
    let n = 256_u32;
    let (a, b, c) = (upload(driver, &[1; 256])?, upload(driver, &[0; 256])?, upload(driver, &[0; 256])?);
    launch(driver, add, (1, 256), one, &mut arguments!(a, a, b, n))?;
    if ordered {
        call!(driver.cuEventRecord(event, one))?;
        call!(driver.cuStreamWaitEvent(two, event, 0))?;
    }
    launch(driver, add, (1, 256), two, &mut arguments!(b, b, c, n))?;
    call!(driver.cuMemsetD32Async(c, 0, 256, two))?;
    call!(driver.cuCtxSynchronize())?;
    for memory in [a, b, c] {
        call!(driver.cuMemFree_v2(memory))?;
    }
    call!(driver.cuStreamDestroy_v2(one))?;
    call!(driver.cuStreamDestroy_v2(two))?;
    call!(driver.cuEventDestroy_v2(event))?;
    Ok(machine.findings())
}

#[test]
fn a_race_between_kernels_of_two_streams_is_found_in_every_mode() -> TestResult {
    for mode in modes(3) {
        let found = two_kernels(mode, false)?;
        let races = found.iter().filter(|finding| matches!(finding.kind, FindingKind::Race { .. })).count();
        assert_eq!((races, found.len()), (1, 1), "in mode {mode:?}: {found:?}");
        assert_eq!(two_kernels(mode, true)?, [], "in mode {mode:?}");
    }
    Ok(())
}

#[test]
fn an_uninitialised_read_of_a_kernel_is_found() -> TestResult {
    for mode in modes(1) {
        let (machine, driver) = rig(mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (mut a, n) = (0, 16_u32);
        call!(driver.cuMemAlloc_v2(&mut a, 64))?;
        call!(driver.cuMemsetD32_v2(a, 1, 8))?;
        launch(driver, add, (1, 16), null_mut(), &mut arguments!(a, a, a, n))?;
        assert_eq!(download(driver, a, 8)?, [2; 8]);
        call!(driver.cuMemFree_v2(a))?;
        let found = machine.findings();
        let [Finding { kind: FindingKind::UninitialisedRead { bytes, total, .. }, .. }] = &found[..] else {
            panic!("in mode {mode:?}: {found:?}");
        };
        assert_eq!((bytes.clone(), *total), (32..64, 32));
    }
    Ok(())
}

#[test]
fn a_machine_without_checks_runs_and_faults_the_same() -> TestResult {
    let machine = Machine::builder().checks(Checks::off()).start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &vector())?;
    let (n, a) = (32_u32, upload(driver, &[1; 32])?);
    launch(driver, module.function("add_u32")?, (1, 32), null_mut(), &mut arguments!(a, a, a, n))?;
    assert_eq!(download(driver, a, 32)?, [2; 32]);
    call!(driver.cuMemFree_v2(a))?;
    Ok(())
}

/// An H200 was seen to do the same: 64 calls of 16 bytes fit 1024 bytes, and one more is an illegal address.
#[test]
fn one_call_more_than_the_stack_has_room_for_is_a_fault_that_names_the_limit() -> TestResult {
    for (size, fits) in [(1024, 64_u32), (2048, 128)] {
        let (machine, driver) = rig(Mode::Sync)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, size))?;
        let (module, out) = (crate::limits::deep(driver)?, upload(driver, &[0])?);
        let recursive = module.function("recursive")?;
        launch(driver, recursive, (1, 1), null_mut(), &mut arguments!(out, fits))?;
        assert!(faults(&machine).is_empty());
        let deeper = fits + 1;
        drop(launch(driver, recursive, (1, 1), null_mut(), &mut arguments!(out, deeper)));
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        let [fault] = &faults(&machine)[..] else { panic!("one fault in {:?}", machine.findings()) };
        assert!(fault.to_string().contains(&format!("a thread has {size} bytes of stack")), "{fault}");
        assert!(fault.to_string().contains("CU_LIMIT_STACK_SIZE"), "{fault}");
    }
    Ok(())
}
