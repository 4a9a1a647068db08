//! Tests of failing work and its effect on the context.

use std::ffi::c_void;
use std::sync::Arc;

use warploom_engine::{Known, Mode, Step};
use warploom_sys::types::{CUresult, CUstream};

use super::rig::{MODES, Memory, Rig};
use crate::machine::log::LogKind;
use crate::machine::stream::Traits;
use crate::machine::work::Task;
use crate::machine::world::{Work, World};
use crate::memory::MemoryOp;

const FAULT: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

struct Fails;

impl Task<World> for Fails {
    fn advance(&mut self, _fuel: u64) -> Step<CUresult> {
        Step::Fail(FAULT)
    }
}

struct Panics;

impl Task<World> for Panics {
    fn advance(&mut self, _fuel: u64) -> Step<CUresult> {
        panic!("on purpose");
    }
}

#[test]
fn a_failing_task_poisons_its_context_and_no_other() {
    for mode in MODES {
        let rig = Rig::new(mode);
        let (queue, bystander, memory) = (rig.queue(1), rig.queue(1), Arc::new(Memory::new(2)));
        let other = rig.other_context(1);
        let elsewhere = rig.world().new_queue(other, 1, Traits::new(0, 1, 0));
        rig.task(queue, Fails).expect("the failure comes later");
        // Accepted or refused, depending on the progress of the task.
        let next = rig.submit(queue, memory.write(0, 1)).err();
        assert!(next.is_none_or(|code| code == FAULT), "{mode:?}");
        assert_eq!(rig.synchronize(queue), Err(FAULT), "{mode:?}");
        assert_eq!(rig.synchronize(bystander), Err(FAULT), "{mode:?}");
        assert_eq!(rig.submit(bystander, memory.write(0, 1)).map(drop), Err(FAULT), "{mode:?}");
        assert_eq!(memory.get(0), 0, "{mode:?}: what follows a failure does not run");
        let written = rig.submit(elsewhere, memory.write(1, 3)).expect("the other context is well");
        assert_eq!(rig.call().wait(&mut rig.world(), &[written]), Ok(()), "{mode:?}");
        assert_eq!(memory.get(1), 3, "{mode:?}");
        assert_eq!(rig.world().engine.unfinished(), 0, "{mode:?}");
    }
}

extern "C" fn told(_: CUstream, status: CUresult, data: *mut c_void) {
    let word = data.cast::<CUresult>();
    // SAFETY: the test's own variable, which outlives the work.
    #[expect(unsafe_code, reason = "writes where the test says")]
    unsafe {
        word.write(status);
    }
}

extern "C" fn called(data: *mut c_void) {
    told(std::ptr::null_mut(), CUresult::CUDA_SUCCESS, data);
}

#[test]
fn a_callback_is_told_of_a_failure_and_a_host_function_is_not_called() {
    let untouched = CUresult::CUDA_ERROR_UNKNOWN;
    for mode in MODES.into_iter().filter(|mode| *mode != Mode::Sync) {
        let rig = Rig::new(mode);
        let (queue, memory) = (rig.queue(1), Memory::new(1));
        let (mut status, mut other) = (untouched, untouched);
        // Delays the failure until all work is enqueued.
        let (at, compare) = (memory.place(0), crate::memory::Compare::Equal);
        rig.submit(queue, MemoryOp::WaitValue { at, value: 1, wide: true, compare }.into()).expect("it is taken");
        rig.task(queue, Fails).expect("it is taken");
        let data = std::ptr::from_mut(&mut status).cast();
        let callback = Work::Callback {
            function: Some(told),
            stream: std::ptr::null_mut(),
            status: CUresult::CUDA_SUCCESS,
            data,
            known: Known::default(),
        };
        rig.submit(queue, callback).expect("it is taken");
        let data = std::ptr::from_mut(&mut other).cast();
        rig.submit(queue, Work::HostFunction { function: Some(called), data, known: Known::default(), slept: 0 })
            .expect("it is taken");
        memory.set(0, 1);
        assert_eq!(rig.synchronize(queue), Err(FAULT), "{mode:?}");
        assert_eq!((status, other), (FAULT, untouched), "{mode:?}");
    }
}

#[test]
fn a_panic_in_work_is_a_failure_and_not_a_hang() {
    for mode in MODES {
        let rig = Rig::new(mode);
        let queue = rig.queue(1);
        rig.task(queue, Panics).expect("the failure comes later");
        assert_eq!(rig.synchronize(queue), Err(CUresult::CUDA_ERROR_UNKNOWN), "{mode:?}");
        assert!(rig.core.log.entries().iter().any(|entry| entry.kind == LogKind::Internal), "{mode:?}");
    }
}
