//! Tests of default streams: several contexts, and functions in their per-thread variants.

use warploom_engine::{Mode, Order};
use warploom_sys::Function;

use super::*;
use crate::machine::event::Event;
use crate::machine::tests::rig::{Memory, Rig};
use crate::process::thread;

const MODE: Mode = Mode::Deterministic(Order::Eager);

#[test]
fn the_null_stream_is_the_variants_default_stream() {
    let rig = Rig::new(MODE);
    let variant = Call::new(&rig.core, Function::cuStreamQuery, true);
    let find = |call: &Call<'_>, raw| queue_of(call, &mut rig.world(), raw).expect("a context is current");
    let (legacy, own) = (rig.default_queue(LEGACY), rig.default_queue(PER_THREAD));
    assert_ne!(legacy, own);
    assert_eq!(find(&rig.call(), 0), legacy);
    assert_eq!(find(&variant, 0), own);
    assert_eq!(find(&variant, LEGACY), legacy);
    assert_eq!(find(&variant, PER_THREAD), own);
}

#[test]
fn each_context_has_default_streams_of_its_own() {
    let rig = Rig::new(MODE);
    let first = [LEGACY, PER_THREAD].map(|raw| rig.default_queue(raw));
    let other = rig.other_context(1);
    thread::with_contexts(rig.core.id, |stack| stack.push(other));
    let second = [LEGACY, PER_THREAD].map(|raw| rig.default_queue(raw));
    assert!(first.iter().all(|queue| !second.contains(queue)));
    assert!(second.iter().all(|queue| rig.world().queue(*queue).owner.device == 1));
}

#[test]
fn waits_of_the_legacy_stream_order_its_followers_too() {
    let rig = Rig::new(MODE);
    let memory = Memory::new(1);
    let (legacy, apart, follower) = (rig.default_queue(LEGACY), rig.queue(1), rig.queue(0));
    rig.submit(apart, memory.write(0, 1)).expect("it is taken");
    let stamp = rig.world().queue(apart).clock.stamp();
    let event = rig.world().events_mut().insert(Event::new(rig.context, 0)).expect("there is room");
    rig.world().record_event(apart, event).expect("the context is well");
    rig.submit(follower, memory.write(0, 2)).expect("it is taken");
    rig.world().wait_for_event(legacy, event).expect("the context is well");
    let is_before = || rig.world().queue(follower).clock.includes(apart, stamp);
    assert!(!is_before());
    rig.submit(follower, memory.write(0, 3)).expect("it is taken");
    assert!(is_before());
}
