//! What needs a context to go, or the variant of a function that means the per-thread default stream.

use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::*;
use crate::engine::tests::rig::Rig;
use crate::engine::{Mode, Order};
use crate::event::{self, Event};

const MODE: Mode = Mode::Deterministic(Order::Eager);

#[test]
fn the_null_stream_is_the_variants_default_stream() {
    let rig = Rig::new(MODE);
    let variant = Call::pretend(&rig.core, Function::cuStreamQuery, true);
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
    assert!(second.iter().all(|queue| rig.world().engine.queue(*queue).device == 1));
}

#[test]
fn streams_and_events_of_a_destroyed_context_are_refused() {
    let rig = Rig::new(MODE);
    let queue = rig.queue(0);
    let mut world = rig.world();
    let stream = world.streams.insert(Stream { queue, context: rig.context }).expect("there is room");
    let event = world.events.insert(Event::new(rig.context, 0)).expect("there is room");
    assert!(world.contexts.remove(rig.context).is_some());
    let call = rig.call();
    assert_eq!(queue_of(&call, &mut world, stream.bits()), Err(INVALID_CONTEXT));
    assert_eq!(event::find(&call, &world, event.bits()), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
    assert_eq!(queue_of(&call, &mut world, LEGACY), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
}
