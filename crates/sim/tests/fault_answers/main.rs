//! Calls before and after the fault of a kernel is known to the host.
//!
//! On hardware a fault ends the process's use of the device, so each kind of fault has a process of its own.

mod rig;
mod table;

use std::process::Command;
use std::time::Duration;

use rig::{Kind, Rig};
use table::{After, ROWS};
use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{ASYNCHRONOUS, TestResult, answers, call, code_of, modes, on_cuda, open};

/// Walks the table, before the fault and after a wait has answered it.
fn walk(driver: &Driver, kind: Kind) -> TestResult {
    let rig = Rig::new(driver, kind)?;
    for row in ROWS {
        assert_eq!(code_of((row.ask)(&rig)), row.before, "{} before the fault", row.name);
    }
    rig.fault();
    assert_eq!(code_of(call!(driver.cuCtxSynchronize())), kind.code());
    for row in ROWS {
        let expected = match row.after {
            After::Fault => kind.code(),
            After::Works => CUresult::CUDA_SUCCESS,
        };
        assert_eq!(code_of((row.ask)(&rig)), expected, "{} after the fault", row.name);
    }
    Ok(())
}

#[test]
fn calls_answer_a_fault_once_a_wait_has() -> TestResult {
    let others = Kind::ALL.into_iter().skip(1).map(|kind| (kind, Mode::Threads));
    for (kind, mode) in ASYNCHRONOUS.iter().map(|mode| (Kind::Trap, *mode)).chain(others) {
        let (_machine, driver) = open(Topology::preset("h200")?, mode)?;
        walk(&driver, kind).map_err(|error| format!("{kind:?} in mode {mode:?}: {error}"))?;
    }
    Ok(())
}

/// Names the kind of fault of a process.
const KIND: &str = "WARPLOOM_TEST_FAULT";

mod calls_answer_a_fault_once_a_wait_has {
    use super::*;

    #[test]
    #[ignore = "needs an NVIDIA GPU and its driver"]
    fn cuda() -> TestResult {
        let asked = std::env::var(KIND).ok();
        let of_this = Kind::ALL.into_iter().find(|kind| asked.as_deref() == Some(&format!("{kind:?}")));
        match of_this {
            Some(Kind::Trap) => on_cuda(|driver| walk(driver, Kind::Trap)),
            Some(Kind::Illegal) => on_cuda(|driver| walk(driver, Kind::Illegal)),
            Some(Kind::Misaligned) => on_cuda(|driver| walk(driver, Kind::Misaligned)),
            Some(Kind::Assert) => on_cuda(|driver| walk(driver, Kind::Assert)),
            None => {
                for kind in Kind::ALL {
                    let name = "calls_answer_a_fault_once_a_wait_has::cuda";
                    let run = Command::new(std::env::current_exe()?)
                        .args(["--ignored", "--exact", name, "--nocapture"])
                        .env(KIND, format!("{kind:?}"))
                        .output()?;
                    assert!(run.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&run.stderr));
                }
                Ok(())
            }
        }
    }
}

#[test]
fn calls_that_do_not_wait_succeed_right_after_the_fault_in_every_mode() -> TestResult {
    for mode in modes(2) {
        let (_machine, driver) = open(Topology::preset("h200")?, mode)?;
        let driver = &driver;
        let rig = match mode {
            // The launch itself would wait for the flag.
            Mode::Sync => continue,
            _ => Rig::new(driver, Kind::Trap)?,
        };
        rig.fault();
        call!(driver.cuEventRecord(rig.spare, rig.faulting))?;
        call!(driver.cuMemAllocAsync(&mut 0, 64, rig.faulting))?;
        call!(driver.cuMemAlloc_v2(&mut 0, 64))?;
        answers!(driver.cuEventSynchronize(rig.spare), CUDA_ERROR_LAUNCH_FAILED);
        answers!(driver.cuEventRecord(rig.spare, rig.faulting), CUDA_ERROR_LAUNCH_FAILED);
    }
    Ok(())
}

#[test]
fn the_host_learns_of_a_fault_by_itself_where_work_runs_by_itself() -> TestResult {
    for (mode, expected) in [
        (Mode::Threads, CUresult::CUDA_ERROR_LAUNCH_FAILED),
        (Mode::Deterministic(Order::Eager), CUresult::CUDA_SUCCESS),
    ] {
        let (_machine, driver) = open(Topology::preset("h200")?, mode)?;
        let driver = &driver;
        let rig = Rig::new(driver, Kind::Trap)?;
        rig.fault();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(code_of(call!(driver.cuEventRecord(rig.spare, rig.other))), expected, "{mode:?}");
    }
    Ok(())
}

#[test]
fn all_contexts_of_the_device_are_lost() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let driver = &driver;
    let mut contexts = [std::ptr::null_mut(); 2];
    for (context, device) in contexts.iter_mut().zip([0, 1]) {
        call!(driver.cuCtxCreate_v2(context, 0, device))?;
    }
    let rig = Rig::new(driver, Kind::Trap)?;
    rig.fault();
    answers!(driver.cuStreamSynchronize(rig.faulting), CUDA_ERROR_LAUNCH_FAILED);
    call!(driver.cuCtxSetCurrent(contexts[0]))?;
    answers!(driver.cuMemAlloc_v2(&mut 0, 64), CUDA_ERROR_LAUNCH_FAILED);
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    // Another device is another matter.
    call!(driver.cuCtxSetCurrent(contexts[1]))?;
    call!(driver.cuMemAlloc_v2(&mut 0, 64))?;
    Ok(())
}
