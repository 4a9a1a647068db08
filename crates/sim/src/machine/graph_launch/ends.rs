//! The first and the last op of a launch.

use std::sync::Arc;

use crate::ffi::handle::ConditionHandle;
use crate::machine::conditions::Conditions;
use crate::machine::graph::References;
use crate::machine::work::{Hook, Reached};
use crate::machine::world::{Work, World};

/// The beginning of a launch: sets conditions to their defaults.
pub(super) struct Begin {
    pub(super) conditions: Arc<Conditions>,
    pub(super) defaults: Arc<[(ConditionHandle, u32)]>,
}

impl Hook<World> for Begin {
    fn reached(&mut self, _: &mut World, at: Reached) {
        for (condition, value) in self.defaults.iter().filter(|_| at.ran) {
            self.conditions.set(condition.bits(), *value);
        }
    }

    fn describe(&self) -> String {
        "the beginning of a graph's launch".to_owned()
    }
}

/// The end of a launch: releases what it kept alive.
pub(super) struct End {
    pub(super) references: Option<Arc<References>>,
}

impl Hook<World> for End {
    fn reached(&mut self, world: &mut World, at: Reached) {
        // The last holder releases; that is the executable, unless it has been destroyed or updated meanwhile.
        let Some(references) = self.references.take().and_then(Arc::into_inner) else { return };
        let ended = world.graphs.release_references(&references.0);
        if !ended.is_empty() {
            world.add(at.queue, &[], Work::Destructors(ended), at.time);
        }
    }

    fn describe(&self) -> String {
        "the end of a graph's launch".to_owned()
    }
}
