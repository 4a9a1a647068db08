//! Tests of queue creation and destruction, and of the cost of ordering.

use std::sync::Arc;

use warploom_engine::{Mode, Order};

use super::rig::{Memory, Rig, asynchronous};
use crate::machine::world::Work;
use crate::memory::{Compare, MemoryOp};

fn gate(memory: &Memory) -> Work {
    MemoryOp::WaitValue { at: memory.place(0), value: 1, wide: true, compare: Compare::Equal }.into()
}

#[test]
fn a_retired_queue_lives_until_its_work_is_done_and_its_name_is_never_used_again() {
    for mode in asynchronous() {
        let rig = Rig::new(mode);
        let memory = Arc::new(Memory::new(2));
        let queue = rig.queue(1);
        rig.submit(queue, gate(&memory)).expect("it is taken");
        rig.submit(queue, memory.write(1, 9)).expect("it is taken");
        {
            let mut world = rig.world();
            world.engine.retire_queue(queue);
            world.engine.retire_queue(queue);
            assert!(world.engine.is_live(queue), "{mode:?}");
        }
        memory.set(0, 1);
        assert_eq!(rig.finish(), Ok(()), "{mode:?}");
        assert_eq!(memory.get(1), 9, "{mode:?}");
        let mut world = rig.world();
        assert!(!world.engine.is_live(queue), "{mode:?}");
        world.engine.retire_queue(queue);
        drop(world);
        let (second, third) = (rig.queue(1), rig.queue(1));
        assert!(second != queue && third != queue && second.index() != third.index(), "{mode:?}");
        assert_eq!(rig.world().engine.tail(queue), None, "{mode:?}");
    }
}

#[test]
fn the_legacy_stream_looks_only_at_streams_with_new_work() {
    let rig = Rig::new(Mode::Deterministic(Order::Lazy));
    let memory = Memory::new(2);
    let queues: Vec<_> = (0..100).map(|_| rig.queue(0)).collect();
    for queue in &queues {
        rig.submit(*queue, memory.write(1, 1)).expect("it is taken");
    }
    let legacy = rig.default_queue(0);
    let width = |id| rig.world().engine.op(id).map_or(0, |op| op.predecessors());
    let first = rig.submit(legacy, memory.write(1, 2)).expect("it is taken");
    let second = rig.submit(legacy, memory.write(1, 3)).expect("it is taken");
    let after = rig.submit(queues[5], memory.write(1, 4)).expect("it is taken");
    let again = rig.submit(queues[5], memory.write(1, 5)).expect("it is taken");
    let third = rig.submit(legacy, memory.write(1, 6)).expect("it is taken");
    assert_eq!([first, second, after, again, third].map(width), [100, 1, 2, 1, 2]);
    assert_eq!(rig.finish(), Ok(()));
    assert_eq!(memory.get(1), 6);
}

#[test]
fn streams_that_are_gone_leave_nothing_with_the_legacy_stream() {
    let rig = Rig::new(Mode::Deterministic(Order::Eager));
    let memory = Memory::new(2);
    rig.default_queue(0);
    for _ in 0..10_000 {
        let queue = rig.queue(0);
        rig.submit(queue, memory.write(1, 1)).expect("it is taken");
        let mut world = rig.world();
        world.engine.retire_queue(queue);
        let world = &mut *world;
        let context = world.contexts.get_mut(rig.context).expect("it is there");
        context.blocking.retain(|queue| world.engine.is_live(*queue));
    }
    let world = rig.world();
    assert!(world.engine.queue_count() < 10, "{} queues", world.engine.queue_count());
    let listed: usize = world.engine.recent_count();
    assert!(listed < 100, "{listed} entries");
}

#[test]
fn default_streams_of_threads_that_ended_are_let_go() {
    let rig = Rig::new(Mode::Deterministic(Order::Eager));
    for _ in 0..200 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::process::thread::with_contexts(rig.core.id, |stack| stack.push(rig.context));
                rig.default_queue(2);
            });
        });
    }
    let world = rig.world();
    let context = world.contexts.get(rig.context).expect("it is there");
    assert!(context.per_thread.len() <= 64, "{} are left", context.per_thread.len());
    assert_eq!(context.blocking.len(), context.per_thread.len());
}

#[test]
fn waiting_for_one_of_many_queues_runs_only_what_it_needs() {
    let rig = Rig::new(Mode::Deterministic(Order::Lazy));
    let memory = Arc::new(Memory::new(8));
    let queues: Vec<_> = (0..8).map(|_| rig.queue(1)).collect();
    for (word, queue) in queues.iter().enumerate() {
        for value in 1..=100 {
            rig.submit(*queue, memory.write(word, value)).expect("it is taken");
        }
    }
    assert_eq!(rig.world().engine.unfinished(), 800);
    assert_eq!(rig.synchronize(queues[3]), Ok(()));
    assert_eq!(memory.all(), [0, 0, 0, 100, 0, 0, 0, 0]);
    assert_eq!(rig.world().engine.unfinished(), 700);
}
