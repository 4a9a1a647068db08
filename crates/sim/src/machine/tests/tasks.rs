//! Tests of tasks: work that runs in slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use warploom_engine::{Mode, Step};
use warploom_sys::types::CUresult;

use super::rig::{MODES, Memory, Rig, asynchronous};
use crate::machine::log::LogKind;
use crate::machine::work::Task;
use crate::machine::world::World;

/// Yields a number of times before it completes.
struct Slices {
    left: u32,
    run: Arc<AtomicU64>,
}

impl Task<World> for Slices {
    fn advance(&mut self, fuel: u64) -> Step<CUresult> {
        assert!(fuel > 0);
        self.run.fetch_add(1, Ordering::SeqCst);
        self.left -= 1;
        if self.left == 0 { Step::Done } else { Step::Yield }
    }
}

/// Completes when a word is not zero; until then it waits in the given way.
struct Latch {
    memory: Arc<Memory>,
    word: usize,
    otherwise: Step<CUresult>,
}

impl Task<World> for Latch {
    fn advance(&mut self, _fuel: u64) -> Step<CUresult> {
        if self.memory.get(self.word) == 0 { self.otherwise } else { Step::Done }
    }
}

#[test]
fn a_task_runs_slice_by_slice_and_what_follows_waits_for_the_last() {
    for mode in MODES {
        let rig = Rig::new(mode);
        let (queue, run) = (rig.queue(1), Arc::new(AtomicU64::new(0)));
        let memory = Arc::new(Memory::new(1));
        rig.task(queue, Slices { left: 1000, run: Arc::clone(&run) }).expect("it is taken");
        rig.submit(queue, memory.write(0, 7)).expect("it is taken");
        assert_eq!(rig.synchronize(queue), Ok(()), "{mode:?}");
        assert_eq!((run.load(Ordering::SeqCst), memory.get(0)), (1000, 7), "{mode:?}");
    }
}

#[test]
fn a_task_that_waits_for_a_later_op_of_another_queue_gets_it() {
    for otherwise in [Step::Yield, Step::Park] {
        for mode in asynchronous() {
            let rig = Rig::new(mode);
            let (first, second) = (rig.queue(1), rig.queue(1));
            let memory = Arc::new(Memory::new(2));
            rig.task(first, Latch { memory: Arc::clone(&memory), word: 0, otherwise }).expect("it is taken");
            rig.submit(first, memory.write(1, 5)).expect("it is taken");
            assert!(memory.get(1) == 0);
            rig.submit(second, memory.write(0, 1)).expect("it is taken");
            assert_eq!(rig.synchronize(first), Ok(()), "{mode:?}, {otherwise:?}");
            assert_eq!(memory.get(1), 5);
        }
    }
}

#[test]
fn a_task_that_waits_for_the_host_is_released_by_it() {
    for mode in asynchronous() {
        let rig = Rig::new(mode);
        let queue = rig.queue(1);
        let memory = Arc::new(Memory::new(1));
        rig.task(queue, Latch { memory: Arc::clone(&memory), word: 0, otherwise: Step::Park }).expect("it is taken");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                memory.set(0, 1);
            });
            assert_eq!(rig.synchronize(queue), Ok(()), "{mode:?}");
        });
    }
}

#[test]
fn a_task_that_nothing_releases_is_a_deadlock_in_every_mode() {
    for mode in MODES {
        let rig = Rig::with_patience(mode, Duration::from_millis(60));
        let queue = rig.queue(1);
        let memory = Arc::new(Memory::new(1));
        let latch = Latch { memory: Arc::clone(&memory), word: 0, otherwise: Step::Park };
        // In synchronous mode the launch itself is the wait.
        assert_eq!(rig.task(queue, latch).is_ok(), mode != Mode::Sync, "{mode:?}");
        assert_eq!(rig.synchronize(queue), Err(CUresult::CUDA_ERROR_TIMEOUT), "{mode:?}");
        let log = rig.core.log.entries();
        let entry = log.iter().rfind(|entry| entry.kind == LogKind::Deadlock).expect("it is reported");
        assert!(entry.reason.contains("a kernel"), "{mode:?}: {entry}");
        memory.set(0, 1);
        assert_eq!(rig.synchronize(queue), Ok(()), "{mode:?}");
    }
}

#[test]
fn many_host_threads_may_wait_at_once() {
    for mode in MODES {
        let rig = Rig::new(mode);
        let memory = Arc::new(Memory::new(16));
        std::thread::scope(|scope| {
            for word in 0..16 {
                let (rig, memory) = (&rig, &memory);
                scope.spawn(move || {
                    let queue = rig.queue(1);
                    for value in 1..=50 {
                        rig.submit(queue, memory.write(word, value)).expect("it is taken");
                        if value % 10 == 0 {
                            assert_eq!(rig.synchronize(queue), Ok(()), "{mode:?}");
                            assert_eq!(memory.get(word), value);
                        }
                    }
                });
            }
        });
        assert_eq!(memory.all(), [50; 16], "{mode:?}");
        assert_eq!(rig.world().engine.unfinished(), 0);
    }
}
