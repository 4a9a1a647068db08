//! The first and the last op of a launch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warploom_engine::Period;

use crate::ffi::handle::ConditionHandle;
use crate::machine::conditions::Conditions;
use crate::machine::graph::References;
use crate::machine::work::{Hook, Reached};
use crate::machine::world::World;
use crate::trace::Activity;

/// The beginning of a launch: sets conditions to their defaults.
pub(super) struct LaunchBegin {
    pub(super) conditions: Arc<Conditions>,
    pub(super) defaults: Arc<[(ConditionHandle, u32)]>,
    /// Virtual time of the beginning, for the trace.
    pub(super) began: Arc<AtomicU64>,
}

impl Hook<World> for LaunchBegin {
    fn reached(&mut self, _: &mut World, at: Reached) {
        self.began.store(at.time, Ordering::Relaxed);
        for (condition, value) in self.defaults.iter().filter(|_| at.ran) {
            self.conditions.set(condition.bits(), *value);
        }
    }

    fn describe(&self) -> String {
        "the beginning of a graph's launch".to_owned()
    }
}

/// The end of a launch: releases its references to user objects.
pub(super) struct LaunchEnd {
    pub(super) references: Option<Arc<References>>,
    pub(super) began: Arc<AtomicU64>,
    /// The number of the call, where calls have numbers.
    pub(super) call: u64,
    /// The executable graph, and the number of its nodes that were run.
    pub(super) activity: Activity,
}

impl Hook<World> for LaunchEnd {
    fn reached(&mut self, world: &mut World, at: Reached) {
        let period = Period { start: self.began.load(Ordering::Relaxed), end: at.time };
        if at.ran {
            world.trace_launch(at.queue, self.call, period, self.activity);
        }
        if let Some(references) = self.references.take() {
            world.launch_releases(references);
        }
    }

    fn describe(&self) -> String {
        "the end of a graph's launch".to_owned()
    }
}
