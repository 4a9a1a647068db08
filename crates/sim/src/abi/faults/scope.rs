//! The scope of a call: devices and contexts, looked up from its arguments and from the current context.

use super::subject::{Subject, subjects};
use crate::abi::invocation::Invocation;
use crate::api::stream;
use crate::fault::CallScope;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::{Home, Side};
use crate::process::thread;
use crate::rules;

/// Looks up the objects that the arguments name; a call that names none is about the current context.
pub(super) fn of(call: &Call<'_>, invocation: &dyn Invocation) -> CallScope {
    let world = call.world();
    let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
    let current = current.filter(|_| rules::of(call.function()).on_current_context);
    let mut scope = CallScope::default();
    let mut is_named = false;
    for (subject, bits) in subjects(call.function()).iter().zip(invocation.values()) {
        if let Some(subject) = subject {
            is_named = true;
            add(&mut scope, &world, *subject, bits, current);
        }
    }
    if !is_named {
        add_context(&mut scope, &world, current);
    }
    scope
}

fn add(scope: &mut CallScope, world: &World, subject: Subject, bits: u64, current: Option<ContextHandle>) {
    match (subject, bits) {
        (Subject::Device, ordinal) => {
            if let Ok(device) = u16::try_from(ordinal)
                && usize::from(device) < world.devices().len()
            {
                scope.add_device(device);
            }
        }
        (Subject::Context, 0) | (Subject::Stream, 0 | stream::LEGACY | stream::PER_THREAD) => {
            add_context(scope, world, current);
        }
        (Subject::Context, bits) => add_context(scope, world, Some(Handle::from_bits(bits))),
        (Subject::Stream, bits) => {
            add_context(scope, world, world.streams().get(Handle::from_bits(bits)).map(|stream| stream.context));
        }
        (Subject::Event, bits) => {
            add_context(scope, world, world.events().get(Handle::from_bits(bits)).map(|event| event.context));
        }
        (Subject::Pool, bits) => {
            if let Some(Home::Device(device)) = world.pools().get(Handle::from_bits(bits)).map(|pool| pool.home) {
                scope.add_device(device);
            }
        }
        (Subject::Physical, bits) => {
            if let Some(Side::Device(device)) =
                world.physical().get(Handle::from_bits(bits)).map(|physical| physical.side)
            {
                scope.add_device(device);
            }
        }
        (Subject::Memory, address) => {
            if let Some(allocation) = world.memory().containing(address)
                && let Side::Device(device) = allocation.side
            {
                scope.add_device(device);
                add_context(scope, world, allocation.context);
            }
        }
    }
}

fn add_context(scope: &mut CallScope, world: &World, handle: Option<ContextHandle>) {
    if let Some(handle) = handle
        && let Some(context) = world.contexts().get(handle)
    {
        scope.add_context(handle, context.id, context.device);
    }
}
